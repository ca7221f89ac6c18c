# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the importance and retarget nodes, as data shared with the offline commands."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, TypeVar

from puppet_core.io import Row, rows_of, setting
from puppet_retarget.importance import ImportanceConfig, SelfInteractionConfig
from puppet_retarget.solvers import SOLVER_NAMES, SolverConfig

Part = TypeVar('Part')
SELF = 'self_'  # before the fields of SelfInteractionConfig in parameter names
COMMAND = 'command_'  # before those of CommandConfig
NO_COMMANDS, TRAJECTORY, POSITIONS = 'none', 'trajectory', 'positions'
ALL_JOINTS = ('all',)


@dataclass(frozen=True, slots=True)
class CommandConfig:
    """Which commands a robot gets; in parameter names after `command_`."""

    type: str = setting(  # noqa: A003
        NO_COMMANDS,
        description="Commands to a robot's controller: a JointTrajectory or Float64MultiArray.",
        choices=(NO_COMMANDS, TRAJECTORY, POSITIONS),
    )
    topic: str = setting(
        '',
        description='Topic of the commands; empty: that of the joint_trajectory_controller or '
        'forward_position_controller.',
    )
    state_topic: str = setting(
        'joint_state_broadcaster/joint_states',
        description="The robot's own joint states; without them nothing is sent.",
    )
    joints: tuple[str, ...] = setting(
        ALL_JOINTS, description="Joints in the controller's order; all: as in the URDF."
    )
    rate_hz: float = setting(1000.0, 'Hz', 10.0, 1000.0, 'Largest number of commands per second.')
    ahead_s: float = setting(
        0.03,
        's',
        0.001,
        1.0,
        'time_from_start of the commands; larger values are smoother and later.',
    )
    start_rad_s: float = setting(
        0.5,
        'rad/s',
        0.01,
        10.0,
        'Largest joint speed while the robot first approaches the puppet.',
    )
    lead_rad: float = setting(
        0.5, 'rad', 0.05, 6.3, 'Largest distance of a command from the actual joint position.'
    )


@dataclass(frozen=True, slots=True)
class RetargetConfig:
    solver: str = setting(
        SOLVER_NAMES[0], description='Solver that poses the puppet.', choices=SOLVER_NAMES
    )
    character: str = setting('blubby', description='Puppet, by name or path of its YAML file.')
    environment: str = setting(
        'floor',
        description='Environment, by name or path of its YAML file; set again to read it again.',
    )
    influence_distances_m: str = setting(
        '',
        'm',
        description='D of individual pairs, replaces that of the environment: '
        'table.left_hand=0.3, stool.hips=0.2.',
    )
    tuning: SolverConfig = SolverConfig()
    performer_leg_length_m: float = setting(
        0.0,
        'm',
        0.0,
        10.0,
        'Leg length of the performer, hip to sole; 0: taken from its messages.',
        live=False,
    )
    hold_after_s: float = setting(
        0.25, 's', 0.01, 10.0, 'Length of an input gap after which the puppet eases back in.'
    )
    ease_s: float = setting(
        0.5,
        's',
        0.0,
        10.0,
        'Duration of the easing; longer if the motion would otherwise be too fast for a body.',
    )
    last_posture_file: str = setting(
        '',
        description='File of the last posture, from which a restarted puppet eases; empty: none.',
        live=False,
    )
    command: CommandConfig = CommandConfig()


_NODE = {row.name: row for row in rows_of(RetargetConfig)}

IMPORTANCE_ROWS = (
    _NODE['environment'],
    _NODE['influence_distances_m'],
    *rows_of(ImportanceConfig),
    *rows_of(SelfInteractionConfig, SELF),
    Row(
        'surface_file',
        '',
        description="Measured points of the performer's surface; empty: an average person.",
    ),
)
SOLVER_ROWS = (
    *(_NODE.pop(name) for name in ('solver', 'character', 'environment', 'influence_distances_m')),
    *rows_of(SolverConfig),
)
RETARGET_ROWS = (*SOLVER_ROWS, *_NODE.values(), *rows_of(CommandConfig, COMMAND))


@dataclass(frozen=True, slots=True)
class ImportanceNodeConfig:
    environment: str  # Name or path of the environment's file
    influence_distances_m: str  # D of single pairs, as `Environment.with_distances` takes them
    tuning: ImportanceConfig
    self_tuning: SelfInteractionConfig
    surface_file: str  # Path of the performer's measured surface; empty is none


def _part(kind: type[Part], values: Mapping[str, Any], prefix: str = '') -> Part:
    """Return a dataclass of the values that are named as its fields are, behind a prefix."""
    names = [f.name for f in fields(kind) if prefix + f.name in values]  # type: ignore[arg-type]
    return kind(**{name: values[prefix + name] for name in names})


# From checked parameter values, as all below.
importance_config = partial(_part, ImportanceConfig)
self_interaction_config = partial(_part, SelfInteractionConfig, prefix=SELF)
solver_config = partial(_part, SolverConfig)


def retarget_config(values: Mapping[str, Any]) -> RetargetConfig:
    command = _part(CommandConfig, values, COMMAND)
    return _part(RetargetConfig, {**values, 'tuning': solver_config(values), 'command': command})


def importance_node_config(values: Mapping[str, Any]) -> ImportanceNodeConfig:
    parts = {'tuning': importance_config(values), 'self_tuning': self_interaction_config(values)}
    return _part(ImportanceNodeConfig, {**values, **parts})
