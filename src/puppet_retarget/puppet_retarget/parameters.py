# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the importance and retarget nodes, as data shared with the offline commands."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from puppet_core.io import Row
from puppet_retarget.importance import ImportanceConfig, SelfInteractionConfig
from puppet_retarget.solvers import ROOT_FORMS, SOLVER_NAMES, SolverConfig

AS_PRINTED = 'as_printed'
PRESETS = ('default', AS_PRINTED)
SELF = 'self_'  # before the fields of SelfInteractionConfig in parameter names
_IMPORTANCE = ImportanceConfig()
_SELF = SelfInteractionConfig()
_SOLVER = SolverConfig()

IMPORTANCE_ROWS = (
    Row('environment', 'floor', description='Environment, by name or path of its YAML file.'),
    Row(
        'preset',
        'default',
        choices=PRESETS,
        live=True,
        description='as_printed takes the formulas of the thesis as they stand there.',
    ),
    Row(
        'prediction_s',
        _IMPORTANCE.prediction_s,
        's',
        0.0,
        1.0,
        live=True,
        description='lambda: how far ahead distances are extrapolated, Shin2002 eq. 4.2.',
    ),
    Row(
        'influence_distance_m',
        _IMPORTANCE.influence_distance_m,
        'm',
        0.0,
        10.0,
        live=True,
        low_open=True,
        description='D where the environment file gives none, Shin2002 eq. 4.3.',
    ),
    Row(
        'contact_margin_m',
        _IMPORTANCE.contact_margin_m,
        'm',
        0.0,
        0.5,
        live=True,
        description='Distance that counts as contact where the file gives none.',
    ),
    Row(
        'smoothing_s',
        _IMPORTANCE.smoothing_s,
        's',
        0.0,
        1.0,
        live=True,
        description='Time constant of the importance follower; 0 is none.',
    ),
    Row(
        'self_prediction_s',
        _SELF.prediction_s,
        's',
        0.0,
        1.0,
        live=True,
        description="lambda for distances from the performer's own body, eq. 4.2.",
    ),
    Row(
        'self_hand_influence_m',
        _SELF.hand_influence_m,
        'm',
        0.0,
        1.0,
        live=True,
        low_open=True,
        description='D of the palms from the own torso and legs, eq. 4.3.',
    ),
    Row(
        'self_gesture_influence_m',
        _SELF.gesture_influence_m,
        'm',
        0.0,
        1.0,
        live=True,
        low_open=True,
        description='D of the palms from the own head and other arm, eq. 4.3.',
    ),
    Row(
        'self_elbow_influence_m',
        _SELF.elbow_influence_m,
        'm',
        0.0,
        1.0,
        live=True,
        low_open=True,
        description='D of the elbows from the own body, eq. 4.3.',
    ),
    Row(
        'self_foot_influence_m',
        _SELF.foot_influence_m,
        'm',
        0.0,
        1.0,
        live=True,
        low_open=True,
        description='D of soles and knees from the own body, eq. 4.3.',
    ),
    Row(
        'self_hand_margin_m',
        _SELF.hand_margin_m,
        'm',
        0.0,
        0.5,
        live=True,
        description='Distance of palms from the own body that counts as contact.',
    ),
    Row(
        'self_elbow_margin_m',
        _SELF.elbow_margin_m,
        'm',
        0.0,
        0.5,
        live=True,
        description='Distance of elbows from the own body that counts as contact.',
    ),
    Row(
        'self_foot_margin_m',
        _SELF.foot_margin_m,
        'm',
        0.0,
        0.5,
        live=True,
        description='Distance of soles and knees from the own body that counts as contact.',
    ),
    Row(
        'self_foot_passing_s',
        _SELF.foot_passing_s,
        's',
        0.0,
        1.0,
        live=True,
        description='Distance added for soles and knees per speed along what they pass by.',
    ),
    Row(
        'self_smoothing_s',
        _SELF.smoothing_s,
        's',
        0.0,
        1.0,
        live=True,
        description='Time constant of the follower of the self-interaction; 0 is none.',
    ),
    Row(
        'self_samples_only',
        _SELF.samples_only,
        live=True,
        description='Distances to the nearest sample point, as printed, not to the surface.',
    ),
    Row(
        'surface_file',
        '',
        description="Measured points of the performer's surface; none: an ordinary person's.",
    ),
)

SOLVER_ROWS = (
    Row(
        'solver',
        'importance_based',
        choices=SOLVER_NAMES,
        live=True,
        description='How the puppet is posed.',
    ),
    Row('character', 'blubby', live=True, description='Puppet, by name or path of its YAML file.'),
    Row('environment', 'floor', description='Environment, by name or path of its YAML file.'),
    Row(
        'preset',
        'default',
        choices=PRESETS,
        live=True,
        description='as_printed takes the formulas of the thesis as they stand there.',
    ),
    Row(
        'root_form',
        _SOLVER.root_form,
        choices=ROOT_FORMS,
        live=True,
        description='Offset of the root before it goes into reach of the goals.',
    ),
    Row(
        'root_softness',
        _SOLVER.root_softness,
        '-',
        0.0,
        0.9,
        live=True,
        description="Share of a limb's reach over which its sideways pull on the root sets in.",
    ),
    Row(
        'root_smoothing_s',
        _SOLVER.root_smoothing_s,
        's',
        0.0,
        1.0,
        live=True,
        description="Time constant with which the root's added offset settles.",
    ),
    Row(
        'stretch_limit',
        _SOLVER.stretch_limit,
        '-',
        0.5,
        1.0,
        live=True,
        description="Share of a limb's length within which goals count as reachable.",
    ),
    Row(
        'root_height_ratio',
        _SOLVER.root_height_ratio,
        '-',
        0.0,
        100.0,
        live=True,
        description="Reference root height over the performer's; 0 is the character's own.",
    ),
    Row(
        'eased_blend',
        _SOLVER.eased_blend,
        live=True,
        description='Blend captured and solved rotations by an ease of w instead of w, eq. 5.14.',
    ),
    Row(
        'posture_weight',
        _SOLVER.posture_weight,
        '-',
        0.0,
        100.0,
        live=True,
        low_open=True,
        description='alpha of Shin2002 eq. 5.3.',
    ),
    Row(
        'orientation_weight',
        _SOLVER.orientation_weight,
        '-',
        0.0,
        100.0,
        live=True,
        low_open=True,
        description='beta of Shin2002 eq. 5.5.',
    ),
    Row(
        'position_weight',
        _SOLVER.position_weight,
        '-',
        0.0,
        100.0,
        live=True,
        low_open=True,
        description='gamma of Shin2002 eq. 5.5.',
    ),
    Row(
        'max_iterations',
        _SOLVER.max_iterations,
        '-',
        0,
        200,
        live=True,
        description='Cap of the body minimiser.',
    ),
    Row(
        'torso_segments',
        _SOLVER.torso_segments,
        '-',
        1,
        2,
        live=True,
        description='Parts that the body minimiser bends the torso in: 2 are spine and chest.',
    ),
    Row(
        'self_push_out',
        _SOLVER.self_push_out,
        live=True,
        description="Whether palms, soles, elbows and knees leave the puppet's own body.",
    ),
)

RETARGET_ROWS = SOLVER_ROWS + (
    Row(
        'performer_leg_length_m',
        0.0,
        'm',
        0.0,
        10.0,
        description='Hip to sole of the performer; 0 takes it from the posture messages.',
    ),
    Row(
        'hold_after_s',
        0.25,
        's',
        0.01,
        10.0,
        live=True,
        description='A gap in the input after which the puppet eases back instead of jumping.',
    ),
    Row(
        'ease_s',
        0.5,
        's',
        0.0,
        10.0,
        live=True,
        description='How long the easing takes; longer where it would be faster than a body, '
        'shorter after a late frame.',
    ),
    Row(
        'last_posture_file',
        '',
        description='Where the last posture is kept, for a restart to ease from; empty: nowhere.',
    ),
)


@dataclass(frozen=True, slots=True)
class RetargetConfig:
    """Parameters of the retarget node; see RETARGET_ROWS."""

    solver: str = 'importance_based'
    """Name of the solver."""

    character: str = 'blubby'
    """Name or path of the puppet's file."""

    environment: str = 'floor'
    """Name or path of the environment's file."""

    tuning: SolverConfig = SolverConfig()
    """Tuning of the solver."""

    performer_leg_length_m: float = 0.0
    """Overrides the messages' where > 0."""

    hold_after_s: float = 0.25
    """Gap after which the puppet blends back."""

    ease_s: float = 0.5
    """Duration of the blend."""

    last_posture_file: str = ''
    """Where the last posture is kept; empty is nowhere."""


@dataclass(frozen=True, slots=True)
class ImportanceNodeConfig:
    """Parameters of the importance node; see IMPORTANCE_ROWS."""

    environment: str
    """Name or path of the environment's file."""

    tuning: ImportanceConfig
    """Tuning of the importance."""

    self_tuning: SelfInteractionConfig
    """Tuning of the self-interaction."""

    surface_file: str
    """Path of the performer's measured surface; empty is none."""


def retarget_config(values: Mapping[str, Any]) -> RetargetConfig:
    """Return the retarget node's config from checked parameter values."""
    own = {name: values[name] for name in RetargetConfig.__dataclass_fields__ if name in values}
    return RetargetConfig(tuning=solver_config(values), **own)


def importance_node_config(values: Mapping[str, Any]) -> ImportanceNodeConfig:
    """Return the importance node's config from checked parameter values."""
    return ImportanceNodeConfig(
        values['environment'],
        importance_config(values),
        self_interaction_config(values),
        values['surface_file'],
    )


def importance_config(values: Mapping[str, Any]) -> ImportanceConfig:
    """Return the importance's tuning from checked parameter values."""
    if values['preset'] == AS_PRINTED:
        # Shin2002 ch. 4 has neither smoothing nor margin; lambda is that of fig. 4.3
        return ImportanceConfig(0.15, values['influence_distance_m'], 0.0, 0.0)
    return ImportanceConfig(
        values['prediction_s'],
        values['influence_distance_m'],
        values['contact_margin_m'],
        values['smoothing_s'],
    )


def self_interaction_config(values: Mapping[str, Any]) -> SelfInteractionConfig:
    """Return the self-interaction's tuning from checked parameter values."""
    names = SelfInteractionConfig.__dataclass_fields__
    config = SelfInteractionConfig(**{name: values[SELF + name] for name in names})
    if values['preset'] == AS_PRINTED:
        return replace(config, foot_passing_s=0.0, smoothing_s=0.0, samples_only=True)
    return config


def solver_config(values: Mapping[str, Any]) -> SolverConfig:
    """Return the solver's tuning from checked parameter values."""
    names = SolverConfig.__dataclass_fields__
    config = SolverConfig(**{name: values[name] for name in names})
    if values['preset'] == AS_PRINTED:
        return replace(
            config,
            root_form='mean_as_printed',
            root_softness=0.0,
            root_smoothing_s=0.0,
            root_height_ratio=1.0,
            eased_blend=False,
            self_push_out=False,
        )
    return config
