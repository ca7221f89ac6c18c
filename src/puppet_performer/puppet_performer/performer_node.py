# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The performer node; `PerformerStage` is one frame of it, also used by the replay."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from puppet_core import named_files
from puppet_core.body import load_character, Props
from puppet_core.io import build_config
from puppet_core.math import Quat, Vec3
from puppet_core.robots import urdf_text
from puppet_core.sensor_frames import FilteredFrame
from puppet_msgs.msg import Posture
from puppet_msgs.srv import Calibrate
from puppet_performer.calibration import Calibration, load_calibration, save_calibration
from puppet_performer.parameters import PERFORMER_ROWS, PerformerConfig
from puppet_performer.performer_model import (
    CalibrationOutcome,
    KINDS,
    MOTION,
    PerformerModel,
    POSE,
)
from puppet_performer.posture import warm_up as compile_posture
from puppet_performer.sensor_layout import load_layout
from puppet_ros.messages import PoseFrameReader, PostureRecord, PostureWriter
from puppet_ros.node import (
    DeferredService,
    Diagnostics,
    NODE_OPTIONS,
    ParameterTable,
    RobotDescriptionPublisher,
    spin_node,
    StampedRecord,
    StaticTransforms,
    StreamPublisher,
    subscribe,
)
from rclpy.node import Node

NODE_NAME = 'performer'
INPUT_TOPIC = 'tracker/filtered'
OUTPUT_TOPIC = 'performer/posture'
DESCRIPTION_TOPIC = 'performer/robot_description'
CALIBRATE_SERVICE = '~/calibrate'
MAX_DURATION_S = 60.0
UNKNOWN_PLACE = np.full(3, np.nan), np.full(4, np.nan)
DURATIONS_S = {POSE: 1.0, MOTION: 30.0}  # of a request that does not say
REQUEST_SLACK_S = 5.0  # how much longer than asked a recording may take before it is given up


class PerformerStage:
    """The performer, its tracker's place, by a tree's `lookup`, and the message it fills."""

    def __init__(
        self,
        config: PerformerConfig,
        lookup: Callable[[str, str], tuple[Vec3, Quat] | None],
        date: Callable[[], str],
    ) -> None:
        self.character = load_character(named_files.character_file(config.performer))
        layout = load_layout(named_files.layout_file(config.layout))
        compile_posture(self.character.skeleton)
        self.model = PerformerModel(self.character, layout, config, date)
        self.tracker_frame = ''
        """Frame of the sensors; '' while it is not known where that stands."""
        self._lookup, self.world = lookup, config.world_frame
        self._prop_frames = config.frames
        self._leg_length = self.character.skeleton.leg_length
        self._writer = PostureWriter()

    def load_calibration(self, config: PerformerConfig) -> bool:
        """Take the calibration of the config's file; return whether there is one."""
        path = Path(config.calibration_file).expanduser()
        if not config.calibration_file or not path.is_file():
            return False
        self.model.use(load_calibration(path))
        return True

    def locate(self, tracker_frame: str) -> bool:
        """Look up where the sensors' frame stands; return whether that is known."""
        place = self._lookup(self.world, tracker_frame)
        if place is None:
            return False
        self.tracker_frame = tracker_frame
        self.model.place_tracker(*place)
        return True

    def step(self, frame: FilteredFrame) -> PostureRecord | None:
        """Return the posture of a frame, or None without a calibration."""
        estimate = self.model.step(frame)
        if estimate is None:
            return None
        of_frame = frame.stamp_ns, frame.frame_index, self.character.name
        posture, joints, status = estimate.posture, estimate.p_world, estimate.status
        if self._prop_frames:
            posture = replace(posture, props=self._with_frames(posture.props))
        about = self._leg_length, self.world
        return PostureRecord(*of_frame, posture, joints, status, *about)

    def _with_frames(self, props: Props) -> Props:
        """Return the props with the frames of `prop_frames`, NaN for those that are not known."""
        known = [self._lookup(self.world, name) or UNKNOWN_PLACE for name in self._prop_frames]
        positions, turns = zip(*known)
        return Props(
            (*props.names, *self._prop_frames),
            np.concatenate((props.positions, positions)),
            np.concatenate((props.orientations, turns)),
        )

    def data(self, record: PostureRecord) -> bytes:
        return self._writer.data(record)


class PerformerNode(Node):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._table = ParameterTable(
            self,
            PERFORMER_ROWS,
            lambda values: build_config(PerformerConfig, values),
            lambda config: self._model.configure(config),
        )
        self._stage = PerformerStage(
            self._table.config, lambda *frames: self._transforms.lookup(*frames), _date
        )
        self._model = self._stage.model
        self._load_calibration(self._table.config)
        self._publisher = StreamPublisher(self, Posture, OUTPUT_TOPIC, self._stage.data)
        self._description = RobotDescriptionPublisher(
            self, DESCRIPTION_TOPIC, urdf_text(self._stage.character)
        )
        self._diagnostics = Diagnostics(self)
        follows_tf = bool(self._table.config.frames)
        self._transforms = StaticTransforms(self, self._on_transforms, follows_tf)
        self._subscription = subscribe(
            self, INPUT_TOPIC, self._on_frame, self._diagnostics, PoseFrameReader()
        )
        self._service = DeferredService(
            self, Calibrate, CALIBRATE_SERVICE, self._on_calibrate, self._on_calibrate_deadline
        )

    def _on_frame(self, stamped: StampedRecord) -> None:
        frame, frame_id = stamped
        if frame_id != self._stage.tracker_frame and not self._locate(frame_id):
            self._diagnostics.drop('no_transform')
            return
        record = self._stage.step(frame)
        if self._model.outcome is not None:
            self._report(self._model.outcome)
        if record is None:
            self._diagnostics.drop('not_calibrated')
            return
        self._publisher.publish(record)
        self._diagnostics.frame(frame.stamp_ns)

    def _on_transforms(self) -> None:
        if self._stage.tracker_frame:
            self._locate(self._stage.tracker_frame)

    def _locate(self, tracker_frame: str) -> bool:
        if not self._stage.locate(tracker_frame):
            text = f'no transform {self._stage.world} -> {tracker_frame!r} on /tf_static'
            self._diagnostics.condition(DiagnosticStatus.WARN, text)
            return False
        waiting = self._model.calibration is None
        level = DiagnosticStatus.WARN if waiting else DiagnosticStatus.OK
        self._diagnostics.condition(level, 'waiting for a still T-pose' if waiting else '')
        return True

    def _load_calibration(self, config: PerformerConfig) -> None:
        path = config.calibration_file
        if self._stage.load_calibration(config):
            self.get_logger().info(f'calibration loaded from {path}')
        elif path and not config.auto_calibrate:
            self.get_logger().warning(f'{path}: no such calibration yet; call {CALIBRATE_SERVICE}')

    def _report(self, outcome: CalibrationOutcome) -> None:
        made = outcome.calibration
        if made is None:
            self._diagnostics.error(f'calibration refused: {outcome.text}')
        else:
            self._diagnostics.condition(DiagnosticStatus.OK, '')
            self._diagnostics.value('calibrated', made.date)
            self._diagnostics.value('calibration_residual_m', made.residual_m)
            residual = f'{1e3 * made.residual_m:.1f} mm, {made.residual_deg:.2f} deg'
            self.get_logger().info(f'calibrated: residual {residual}')
            self._save(made)
        if outcome.requested:
            self._answer(outcome)

    def _save(self, calibration: Calibration) -> None:
        path = self._table.config.calibration_file
        if not path:
            return
        try:
            save_calibration(calibration, Path(path).expanduser())
        except OSError as err:
            self._diagnostics.error(f'{path}: expected a writable file, got {err.strerror}')

    def _on_calibrate(self, request: Calibrate.Request) -> Calibrate.Response | float:
        refusal = self._refusal(request)
        if refusal:
            return Calibrate.Response(message=refusal)
        duration_s = request.duration_s or DURATIONS_S[request.kind]
        self._model.request_calibration(duration_s, request.kind)
        return duration_s + REQUEST_SLACK_S

    def _refusal(self, request: Calibrate.Request) -> str:
        request.kind = request.kind or POSE
        if request.kind not in KINDS:
            return f'kind: expected one of {", ".join(KINDS)}, got {request.kind!r}'
        if not 0.0 <= request.duration_s <= MAX_DURATION_S:
            return f'duration_s: expected 0 <= s <= {MAX_DURATION_S:g}, got {request.duration_s}'
        if self._service.is_pending:
            return 'calibrate: expected one request at a time, got another; wait for its answer'
        if not self._model.is_placed:
            return f'{INPUT_TOPIC}: expected frames and their transform to world, got none yet'
        return ''

    def _on_calibrate_deadline(self) -> Calibrate.Response:
        self._model.cancel_request()
        return Calibrate.Response(message=f'{INPUT_TOPIC}: expected frames, got too few in time')

    def _answer(self, outcome: CalibrationOutcome) -> None:
        response = Calibrate.Response(message=outcome.text or 'calibrated')
        if outcome.calibration is not None:
            response.success = True
            response.file = self._table.config.calibration_file
            response.residual_m = outcome.calibration.residual_m
            response.residual_deg = outcome.calibration.residual_deg
        self._service.answer(response)


def _date() -> str:
    return datetime.now().astimezone().isoformat(timespec='seconds')


def main(argv: list[str] | None = None) -> int:
    return spin_node(PerformerNode, argv)


if __name__ == '__main__':
    sys.exit(main())
