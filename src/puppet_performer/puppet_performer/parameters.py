# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the performer node, as data, and the frozen config they make."""

from dataclasses import dataclass

from puppet_core.io import Row
from puppet_performer.calibration import CalibrationLimits
from puppet_performer.posture import PostureConfig

_LIMITS = CalibrationLimits()
_POSTURE = PostureConfig()

PERFORMER_ROWS = (
    Row('performer', 'performer', description="The performer's character, by name or path."),
    Row('layout', 'default14', description='Sensor layout, by name or path of its YAML file.'),
    Row(
        'calibration_file',
        '',
        description='Loaded at the start if it exists; calibrations are saved there.',
    ),
    Row(
        'auto_calibrate',
        True,
        description='Without a calibration, wait for a still T-pose and take one.',
    ),
    Row(
        'calibration_duration_s',
        1.0,
        's',
        0.1,
        60.0,
        live=True,
        description='How long the T-pose must be held for automatic calibration.',
    ),
    Row(
        'max_movement_m',
        _LIMITS.max_movement_m,
        'm',
        0.0,
        1.0,
        live=True,
        low_open=True,
        description='Movement of a sensor that refuses a calibration.',
    ),
    Row(
        'max_movement_deg',
        _LIMITS.max_movement_deg,
        'deg',
        0.0,
        90.0,
        live=True,
        low_open=True,
        description='Rotation of a sensor that refuses a calibration.',
    ),
    Row(
        'max_mismatch_m',
        _LIMITS.max_mismatch_m,
        'm',
        0.0,
        2.0,
        live=True,
        low_open=True,
        description='How far a sensor may be from where skeleton and layout expect it.',
    ),
    Row(
        'hold_s',
        _POSTURE.hold_s,
        's',
        0.0,
        60.0,
        live=True,
        description='How long a segment without its sensor keeps its joint rotation.',
    ),
    Row(
        'fade_s',
        _POSTURE.fade_s,
        's',
        0.0,
        60.0,
        live=True,
        description='How long it then takes to go over to the inferred rotation.',
    ),
    Row(
        'return_s',
        _POSTURE.return_s,
        's',
        0.0,
        60.0,
        live=True,
        description='How long a sensor that is there again takes to take over.',
    ),
)


@dataclass(frozen=True, slots=True)
class PerformerConfig:
    """Parameters of the performer node; see PERFORMER_ROWS for meanings and ranges."""

    performer: str = 'performer'
    layout: str = 'default14'
    calibration_file: str = ''
    auto_calibrate: bool = True
    calibration_duration_s: float = 1.0
    max_movement_m: float = _LIMITS.max_movement_m
    max_movement_deg: float = _LIMITS.max_movement_deg
    max_mismatch_m: float = _LIMITS.max_mismatch_m
    hold_s: float = _POSTURE.hold_s
    fade_s: float = _POSTURE.fade_s
    return_s: float = _POSTURE.return_s

    @property
    def limits(self) -> CalibrationLimits:
        """Return what refuses a calibration."""
        return CalibrationLimits(self.max_movement_m, self.max_movement_deg, self.max_mismatch_m)

    @property
    def posture(self) -> PostureConfig:
        """How the posture behaves while sensors come and go."""
        return PostureConfig(self.hold_s, self.fade_s, self.return_s)
