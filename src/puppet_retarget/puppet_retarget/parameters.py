# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the importance and retarget nodes, as data shared with the offline commands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from puppet_core.io import Row, rows_of, setting
from puppet_retarget.importance import ImportanceConfig, SelfInteractionConfig
from puppet_retarget.solvers import SOLVER_NAMES, SolverConfig

SELF = 'self_'  # before the fields of SelfInteractionConfig in parameter names


@dataclass(frozen=True, slots=True)
class RetargetConfig:
    """Parameters of the retarget node; see RETARGET_ROWS."""

    solver: str = setting(
        'importance_based', description='How the puppet is posed.', choices=SOLVER_NAMES
    )
    character: str = setting('blubby', description='Puppet, by name or path of its YAML file.')
    environment: str = setting(
        'floor', description='Environment, by name or path of its YAML file.', live=False
    )
    tuning: SolverConfig = SolverConfig()
    performer_leg_length_m: float = setting(
        0.0,
        'm',
        0.0,
        10.0,
        'Hip to sole of the performer; 0 takes it from the posture messages.',
        live=False,
    )
    hold_after_s: float = setting(
        0.25,
        's',
        0.01,
        10.0,
        'A gap in the input after which the puppet eases back instead of jumping.',
    )
    ease_s: float = setting(
        0.5,
        's',
        0.0,
        10.0,
        'How long the easing takes; longer where it would be faster than a body, '
        'shorter after a late frame.',
    )
    last_posture_file: str = setting(
        '',
        description='Where the last posture is kept, for a restart to ease from; empty: nowhere.',
        live=False,
    )


_NODE = {row.name: row for row in rows_of(RetargetConfig)}

IMPORTANCE_ROWS = (
    _NODE['environment'],
    *rows_of(ImportanceConfig),
    *rows_of(SelfInteractionConfig, SELF),
    Row(
        'surface_file',
        '',
        description="Measured points of the performer's surface; none: an ordinary person's.",
    ),
)
SOLVER_ROWS = (
    *(_NODE.pop(name) for name in ('solver', 'character', 'environment')),
    *rows_of(SolverConfig),
)
RETARGET_ROWS = (*SOLVER_ROWS, *_NODE.values())


@dataclass(frozen=True, slots=True)
class ImportanceNodeConfig:
    """Parameters of the importance node; see IMPORTANCE_ROWS."""

    environment: str  # Name or path of the environment's file
    tuning: ImportanceConfig
    self_tuning: SelfInteractionConfig
    surface_file: str  # Path of the performer's measured surface; empty is none


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
    return ImportanceConfig(
        **{name: values[name] for name in ImportanceConfig.__dataclass_fields__}
    )


def self_interaction_config(values: Mapping[str, Any]) -> SelfInteractionConfig:
    """Return the self-interaction's tuning from checked parameter values."""
    names = SelfInteractionConfig.__dataclass_fields__
    return SelfInteractionConfig(**{name: values[SELF + name] for name in names})


def solver_config(values: Mapping[str, Any]) -> SolverConfig:
    """Return the solver's tuning from checked parameter values."""
    names = SolverConfig.__dataclass_fields__
    return SolverConfig(**{name: values[name] for name in names})
