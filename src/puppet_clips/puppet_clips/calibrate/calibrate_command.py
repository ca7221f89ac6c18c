# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Calibrate sensor mountings and body lengths of a performer, from a T-pose and a range of motion.

The recording comes live, with prompts; from a bag; or from a clip through virtual sensors.
What was found is printed as a table. Exit code 1: the calibration should not be used, and is
not written; 2: bad input. `--rezero` finds one sensor's mounting anew, from a T-pose alone;
`--surface` records surface points instead, see `--surface --help`.
"""

import argparse
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
import sys
from typing import Any

import numpy as np
from puppet_clips.calibrate import surface_command
from puppet_clips.calibrate.calibrate_live import LiveSession, retried
from puppet_core import named_files
from puppet_core.body import Character, default_capsules, load_character, save_character
from puppet_core.io import (
    check_writable,
    CommandParser,
    ConfigError,
    EXIT_FAILED,
    EXIT_OK,
    InputFileError,
    run_command,
)
from puppet_core.math import Quat, Vec3
from puppet_core.procedural import clip_loop, range_of_motion
from puppet_core.sensor_frames import FilteredFrame, SensorFrame
from puppet_msgs.msg import PoseFrame, TrackerFrame
from puppet_performer import calibration as cal
from puppet_performer.sensor_layout import load_layout, SensorLayout
from puppet_performer.synthetic_recording import RATE_HZ, record_clip, RecordedClip, T_POSE_S
from puppet_retarget.offline import arguments as clip_arguments
from puppet_ros.bags import BagReader, require_same_types
from puppet_ros.interface_table import FILTERED, RAW, TF_STATIC
from puppet_ros.messages import decoded, from_pose_frame, from_tracker_frame, MessageError, WORLD
from puppet_ros.node import StaticTransformTree
from rclpy.utilities import remove_ros_args
from tf2_msgs.msg import TFMessage

_KINDS: dict[str, tuple[type, Callable[[Any], FilteredFrame | SensorFrame]]] = {
    'puppet_msgs/msg/PoseFrame': (PoseFrame, from_pose_frame),
    'puppet_msgs/msg/TrackerFrame': (TrackerFrame, from_tracker_frame),
}
Place = tuple[Vec3, Quat]

BAG, LIVE, CLIP = 'bag', 'live', 'clip'
LIMITS = cal.CalibrationLimits()
MORE_PARSERS = (surface_command.parser,)
EXAMPLE = """\
example: ./puppet calibrate --from live --output my_calibration.yaml
         ./puppet calibrate --from bag session.mcap --output my_calibration.yaml
         ./puppet calibrate --from clip walk.bvh
         ./puppet calibrate --from clip 07_01.amc --asf 07.asf
         ./puppet calibrate --from live --rezero left_hand --output my_calibration.yaml
"""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if '--surface' in arguments:
        return surface_command.main(arguments)
    return run_command(
        'puppet calibrate',
        lambda: run(parser().parse_args(remove_ros_args(arguments)), arguments),
        'nothing was written',
    )


def parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog='puppet calibrate', description=__doc__, epilog=EXAMPLE)
    add = parser.add_argument
    origins, text = (BAG, LIVE, CLIP), 'source of the recording'
    add('--from', dest='origin', choices=origins, required=True, help=text)
    text = 'the bag, or a clip: .bvh, .amc or .c3d; the built-in range of motion by default'
    add('file', nargs='?', type=Path, help=text)
    add('--output', type=Path, help='calibration file to write, or to change with --rezero')
    add('--rezero', metavar='SENSOR', help='recalibrate only this sensor, which has moved')
    add('--force', action='store_true', help='save even if checks fail')
    text = 'character whose proportions replace what is not measured; name or path'
    add('--performer', default='performer', metavar='CHARACTER', help=text)
    add('--write-character', type=Path, metavar='YAML', help="save the performer's own body")
    add('--layout', default='default14', help='sensor layout, by name or path')
    bag = parser.add_argument_group('from a bag')
    text, metavar = 'position of the transmitter, for a bag without /tf_static', ('X', 'Y', 'Z')
    bag.add_argument('--transmitter-m', nargs=3, type=float, metavar=metavar, help=text)
    clip = parser.add_argument_group('from a clip')
    clip.add_argument('--seed', type=int, default=1, help='random seed of the sensor mounting')
    clip.add_argument('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    clip_arguments.add_clip_options(parser)
    return parser


def run(options: argparse.Namespace, ros_arguments: list[str]) -> int:
    outputs = {'--output': options.output, '--write-character': options.write_character}
    for name, path in outputs.items():
        if path is not None:
            check_writable(path, name)
    if options.origin == BAG and options.file is None:
        raise ConfigError('--from bag: expected the path of a bag, got none')
    if options.rezero and (options.output is None or options.write_character is not None):
        raise ConfigError(
            '--rezero: expected --output, the calibration to change, and no --write-character'
        )
    performer = load_character(named_files.character_file(options.performer))
    layout = load_layout(named_files.layout_file(options.layout))
    if options.seed < 0:
        raise ConfigError(f'--seed: expected 0 or more, got {options.seed}')
    before = cal.load_calibration(options.output) if options.rezero else None
    if before is not None and options.rezero not in before.sensors:
        known = ', '.join(before.sensors)
        raise ConfigError(f'--rezero: expected one of {known}, got {options.rezero!r}')
    truth = None
    if options.origin == LIVE:
        with closing(LiveSession(layout, performer, LIMITS, ros_arguments)) as session:
            pose = retried(session)
            motion = session.motion() if before is None else None
    else:
        recording, truth = _recorded(options, performer, layout)
        if before is None:
            pose, motion = cal.split_recording(recording, layout, performer, LIMITS)
        else:
            pose, motion = cal.find_pose(recording, layout, performer, LIMITS)[0], None
    if before is not None:
        return _rezero(options, before, pose, performer, layout)
    assert motion is not None
    outcome = cal.calibrate_motion(pose, motion, layout, performer, LIMITS, _date())
    print(outcome.evaluation.table())
    if outcome.calibration is not None and truth is not None:
        print(truth.compare(outcome.calibration))
    usable = outcome.evaluation.usable
    if outcome.calibration is not None and (usable or options.force):
        _write(options, performer, outcome.calibration)
    if options.output is None and options.write_character is None:
        print('nothing was written: there is no --output')
    return EXIT_OK if usable else EXIT_FAILED


def _rezero(
    options: argparse.Namespace,
    before: cal.Calibration,
    pose: cal.PoseRecording,
    performer: Character,
    layout: SensorLayout,
) -> int:
    """Write the calibration with one sensor's mounting found anew; return the exit code."""
    name, skeleton = options.rezero, performer.skeleton
    after = cal.rezero_sensor(before, pose, layout, name, skeleton, LIMITS, _date())
    row = after.sensors.index(name)
    moved = float(np.linalg.norm(after.positions[row] - before.positions[row]))
    cosine = min(abs(float(after.rotations[row] @ before.rotations[row])), 1.0)
    cal.save_calibration(after, options.output)
    print(
        f'{name}: moved by {1e3 * moved:.0f} mm and '
        f'{np.degrees(2.0 * np.arccos(cosine)):.0f} deg; written: {options.output}'
    )
    return EXIT_OK


def _write(
    options: argparse.Namespace, performer: Character, calibration: cal.Calibration
) -> None:
    if options.output is not None:
        cal.save_calibration(calibration, options.output)
        print(f'written: {options.output}')
    if options.write_character is not None and calibration.skeleton is not None:
        capsules = default_capsules(calibration.skeleton)
        own = replace(performer, skeleton=calibration.skeleton, capsules=capsules)
        save_character(own, options.write_character)
        print(f'written: {options.write_character}')


def _recorded(
    options: argparse.Namespace, performer: Character, layout: SensorLayout
) -> tuple[cal.MotionRecording, RecordedClip | None]:
    """Return what a bag or the virtual sensors of a clip recorded, and the truth of a clip."""
    if options.origin == BAG:
        place = None
        if options.transmitter_m is not None:
            place = np.array(options.transmitter_m), np.array([1.0, 0.0, 0.0, 0.0])
        return read_bag(options.file, layout.sensors, place), None
    if options.file is None:
        motion = range_of_motion(performer, RATE_HZ, T_POSE_S)
    else:
        clip = clip_arguments.read_clip(options.file, options, options.asf)
        motion = clip_loop(clip, RATE_HZ, T_POSE_S).motion
    take = record_clip(motion, layout, options.seed)
    return take.recording, take


def _date() -> str:
    return datetime.now().astimezone().isoformat(timespec='seconds')


def read_bag(
    path: Path, sensors: tuple[str, ...], place: Place | None = None
) -> cal.MotionRecording:
    """
    Return what the sensors of a layout measured, in this order.

    The topic is the filtered one if there is any; `place` is that of the tracker in
    world, for a bag without /tf_static. Raises InputFileError if this is no bag, or what is needed
    is not in it. Raises CalibrationError if there are hardly any frames.
    """
    with BagReader(path) as reader:
        try:
            return _read(reader, path, sensors, place)
        except MessageError as err:
            raise InputFileError(path, 'messages of the installed types', str(err)) from err


def _read(
    reader: BagReader, path: Path, sensors: tuple[str, ...], place: Place | None
) -> cal.MotionRecording:
    topics = reader.topics
    name = FILTERED if FILTERED in topics else RAW
    found = topics.get(name, 'none')
    if found not in _KINDS:
        known = ', '.join(sorted(t for t, kind in topics.items() if kind in _KINDS)) or 'none'
        wanted, hint = f'a topic {name} of sensor frames', f'such topics here: {known}'
        raise InputFileError(path, wanted, found, hint=hint)
    require_same_types(reader, [name])
    message, from_msg = _KINDS[found]
    tree = StaticTransformTree()
    for recorded in reader.messages([TF_STATIC]):
        for edge in decoded(recorded.data, TFMessage).transforms:
            tree.add(edge)
    recorder = cal.StreamRecorder(sensors)
    for recorded in reader.messages([name]):
        msg = decoded(recorded.data, message)
        stands = place or tree.lookup(WORLD, msg.header.frame_id)
        if stands is None:
            wanted = f'a transform {WORLD} -> {msg.header.frame_id} on {TF_STATIC}'
            raise InputFileError(path, wanted, 'none', hint='give --transmitter-m X Y Z')
        recorder.add(from_msg(msg), *stands)
    usable = recorder.recording().usable
    missing = [name for i, name in enumerate(sensors) if not np.any(usable[:, i])]
    if missing:
        wanted, got = f'the sensors of the layout: {", ".join(sensors)}', ', '.join(missing)
        raise InputFileError(path, wanted, f'none of {got}', hint='choose another --layout')
    return recorder.recording()


if __name__ == '__main__':
    sys.exit(main())
