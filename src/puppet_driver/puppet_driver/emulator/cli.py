# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`tracker_emulator`: a tracker with a performer, on pseudo-terminals or on the network.

Prints one line `ready PORT PORT ..` when the ports can be opened. Runs until interrupted.
"""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
import os
from pathlib import Path
import signal
import sys
import tempfile

from puppet_core.body import Character, load_character, Motion, save_character
from puppet_core.clips import add_reading_options, read_clip_by_options
from puppet_core.io import PuppetError
from puppet_core.procedural import LoopedMotion
from puppet_driver.emulator.emulator import (
    build_server,
    EmulatorConfig,
    performance,
    SCRIPTS,
    SHOW,
    SIMULATORS,
    within_range,
)
from puppet_driver.emulator.faults import FaultRates
from puppet_driver.emulator.performer import clip_body, default_body, DEFAULT_SENSORS, NoiseLevels
from puppet_driver.transport import parse_endpoint, sensors_per_line

EXIT_OK, EXIT_BAD_INPUT = 0, 2
BAUD_RATE_BPS = 115200
PRIORITY = -10  # nice value
EXAMPLE = 'example: tracker_emulator --ports-dir /tmp/tracker --lines 3 --clip walk.bvh'


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(
        prog='tracker_emulator',
        description='Play a tracker with a performer on pseudo-terminals or on the network.',
        epilog=EXAMPLE,
    )
    _add_device(p)
    show = p.add_argument_group('performance')
    show.add_argument(
        '--clip', type=Path, metavar='FILE', help='BVH, AMC or C3D; procedural if absent'
    )
    show.add_argument(
        '--script',
        choices=tuple(SCRIPTS),
        default=SHOW,
        help='what is done without a clip: the show, or a range of motion for calibration',
    )
    show.add_argument('--asf', type=Path, metavar='FILE', help='skeleton of an AMC clip')
    add_reading_options(show, '--clip-rate-hz')
    show.add_argument('--character', type=Path, metavar='YAML', help='body of the procedural one')
    show.add_argument('--write-character', type=Path, metavar='YAML', help='save the body used')
    show.add_argument(
        '--t-pose-s',
        type=float,
        default=2.0,
        help='in the T-pose at the begin [s]; default %(default)s',
    )
    show.add_argument('--restart-after-s', type=float, default=2.0, help='silence; 0 never')
    show.add_argument(
        '--sensors',
        nargs='+',
        metavar='SEGMENT',
        default=list(DEFAULT_SENSORS),
        help='segments that have one',
    )
    show.add_argument(
        '--transmitter-m',
        nargs=3,
        type=float,
        metavar=('X', 'Y', 'Z'),
        default=(0.0, 0.0, 1.0),
        help='where it stands in the world [m]',
    )
    out = p.add_argument_group('recording instead of ports')
    out.add_argument(
        '--export',
        type=Path,
        metavar='FILE.mcap',
        help='write /tracker/raw to an .mcap file, or a folder as a rosbag, and end',
    )
    out.add_argument('--export-s', type=float, metavar='S', help='how long; one pass if absent')
    _add_faults(p)
    return p


def _add_device(p: argparse.ArgumentParser) -> None:
    ports = p.add_argument_group('device and ports')
    ports.add_argument(
        '--device',
        choices=tuple(SIMULATORS),
        default='flock_of_birds',
        help='what is played; default %(default)s',
    )
    ports.add_argument(
        '--listen',
        nargs='+',
        metavar='HOST:PORT',
        default=['127.0.0.1:6000'],
        help='addresses of a motionstar, by TCP and UDP; default %(default)s',
    )
    ports.add_argument('--link', nargs='+', type=Path, metavar='PATH', help='name of each port')
    ports.add_argument('--ports-dir', type=Path, metavar='DIR', help='folder for line0, line1 ..')
    ports.add_argument('--lines', type=int, help='how many; as 115200 bps needs by default')
    ports.add_argument(
        '--rate-hz',
        type=float,
        default=120.0,
        help='records of a sensor per second; default %(default)s',
    )
    ports.add_argument(
        '--range-in',
        type=int,
        choices=(36, 72, 144),
        default=144,
        help='full scale of positions [inch]; default %(default)s',
    )
    ports.add_argument(
        '--first-address',
        type=int,
        default=2,
        help='bus address of the first sensor; default %(default)s',
    )


def _add_faults(p: argparse.ArgumentParser) -> None:
    noise, rates = NoiseLevels(), FaultRates()
    bad = p.add_argument_group('noise and faults, seeded')
    bad.add_argument('--seed', type=int, default=1, help='of noise and faults')
    bad.add_argument(
        '--white-mm', type=float, default=noise.white_mm, help='noise from record to record [mm]'
    )
    bad.add_argument(
        '--white-deg', type=float, default=noise.white_deg, help='the same of rotations [deg]'
    )
    bad.add_argument(
        '--slow-mm', type=float, default=noise.slow_mm, help='noise that wanders [mm]'
    )
    bad.add_argument(
        '--slow-deg', type=float, default=noise.slow_deg, help='the same of rotations [deg]'
    )
    bad.add_argument('--drop-out', type=float, default=rates.drop_out, help='per record')
    bad.add_argument('--outlier', type=float, default=rates.outlier, help='per record')
    bad.add_argument('--bad-byte', type=float, default=rates.bad_byte, help='per byte')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the emulator; return the exit code."""
    arguments = parser().parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ExitStack() as at_exit:
            _run(arguments, at_exit)
    except PuppetError as err:
        print(f'tracker_emulator: {err}', file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        pass  # asked to end before there was anything to serve
    return EXIT_OK


def _run(arguments: argparse.Namespace, at_exit: ExitStack) -> None:
    config = _config(arguments, at_exit)
    body, clip = _body(arguments)
    planned = performance(config, body, clip, arguments.t_pose_s, arguments.script)
    looped = within_range(config, planned)
    if looped is not planned:
        print('tracker_emulator: clip moved to where the tracker can see it', file=sys.stderr)
    if arguments.write_character:
        save_character(body, arguments.write_character)
    if arguments.export:
        _export(config, looped, arguments)
        return
    listens = arguments.device == 'motionstar'
    addresses = [parse_endpoint(f'tcp://{name}') for name in arguments.listen if listens]
    server = build_server(config, looped, addresses)
    at_exit.callback(server.close)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.stop())
    _go_first()
    print('ready', *(str(line.pty.link) for line in server.lines), flush=True)
    server.serve()


def _export(config: EmulatorConfig, looped: LoopedMotion, arguments: argparse.Namespace) -> None:
    # here, because rosbags takes half a second that the ports need not wait for
    from puppet_driver.emulator.recording_export import export_recording

    n_frames = export_recording(config, looped, arguments.export, arguments.export_s)
    print(f'{arguments.export}: {n_frames} frames of {len(config.sensors)} sensors', flush=True)


def _go_first() -> None:
    """Run before ordinary processes where that is allowed: hardware does not wait for them."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    except OSError:
        pass


def _say(text: str) -> None:
    print(f'tracker_emulator: {text}', file=sys.stderr)


def _body(arguments: argparse.Namespace) -> tuple[Character, Motion | None]:
    if arguments.clip:
        clip = read_clip_by_options(arguments.clip, arguments, arguments.asf, _say)
        return clip_body(clip, arguments.clip.stem), clip
    if arguments.character:
        return load_character(arguments.character), None
    return default_body(), None


def _config(arguments: argparse.Namespace, at_exit: ExitStack) -> EmulatorConfig:
    sensors = tuple(arguments.sensors)
    if arguments.link:
        links = tuple(arguments.link)
    else:
        folder = arguments.ports_dir or Path(
            at_exit.enter_context(tempfile.TemporaryDirectory(prefix='tracker_'))
        )
        # an impossible rate is refused by the config below
        rate_hz = arguments.rate_hz if arguments.rate_hz >= 1.0 else 1.0
        kind = SIMULATORS[arguments.device]
        fitting = sensors_per_line(BAUD_RATE_BPS, kind.record_bytes, rate_hz)
        per_line = min(max(fitting, 1), kind.max_sensors)
        n_lines = arguments.lines or -(-len(sensors) // per_line)
        links = tuple(folder / f'line{i}' for i in range(n_lines))
    return EmulatorConfig(
        links=links,
        device=arguments.device,
        sensors=sensors,
        rate_hz=arguments.rate_hz,
        range_in=arguments.range_in,
        first_address=arguments.first_address,
        transmitter_position_m=tuple(arguments.transmitter_m),
        noise=NoiseLevels(
            arguments.white_mm, arguments.white_deg, arguments.slow_mm, arguments.slow_deg
        ),
        faults=FaultRates(arguments.drop_out, arguments.outlier, arguments.bad_byte),
        seed=arguments.seed,
        restart_after_s=arguments.restart_after_s,
    )


if __name__ == '__main__':
    sys.exit(main())
