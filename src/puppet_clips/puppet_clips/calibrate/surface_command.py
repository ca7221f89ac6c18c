# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Record points of the performer's surface, touched with a sensor.

The performer node must run, calibrated, and a stylus must be among the tracker's sensors: one
that the layout does not need, or that of a hand that is not measured now. For each prompt
touch the point with the tip, hold still until it is recorded, lift, go on. Segments that are
complete are saved at once; a run that was broken off goes on with the next segment.
"""

import argparse
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
import sys
import time

import numpy as np
from puppet_clips.calibrate.calibrate_live import CalibrationNode
from puppet_core import named_files
from puppet_core.body import load_character, read_surface, save_surface, SEGMENTS, surface_samples
from puppet_core.io import check_writable, CommandParser, ConfigError, EXIT_OK, run_command
from puppet_core.math import Vec3
from puppet_core.sensor_frames import FilteredFrame
from puppet_msgs.msg import Posture
from puppet_performer import surface
from puppet_ros.messages import posture_msg, PostureRecord
from puppet_ros.node import ExactTimeSynchronizer, qos
from rclpy.utilities import remove_ros_args

POSTURE_TOPIC = 'performer/posture'
_TOUCH = surface.TouchConfig()
EXAMPLE = """\
example: ./puppet calibrate --surface --sensor stylus --tip 0 0 0.12 --output my_surface.yaml
         ./puppet calibrate --surface --output my_surface.yaml --segments chest left_hand
"""


class SurfaceNode(CalibrationNode):
    """Brings the stylus and the posture of the same instant to the recorder."""

    def __init__(
        self,
        recorder: surface.SurfaceRecorder,
        body: str,
        sensor: str,
        tip: Vec3,
        ros_arguments: Sequence[str],
    ) -> None:
        self._recorder = recorder
        self._body = body
        self._sensor = sensor
        self._tip = tip
        self._join: ExactTimeSynchronizer[FilteredFrame, PostureRecord] = ExactTimeSynchronizer()
        self._postures = 0
        self.touches: list[surface.Touch] = []  # rests not processed yet
        self.error: ConfigError | None = None  # what makes going on useless
        super().__init__(ros_arguments)
        self.create_subscription(Posture, POSTURE_TOPIC, self._on_posture, qos.STREAM)

    def missing(self) -> str:
        if self._frames and not self._postures:
            return f'{POSTURE_TOPIC}: expected postures, got none; is the performer calibrated?'
        if self._frames and self.place() is not None:
            return f'{POSTURE_TOPIC}: expected postures with the stamps of frames, got no more'
        return super().missing()

    def on_frame(self, frame: FilteredFrame) -> None:
        """Wait for the posture of a frame's instant."""
        if self._sensor not in frame.sensors:
            self.error = ConfigError(
                f'--sensor: expected one of {", ".join(frame.sensors)}, got {self._sensor!r}'
            )
        self._on_pair(self._join.push_left(frame.stamp_ns, frame))

    def _on_posture(self, msg: Posture) -> None:
        record = self.decoded(posture_msg.from_msg, msg)
        if record is None:
            return
        self._postures += 1
        if record.body != self._body:
            self.error = ConfigError(
                f'--performer: expected {record.body!r}, as the posture says, got {self._body!r}'
            )
        self._on_pair(self._join.push_right(record.stamp_ns, record))

    def _on_pair(self, pair: tuple[FilteredFrame, PostureRecord] | None) -> None:
        place = self.place()
        if pair is None or place is None or self.error is not None:
            return
        frame, record = pair
        self.heard_at = time.monotonic()
        tip = surface.stylus_tip(frame, self._sensor, self._tip, *place)
        waited = self._recorder.place
        if waited is not None and record.status[waited.segment] == Posture.STATUS_STALE:
            tip = None
        posed = record.posture.rotations, record.segments
        touch = self._recorder.step(record.stamp_ns, *posed, tip)
        if touch is not None:
            self.touches.append(touch)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    return run_command(
        'puppet calibrate',
        lambda: run(parser().parse_args(remove_ros_args(arguments)), arguments),
        'completed outputs are saved; run the same command again to continue',
    )


def parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog='puppet calibrate', description=__doc__, epilog=EXAMPLE)
    add = parser.add_argument
    add('--surface', action='store_true', required=True, help='record surface points')
    add('--output', type=Path, required=True, help='YAML file to write or extend')
    text = 'character of the performer node, by name or path; default performer'
    add('--performer', default='performer', metavar='CHARACTER', help=text)
    add('--sensor', default='stylus', help='name of the stylus sensor, default stylus')
    text, tip = "the tip in the sensor's frame [m]; default the sensor itself", (0.0, 0.0, 0.0)
    add('--tip', type=float, nargs=3, default=tip, metavar=('X', 'Y', 'Z'), help=text)
    text = f'which, in this order; default all: {", ".join(SEGMENTS)}'
    add('--segments', nargs='+', default=list(SEGMENTS), metavar='SEGMENT', help=text)
    add('--mirror', action='store_true', help='copy the right limbs from the left ones')
    text = f'time to hold still at each point [s], default {_TOUCH.rest_s:g}'
    add('--rest', type=float, default=_TOUCH.rest_s, metavar='S', help=text)
    return parser


def run(options: argparse.Namespace, ros_arguments: list[str]) -> int:
    check_writable(options.output, '--output')
    if not np.all(np.isfinite(options.tip)):
        raise ConfigError(f'--tip: expected finite numbers, got {options.tip}')
    kept = read_surface(options.output) if options.output.exists() else {}
    segments = surface.segments_to_touch(options.segments, kept, options.mirror)
    character = load_character(named_files.character_file(options.performer))
    recorder = surface.SurfaceRecorder(
        segments,
        surface_samples(character.skeleton, character.capsules),
        surface.TouchConfig(rest_s=options.rest),
    )
    if not segments and set(options.segments) - set(kept):
        raise ConfigError('--mirror: expected a left limb or a part of the trunk, got right limbs')
    if not segments:
        print(f'{options.output} has them all; remove from it the points to touch again')
        return EXIT_OK
    tip = np.array(options.tip)
    node = SurfaceNode(recorder, character.name, options.sensor, tip, ros_arguments)
    with closing(node):
        prompt(recorder)
        while recorder.place is not None:
            node.spin_for(0.0)  # message by message: a touch is taken before the next
            if node.error is not None:
                raise node.error
            node.require_input()
            for touch in node.touches:
                take(touch, recorder, kept, options)
            node.touches.clear()
    return EXIT_OK


def take(
    touch: surface.Touch,
    recorder: surface.SurfaceRecorder,
    kept: dict,
    options: argparse.Namespace,
) -> None:
    """Report the result of a touch, and save a segment that is complete with it."""
    off_mm = f'{1e3 * touch.off_m:.0f} mm'
    if not touch.accepted:
        print(f'\a  refused: {off_mm} from where the point is expected; lift', flush=True)
        return
    print(f'\a  recorded, {off_mm} from the character; lift', flush=True)
    place = recorder.place
    if place is None or place.segment != touch.place.segment:
        points = recorder.complete()
        points = {**kept, **(surface.mirrored(points) if options.mirror else points)}
        save_surface(surface.as_samples(points), options.output, tuple(points))
        print(f'written: {options.output}, with {", ".join(points)}')
    prompt(recorder)


def prompt(recorder: surface.SurfaceRecorder) -> None:
    if recorder.place is not None:
        count = f'{recorder.n_done + 1}/{recorder.n_total}'
        print(f'{count} {surface.describe(recorder.place)}: touch and hold', flush=True)
