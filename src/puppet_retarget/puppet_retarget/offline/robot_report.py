# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a robot leaves undone of a motion: its posture beside the one that the solver asks for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from puppet_core import quaternion_batch as qb
from puppet_core.arrays import Floats
from puppet_core.errors import ConfigError
from puppet_core.posture import Motion
from puppet_core.skeleton import LIMB_SEGMENTS
from puppet_retarget.offline.bench_table import number, table
from puppet_retarget.offline.clip_retarget import retarget_motion, RetargetJob

HANDS, FEET = LIMB_SEGMENTS[:2, 2], LIMB_SEGMENTS[2:, 2]
PARTS = ('palms', 'elbows', 'soles', 'knees')
_POINTS = {'palms': [0, 1], 'soles': [2, 3], 'elbows': [4, 5], 'knees': [6, 7]}


@dataclass(frozen=True, slots=True)
class RobotFigures:
    """One motion, frame by frame and side by side."""

    name: str
    """Of the motion."""

    away_m: dict[str, Floats]
    """Distance of each of PARTS from where it was asked for, each of shape (frames, 2) [m]."""

    hands_rad: Floats
    """Turn of the hands against the one asked for, shape (frames, 2) [rad]."""

    feet_rad: Floats
    """Likewise of the feet [rad]."""

    rates: Floats
    """Greatest speed of each joint, shape (joints,) [rad/s]."""

    n_violations: int
    """Angles outside of their limits."""


def robot_figures(name: str, motion: Motion, job: RetargetJob) -> RobotFigures:
    """
    Let a robot follow a motion, and compare it with the same body without a robot's joints.

    Raises
    ------
    ConfigError : if the job's character is no robot.

    """
    robot = job.character.robot
    if robot is None:
        raise ConfigError(f'{job.character.name}: expected a robot, got another character')
    done = retarget_motion(motion, job)
    asked = retarget_motion(motion, replace(job, character=replace(job.character, robot=None)))
    away = np.linalg.norm(done.puppet.end_effectors - asked.puppet.end_effectors, axis=2)
    turned = np.linalg.norm(
        qb.log(qb.multiply(qb.conjugate(asked.q_world), done.q_world)), axis=2
    )
    angles = done.robot_angles[:, : len(robot.names)]
    steps = np.abs(np.diff(angles, axis=0)) if len(angles) > 1 else np.zeros((1, len(robot.names)))
    return RobotFigures(
        name,
        {part: away[:, _POINTS[part]] for part in PARTS},
        turned[:, HANDS],
        turned[:, FEET],
        steps.max(axis=0) * motion.rate_hz,
        int(np.count_nonzero((angles < robot.lower) | (angles > robot.upper))),
    )


def robot_table(figures: Sequence[RobotFigures]) -> str:
    """Return figures of motions as a Markdown table, medians and greatest values."""
    head = ['motion', 'palms, mm', 'hands turned, deg', 'elbows, mm', 'soles, mm',
            'feet turned, deg', 'knees, mm', 'fastest joint, rad/s',
            'limits violated']  # fmt: skip
    return table(head, [_cells(one) for one in figures])


def _cells(one: RobotFigures) -> list[str]:
    mm = {part: 1e3 * values for part, values in one.away_m.items()}
    return [
        one.name,
        _pair(mm['palms'], 1),
        _pair(np.degrees(one.hands_rad), 0),
        _pair(mm['elbows'], 0),
        _pair(mm['soles'], 2),
        _pair(np.degrees(one.feet_rad), 1),
        _pair(mm['knees'], 0),
        number(float(one.rates.max()), 0),
        str(one.n_violations),
    ]


def _pair(values: Floats, digits: int) -> str:
    return f'{number(float(np.median(values)), digits)} / {number(float(values.max()), digits)}'
