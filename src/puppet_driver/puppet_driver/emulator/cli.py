# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`tracker_emulator`: a performer's tracker on pseudo-terminals or the network, until Ctrl-C."""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import fields
import os
from pathlib import Path
import signal
import sys
from typing import Any

from puppet_core import named_files
from puppet_core.body import Character, load_character, Motion, person, save_character
from puppet_core.clips import add_reading_options, props_text, read_clip_by_options, write_bvh
from puppet_core.io import CommandParser, EXIT_OK, run_command, run_folder, write_text
from puppet_core.procedural import SCRIPTS, SHOW
from puppet_driver.emulator.emulator import (
    build_server,
    EmulatorConfig,
    performance,
    SIMULATORS,
    within_range,
)
from puppet_driver.emulator.performer import NoiseLevels
from puppet_driver.emulator.simulator import FaultRates
from puppet_driver.parameters import DEFAULT_SENSORS
from puppet_driver.transport import Endpoint, parse_endpoint, sensors_per_line
from puppet_ros.program_start import STOPS

BAUD_RATE_BPS = 115200
PRIORITY = -10  # nice value
EXAMPLE = 'example: tracker_emulator --ports-dir /tmp/tracker --lines 3 --clip walk.bvh'
RATES = {
    'white_mm': 'white noise of positions [mm]',
    'white_deg': 'white noise of rotations [deg]',
    'slow_mm': 'slowly varying noise of positions [mm]',
    'slow_deg': 'slowly varying noise of rotations [deg]',
    'drop_out': 'probability that a record is lost',
    'outlier': 'probability that a record is an outlier',
}


def parser() -> argparse.ArgumentParser:
    p = CommandParser(
        prog='tracker_emulator',
        description='Emulate a tracker with a performer, on pseudo-terminals or over the network.',
        epilog=EXAMPLE,
    )
    default = '; default %(default)s'
    add = p.add_argument_group('device and ports').add_argument
    devices = tuple(SIMULATORS)
    add('--device', choices=devices, default=devices[0], help='tracker to emulate' + default)
    add(
        '--listen',
        nargs='+',
        metavar='HOST:PORT',
        default=['127.0.0.1:6000'],
        help='addresses of a motionstar, by TCP and UDP' + default,
    )
    add('--ports-dir', type=Path, metavar='DIR', help='folder for line0, line1 ..')
    add(
        '--lines', type=int, help='number of serial lines; default: as many as 115200 bps requires'
    )
    rate_help = 'records per second of each sensor' + default
    add('--rate-hz', type=float, default=120.0, help=rate_help)
    bus_help = 'emulate one Flock with a serial line per unit; the first is the master'
    add('--shared-bus', action='store_true', help=bus_help)

    show = p.add_argument_group('performance')
    add = show.add_argument
    clip_help = 'BVH, AMC or C3D file; a built-in performance by default'
    either = show.add_mutually_exclusive_group().add_argument
    either('--clip', type=Path, metavar='FILE', help=clip_help)
    script_help = (
        'built-in performance if no clip is given: show, seated (the show with sitting down), '
        'carry or throw a box, acrobatics, or a range of motion' + default
    )
    either('--script', choices=tuple(SCRIPTS), default=SHOW, help=script_help)
    add('--asf', type=Path, metavar='FILE', help='skeleton of an AMC clip')
    add_reading_options(show, '--clip-rate-hz')
    add('--character', type=Path, metavar='YAML', help='body of the built-in performer')
    add('--write-character', type=Path, metavar='YAML', help='save the body of the performer')
    t_pose_help = 'time in the T-pose at the start [s]' + default
    add('--t-pose-s', type=float, default=2.0, help=t_pose_help)
    text = 'segments and props with a sensor; default: all but spine and head'
    add('--sensors', nargs='+', metavar='NAME', help=text)

    add = p.add_argument_group('recording instead of ports').add_argument
    export_help = (
        'write /tracker/raw to an .mcap file or a rosbag folder, and exit; a .bvh file gets one '
        'pass of the performance itself, and a .csv file beside it the poses of its props'
    )
    add('--export', type=Path, metavar='FILE.mcap', help=export_help)
    add('--export-s', type=float, metavar='S', help='duration [s]; default: one pass')

    add = p.add_argument_group('noise and faults, seeded').add_argument
    add('--seed', type=int, default=1, help='random seed of noise and faults')
    for field in (*fields(NoiseLevels), *fields(FaultRates)):
        option = '--' + field.name.replace('_', '-')
        add(option, type=float, default=field.default, help=RATES[field.name])
    return p


def main(argv: Sequence[str] | None = None) -> int:
    def run() -> int:
        arguments = parser().parse_args(argv)
        props = () if arguments.clip else SCRIPTS[arguments.script].props
        arguments.sensors = arguments.sensors or (*DEFAULT_SENSORS, *props)
        for number in STOPS:
            signal.signal(number, _interrupt)
        # asked to end before there was anything to serve
        with suppress(KeyboardInterrupt), ExitStack() as at_exit:
            _run(arguments, at_exit)
        return EXIT_OK

    return run_command('tracker_emulator', run)


def _run(arguments: argparse.Namespace, at_exit: ExitStack) -> None:
    config = _config(arguments, at_exit)
    body, clip = _body(arguments)
    planned = performance(config, body, clip, arguments.t_pose_s, arguments.script)
    looped = within_range(config, planned)
    if looped is not planned:
        _log('clip moved to where the tracker can see it')
    if arguments.write_character:
        save_character(body, arguments.write_character)
    if arguments.export and arguments.export.suffix.lower() == '.bvh':
        write_bvh(looped.motion, arguments.export)
        if looped.motion.props.names:
            write_text(arguments.export.with_suffix('.csv'), props_text(looped.motion))
        print(f'{arguments.export}: {looped.motion.n_frames} frames', flush=True)
        return
    if arguments.export:
        # here, because rosbags takes half a second that the ports need not wait for
        from puppet_driver.emulator.recording_export import export_recording

        n_frames = export_recording(config, looped, arguments.export, arguments.export_s)
        print(
            f'{arguments.export}: {n_frames} frames of {len(config.sensors)} sensors', flush=True
        )
        return
    server = build_server(config, looped)
    at_exit.callback(server.close)
    for number in STOPS:
        signal.signal(number, lambda *_: server.stop())
    try:
        # before ordinary processes where that is allowed: hardware does not wait for them
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    except OSError:
        pass
    print('ready', *(str(line.pty.link) for line in server.lines), flush=True)
    server.serve()


def _interrupt(*_: object) -> None:
    """End by an exception; the next time at once, for a callback may have lost that."""
    for number in STOPS:
        signal.signal(number, lambda *_: os._exit(EXIT_OK))
    raise KeyboardInterrupt


def _log(text: str) -> None:
    print(f'tracker_emulator: {text}', file=sys.stderr)


def _body(arguments: argparse.Namespace) -> tuple[Character, Motion | None]:
    if arguments.clip:
        clip = read_clip_by_options(arguments.clip, arguments, arguments.asf, _log)
        name = arguments.clip.stem
        return person(name, clip.skeleton, title=f'Performer of {name}'), clip
    body = arguments.character or named_files.character_file('performer')
    return load_character(body), None


def _links(arguments: argparse.Namespace, at_exit: ExitStack) -> tuple[Path | Endpoint, ...]:
    if arguments.device == 'motionstar':
        return tuple(parse_endpoint(f'tcp://{name}') for name in arguments.listen)
    folder = arguments.ports_dir or at_exit.enter_context(run_folder('puppet_tracker'))
    # an impossible rate is refused by the config
    rate_hz = arguments.rate_hz if arguments.rate_hz >= 1.0 else 1.0
    kind = SIMULATORS[arguments.device]
    fitting = sensors_per_line(BAUD_RATE_BPS, kind.record_bytes, rate_hz)
    per_line = 1 if arguments.shared_bus else min(max(fitting, 1), kind.max_sensors)
    n_lines = arguments.lines or -(-len(arguments.sensors) // per_line)
    return tuple(folder / f'line{i}' for i in range(n_lines))


def _config(arguments: argparse.Namespace, at_exit: ExitStack) -> EmulatorConfig:
    def given(kind: Any) -> Any:
        return kind(*(getattr(arguments, field.name) for field in fields(kind)))

    return EmulatorConfig(
        links=_links(arguments, at_exit),
        device=arguments.device,
        sensors=tuple(arguments.sensors),
        rate_hz=arguments.rate_hz,
        shares_bus=arguments.shared_bus,
        noise=given(NoiseLevels),
        faults=given(FaultRates),
        seed=arguments.seed,
    )


if __name__ == '__main__':
    sys.exit(main())
