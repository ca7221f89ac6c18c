# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The performer as a whole: waits for a calibration, applies it, then estimates postures."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, Props
from puppet_core.io import CalibrationError, PuppetError
from puppet_core.math import Quat, quaternions, Vec3
from puppet_core.sensor_frames import FilteredFrame
from puppet_performer.calibration import (
    calibrate_motion,
    calibrate_pose,
    Calibration,
    PoseRecorder,
    split_recording,
    StreamRecorder,
)
from puppet_performer.parameters import PerformerConfig
from puppet_performer.posture import EstimatedPosture, PostureEstimator
from puppet_performer.sensor_layout import SensorLayout

KINDS = POSE, MOTION = 'pose', 'motion'  # of a calibration, those of Calibrate.srv
STRAY_FACTOR = 2.0  # the window's first frame is itself off the mean


class CalibrationOutcome(NamedTuple):
    calibration: Calibration | None  # None if it was refused
    text: str  # Why it was refused; '' if it was not
    requested: bool  # Whether somebody asked for it


class PerformerModel:
    def __init__(
        self,
        character: Character,
        layout: SensorLayout,
        config: PerformerConfig,
        date: Callable[[], str],
    ) -> None:
        """Prepare without calibration and tracker; `date` returns that of one made now."""
        self._character = character
        self._layout = layout
        self._config = config
        self._date = date
        self._tracker: tuple[Vec3, Quat] | None = None
        self._recorder: StreamRecorder | None = None
        self._requested = False
        self._estimator: PostureEstimator | None = None
        self.calibration: Calibration | None = None
        """The one in force."""
        self.outcome: CalibrationOutcome | None = None
        """Of an attempt that ended in the last step."""

    def configure(self, config: PerformerConfig) -> None:
        """Take new tuning without a jump."""
        self._config = config
        if self._estimator is not None:
            self._estimator.configure(config)

    def use(self, calibration: Calibration) -> None:
        """Take a calibration; CalibrationError if it is of other sensors, segments or bodies."""
        calibration.require_layout(self._layout)
        if calibration.performer != self._character.name:
            raise CalibrationError(
                f'calibration: expected one of {self._character.name}, '
                f'got one of {calibration.performer}; calibrate again'
            )
        self.calibration = calibration
        self._rebuild()

    def place_tracker(self, p_world_tracker: Vec3, q_world_tracker: Quat) -> None:
        """Set where the tracker's frame stands in world, shapes (3,) [m] and (4,)."""
        if self._tracker is not None and all(
            np.array_equal(old, new)
            for old, new in zip(self._tracker, (p_world_tracker, q_world_tracker))
        ):
            return
        self._tracker = (np.array(p_world_tracker), np.array(q_world_tracker))
        self._rebuild()
        if self._recorder is not None:
            self._recorder.restart()

    @property
    def is_placed(self) -> bool:
        return self._tracker is not None

    def request_calibration(self, duration_s: float, kind: str = POSE) -> None:
        """Record from the next frame on; the outcome follows after the duration [s]."""
        self.cancel_request()
        self._requested = True
        make = StreamRecorder if kind == MOTION else PoseRecorder
        self._recorder = make(self._layout.sensors, duration_s)

    def cancel_request(self) -> None:
        self._recorder, self._requested = None, False

    def step(self, frame: FilteredFrame) -> EstimatedPosture | None:
        """Return the posture of a frame, None without a calibration; see `outcome` of attempts."""
        self.outcome = None
        if self._tracker is None:
            return None
        waits = self.calibration is None and self._config.auto_calibrate and not self._requested
        if self._recorder is None and waits:
            stray_m = STRAY_FACTOR * self._config.max_movement_m
            self._recorder = PoseRecorder(
                self._layout.sensors, self._config.calibration_duration_s, stray_m
            )
        if self._recorder is not None:
            self._recorder.add(frame, *self._tracker)
            if self._recorder.is_full:
                self._evaluate(self._recorder)
        if self._estimator is None:
            return None
        estimate = self._estimator.step(frame)
        if not self._layout.props:
            return estimate
        props = self._props(frame, *self._tracker)
        return estimate._replace(posture=replace(estimate.posture, props=props))

    def _props(self, frame: FilteredFrame, place: Vec3, turn: Quat) -> Props:
        """Return the sensors on things in world, with NaN for those that the frame lacks."""
        names = self._layout.props
        positions, orientations = (
            np.full((len(names), 3), np.nan),
            np.full((len(names), 4), np.nan),
        )
        for i, name in enumerate(names):
            if name in frame.sensors:
                row = frame.sensors.index(name)
                positions[i] = place + quaternions.rotate(turn, frame.positions[row])
                orientations[i] = quaternions.multiply(turn, frame.quaternions[row])
        return Props(names, positions, orientations)

    def _evaluate(self, recorder: StreamRecorder) -> None:
        requested, is_pose = self._requested, isinstance(recorder, PoseRecorder)
        self.cancel_request()
        try:
            calibration = self._by_pose(recorder) if is_pose else self._by_motion(recorder)
        except PuppetError as err:
            self.outcome = CalibrationOutcome(None, str(err), requested)
            return
        self.use(calibration)
        self.outcome = CalibrationOutcome(calibration, '', requested)

    def _by_pose(self, recorder: StreamRecorder) -> Calibration:
        limits, performer = self._config, self._character
        return calibrate_pose(recorder.poses(), self._layout, performer, limits, self._date())

    def _by_motion(self, recorder: StreamRecorder) -> Calibration:
        limits, performer = self._config, self._character
        pose, motion = split_recording(recorder.recording(), self._layout, performer, limits)
        calibration, evaluation = calibrate_motion(
            pose, motion, self._layout, performer, limits, self._date()
        )
        if calibration is None or not evaluation.usable:
            raise CalibrationError('; '.join(finding.text for finding in evaluation.findings))
        return calibration

    def _rebuild(self) -> None:
        if self.calibration is None or self._tracker is None:
            return
        position, quaternion = self._tracker
        self._estimator = PostureEstimator(
            self.calibration.skeleton or self._character.skeleton,
            self.calibration,
            quaternion,
            position,
            self._config,
        )
