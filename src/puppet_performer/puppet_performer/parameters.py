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
        'performer', description="The performer's character, by name or path.", live=False
    )
    layout: str = setting(
        'default14', description='Sensor layout, by name or path of its YAML file.', live=False
    )
    calibration_file: str = setting(
        '',
        description='Loaded at the start if it exists; calibrations are saved there.',
        live=False,
    )
    auto_calibrate: bool = setting(
        True,
        description='Without a calibration, wait for a still T-pose and take one.',
        live=False,
    )
    calibration_duration_s: float = setting(
        1.0, 's', 0.1, 60.0, 'How long the T-pose must be held for automatic calibration.'
    )
    world_frame: str = setting(
        'world', description='Frame in which /tf_static has the transmitter.', live=False
    )
    prop_frames: str = setting(
        '',
        description='Frames of /tf that are props of the posture, as sensors of the layout are, '
        'where they were last; separated by commas.',
        live=False,
    )

    @property
    def frames(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.prop_frames.split(',') if name.strip())


@dataclass(frozen=True)
class PerformerConfig(PostureConfig, CalibrationLimits, _Setup):
    """Parameters of the performer node."""


PERFORMER_ROWS = rows_of(PerformerConfig)
