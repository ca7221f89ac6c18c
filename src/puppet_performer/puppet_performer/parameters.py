# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the performer node, as data, and the frozen config they make."""

from dataclasses import dataclass

from puppet_core.io import rows_of, setting
from puppet_performer.calibration import CalibrationLimits
from puppet_performer.posture import PostureConfig


@dataclass(frozen=True)
class _Setup:
    """Who is measured, and how the first calibration is come by."""

    performer: str = setting(
        'performer', description="Performer's character, by name or path.", live=False
    )
    layout: str = setting(
        'default14', description='Sensor layout, by name or path of its YAML file.', live=False
    )
    calibration_file: str = setting(
        '',
        description='Calibration file: loaded at startup if it exists; new calibrations are saved '
        'to it.',
        live=False,
    )
    auto_calibrate: bool = setting(
        True,
        description='Whether to wait for a still T-pose and calibrate if there is no calibration.',
        live=False,
    )
    calibration_duration_s: float = setting(
        1.0, 's', 0.1, 60.0, 'How long the T-pose must be held for automatic calibration.'
    )
    world_frame: str = setting(
        'world', description='Parent frame of the transmitter on /tf_static.', live=False
    )
    prop_frames: str = setting(
        '',
        description='Frames of /tf to use as props of the posture, like sensors of the layout; '
        'separated by commas. Their latest poses are used.',
        live=False,
    )

    @property
    def frames(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.prop_frames.split(',') if name.strip())


@dataclass(frozen=True)
class PerformerConfig(PostureConfig, CalibrationLimits, _Setup):
    """Parameters of the performer node."""


PERFORMER_ROWS = rows_of(PerformerConfig)
