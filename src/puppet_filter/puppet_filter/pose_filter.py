# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The pose filter of all sensors, known by name, which may come and go (Shin2002 ch. 3)."""

from collections.abc import Mapping
import math

import numpy as np
from puppet_core.math import Mat6, read_only
from puppet_core.sensor_frames import FilteredFrame, SAMPLE_MISSING, SAMPLE_OK, SensorFrame
from puppet_filter.kalman import ADAPTIVE, PHYSICAL, PRINTED
from puppet_filter.parameters import PoseFilterConfig
from puppet_filter.sensor_update import (
    AS_GIVEN,
    EMPTY,
    Input,
    OUTCOMES,
    Output,
    Records,
    STATE,
    step_frame,
    TUNING,
    WORK,
)

PROCESS_MODELS = {'adaptive': ADAPTIVE, 'physical': PHYSICAL, 'printed': PRINTED}
IDENTITY = (1.0, 0.0, 0.0, 0.0)
BACK_COUNT = 3  # frames in order that came late: they are not late, the clock was set back


class PoseFilter:
    """Filter frames of sensor poses, by measured R, else `default`, else the config's."""

    def __init__(
        self,
        config: PoseFilterConfig,
        noise: Mapping[str, Mat6] | None = None,
        default: Mat6 | None = None,
    ) -> None:
        self._default = default
        self._noise = {} if noise is None else noise
        self._config = config
        self._work = np.zeros(1, WORK)
        self._counters = np.zeros(len(OUTCOMES), dtype=np.int64)
        self._repeated_frames = 0
        self._backward_frames = 0
        self._late_ns: int | None = None  # stamp of the last frame that was dropped as late
        self._n_late = 0
        self._tuning = make_tuning(config)
        self._stamp_ns: int | None = None
        self._sensors: tuple[str, ...] = ()
        self._allocate(())

    def configure(self, config: PoseFilterConfig, noise: Mapping[str, Mat6] | None = None) -> None:
        """Take new tuning, and new measured noise if given; the states stay."""
        self._config = config
        if noise is not None:
            self._noise = noise
        self._tuning = make_tuning(config)
        self._assign_noise()

    def step(self, frame: SensorFrame) -> FilteredFrame | None:
        """Return the filtered frame, overwritten by the next; None for a stamp that goes back."""
        if frame.sensors != self._sensors:
            self._take_over(frame.sensors)
        if not self._accept_stamp(frame.stamp_ns):
            return None
        samples = Input(
            frame.stamp_ns, frame.positions, frame.quaternions, frame.ages_s, frame.status
        )
        step_frame(self._states, self._tuning, self._work, self._counters, samples, self._output)
        return FilteredFrame(frame.stamp_ns, frame.frame_index, self._sensors, *self._output)

    @property
    def states(self) -> Records:
        return self._states

    def counts(self) -> dict[str, int]:
        counts = {name: int(count) for name, count in zip(OUTCOMES, self._counters)}
        counts['repeated_frames'] = self._repeated_frames
        counts['backward_frames'] = self._backward_frames
        return counts

    def lost_sensors(self) -> tuple[str, ...]:
        return tuple(
            name for name, phase in zip(self._sensors, self._states['phase']) if phase == EMPTY
        )

    def unused_noise(self) -> tuple[str, ...]:
        return tuple(sorted(set(self._noise) - set(self._sensors)))

    def _accept_stamp(self, stamp_ns: int) -> bool:
        step_ns = stamp_ns - self._stamp_ns if self._stamp_ns is not None else 1
        if step_ns == 0:
            self._repeated_frames += 1
            return False
        if step_ns < 0:
            self._backward_frames += 1
            if -step_ns * 1e-9 < self._config.gap_restart_s and self._is_late(stamp_ns):
                return False
            # the clock was set back for good: a recording that starts over
            self._allocate(self._sensors)
        self._stamp_ns = stamp_ns
        self._late_ns, self._n_late = None, 0
        return True

    def _is_late(self, stamp_ns: int) -> bool:
        """Return whether a frame was overtaken: not if several such follow one after another."""
        if self._late_ns is None or stamp_ns <= self._late_ns:
            self._n_late = 0
        self._late_ns = stamp_ns
        self._n_late += 1
        return self._n_late < BACK_COUNT

    def _take_over(self, sensors: tuple[str, ...]) -> None:
        """Change to other sensors; those of the same name keep their states."""
        old, stamp_ns = self._states, self._stamp_ns
        rows = {sensor: row for row, sensor in enumerate(self._sensors)}
        self._allocate(sensors)
        for row, sensor in enumerate(sensors):
            if sensor in rows:
                self._states[row] = old[rows.pop(sensor)]
                self._stamp_ns = stamp_ns

    def _allocate(self, sensors: tuple[str, ...]) -> None:
        n = len(sensors)
        self._sensors = sensors
        self._stamp_ns = None
        self._states = np.zeros(n, STATE)
        self._states['orientation'] = self._states['candidate_orientation'] = IDENTITY
        self._assign_noise()
        self._output = Output(
            np.zeros((n, 3)),
            np.zeros((n, 4)),
            np.zeros((n, 3)),
            np.zeros((n, 3)),
            np.zeros((n, 6, 6)),
            np.zeros(n, dtype=np.uint8),
            np.zeros((n, 6, 6)),
        )

    def _assign_noise(self) -> None:
        default = default_noise(self._config) if self._default is None else self._default
        for state, sensor in zip(self._states, self._sensors):
            state['noise'] = self._noise.get(sensor, default)


def make_tuning(config: PoseFilterConfig) -> Records:
    """Return what the kernels need of the config, shape (1,)."""
    tuning = np.zeros(1, TUNING)
    tuning['process_model'] = PROCESS_MODELS[config.process_model]
    if config.process_model == 'printed':
        tuning['process'] = [getattr(config, f'process_q{k}') for k in (1, 2, 4, 5, 6, 8)]
    else:
        tuning['process'][0, :2] = config.process_linear_m2_s3, config.process_angular_rad2_s3
    tuning['quiet'] = config.process_quiet_linear_m2_s3, config.process_quiet_angular_rad2_s3
    tuning['highest'] = (
        config.process_highest_linear_m2_s3,
        config.process_highest_angular_rad2_s3,
    )
    tuning['velocity_variance'] = config.initial_speed_m_s**2, config.initial_rate_rad_s**2
    tuning['gate_sq'] = config.gate_mahalanobis_limit**2
    for name in AS_GIVEN:
        tuning[name] = getattr(config, name)
    return tuning


def default_noise(config: PoseFilterConfig) -> Mat6:
    """Return R of a sensor whose noise was not measured, shape (6, 6) [m^2, rad^2]."""
    position = config.noise_position_mm * 1e-3
    rotation = math.radians(config.noise_orientation_deg)
    return read_only(np.diag([position**2] * 3 + [rotation**2] * 3))


def warm_up() -> None:
    """Compile the kernels with the types of live data, before the first frame."""
    pose_filter = PoseFilter(PoseFilterConfig())
    positions, quaternions = np.zeros((2, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (2, 1))
    status = np.array([SAMPLE_OK, SAMPLE_MISSING], dtype=np.uint8)
    for k in range(2):
        stamp_ns = (k + 1) * 8_000_000
        pose_filter.step(
            SensorFrame(stamp_ns, k, ('a', 'b'), positions, quaternions, np.zeros(2), status)
        )
