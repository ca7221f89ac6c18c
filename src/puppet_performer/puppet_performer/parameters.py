# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the performer node, as data, and the frozen config they make."""

from dataclasses import dataclass
from typing import Any

from puppet_core.io import rows_of, setting
from puppet_performer.calibration import CalibrationLimits
from puppet_performer.posture import PostureConfig

_LIMITS = CalibrationLimits()
_POSTURE = PostureConfig()


def _limit(default: float, unit: str, high: float, description: str) -> Any:
    return setting(default, unit, 0.0, high, description, low_open=True)


def _span(default: float, description: str) -> Any:
    return setting(default, 's', 0.0, 60.0, description)


@dataclass(frozen=True, slots=True)
class PerformerConfig:
    """Parameters of the performer node."""

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
    max_movement_m: float = _limit(
        _LIMITS.max_movement_m, 'm', 1.0, 'Movement of a sensor that refuses a calibration.'
    )
    max_movement_deg: float = _limit(
        _LIMITS.max_movement_deg, 'deg', 90.0, 'Rotation of a sensor that refuses a calibration.'
    )
    max_mismatch_m: float = _limit(
        _LIMITS.max_mismatch_m,
        'm',
        2.0,
        'How far a sensor may be from where skeleton and layout expect it.',
    )
    hold_s: float = _span(
        _POSTURE.hold_s, 'How long a segment without its sensor keeps its joint rotation.'
    )
    fade_s: float = _span(
        _POSTURE.fade_s, 'How long it then takes to go over to the inferred rotation.'
    )
    return_s: float = _span(
        _POSTURE.return_s, 'How long a sensor that is there again takes to take over.'
    )

    @property
    def limits(self) -> CalibrationLimits:
        """Return what refuses a calibration."""
        return CalibrationLimits(self.max_movement_m, self.max_movement_deg, self.max_mismatch_m)

    @property
    def posture(self) -> PostureConfig:
        """How the posture behaves while sensors come and go."""
        return PostureConfig(self.hold_s, self.fade_s, self.return_s)


PERFORMER_ROWS = rows_of(PerformerConfig)
