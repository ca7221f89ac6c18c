# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the procedural performer does, when and where: footsteps and moments, no postures yet.

T-pose, a turn to the left, a walk to a table, the hands on the table, a turn round, the walk
back, a turn, claps, a squat, a jump, and the T-pose again, for ever. The table's place is
fixed in world; config/environments/demo.yaml repeats it.
"""

from dataclasses import dataclass, field

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, Skeleton
from puppet_core.math import Vec3

ADULT_LEG_LENGTH_M = 0.928  # lengths of the plan are given for such legs and scale with them
START_XY_M = (1.0, -1.5)  # in front of a transmitter at the origin
WALK_M = 3.0
TABLE_CENTRE_M = (1.0, 2.06, 0.375)
TABLE_SIZE_M = (1.2, 0.6, 0.75)
TABLE_TOP_M = TABLE_CENTRE_M[2] + 0.5 * TABLE_SIZE_M[2]

STEP_M = 0.60
STEP_S = 0.54
TURN_STEP_S = 0.52
TURN_PER_STEP = np.pi / 4.0
SWING_OVERLAP = 0.2  # of a step: the heel rises while the other foot is landing
WALKING_WIDTH = 0.7  # of the feet's distance in the T-pose
LEFT, RIGHT = 0, 1

LOWER_ARMS_S = 1.3
REACH_S = 7.0
CLAP_S = 4.2
SQUAT_S = 3.6
JUMP_S = 3.2
RAISE_ARMS_S = 1.5
PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Step:
    """One foot leaves the floor, swings, and is planted again."""

    foot: int  # LEFT or RIGHT
    lift_s: float  # When the heel begins to rise [s]
    land_s: float  # When the sole is flat again [s]
    sole: Vec3  # Where the sole's centre comes to rest, z = 0 [m]
    yaw: float  # Heading of the foot there [rad]


@dataclass(slots=True)
class Plan:
    """Footsteps and the starts of what is done between them."""

    leg_scale: float  # Size of the legs over an adult's
    soles: Vec3  # Both soles relative to the point below the pelvis, heading 0, shape (2, 3) [m]
    duration_s: float = 0.0  # Length of one pass [s]
    steps: list[Step] = field(default_factory=list)  # In order of time
    starts_s: dict[str, float] = field(default_factory=dict)  # When each activity begins [s]
    # Where the performer stands at the end of the plan so far [m]
    place: Vec3 = field(default_factory=lambda: np.array([*START_XY_M, 0.0]))
    yaw: float = 0.0  # Where it faces [rad]

    def stay(self, activity: str, duration_s: float) -> None:
        """Do something on the spot."""
        self.starts_s[activity] = self.duration_s
        self.duration_s += duration_s

    def walk(self, distance: float) -> None:
        """Walk straight ahead and bring the feet together."""
        n_steps = max(round(distance / (STEP_M * self.leg_scale)), 1)
        start = self.place
        step_s = STEP_S * np.sqrt(self.leg_scale)
        first = RIGHT if not self.steps else 1 - self.steps[-1].foot
        for k in range(1, n_steps + 2):
            forward = distance * min(k, n_steps) / n_steps
            ahead = turned(np.array([forward, 0.0, 0.0]), self.yaw)
            width = WALKING_WIDTH if k < n_steps else 1.0
            self._step((first + k - 1) % 2, start + ahead, self.yaw, step_s, width)
        self.place = start + ahead

    def turn(self, angle: float) -> None:
        """Turn on the spot, to the left if positive, the inner foot first."""
        n_steps = max(round(abs(angle) / TURN_PER_STEP), 1)
        inner = LEFT if angle > 0.0 else RIGHT
        step_s = TURN_STEP_S * np.sqrt(self.leg_scale)
        for k in range(1, n_steps + 2):
            yaw = self.yaw + angle * min(k, n_steps) / n_steps
            self._step((inner + k - 1) % 2, self.place, yaw, step_s, 1.0)
        self.yaw += angle

    def _step(self, foot: int, place: Vec3, yaw: float, step_s: float, width: float) -> None:
        lift_s = self.duration_s - SWING_OVERLAP * step_s
        self.duration_s += step_s
        sole = place + turned(self.soles[foot] * (1.0, width, 1.0), yaw)
        self.steps.append(Step(foot, lift_s, self.duration_s, sole, yaw))


def turned(vector: Vec3, yaw: float) -> Vec3:
    """Return a vector (3,) turned about the vertical."""
    x, y, z = vector
    cosine, sine = np.cos(yaw), np.sin(yaw)
    return np.array([cosine * x - sine * y, sine * x + cosine * y, z])


def make_plan(skeleton: Skeleton, t_pose_s: float) -> Plan:
    """Return the performance for a body, beginning with a T-pose of `t_pose_s`."""
    ankles = skeleton.rest_positions()[LIMB_SEGMENTS[2:, 2]]
    soles = (ankles + skeleton.interaction_points[2:]) * (1.0, 1.0, 0.0)
    plan = Plan(skeleton.leg_length / ADULT_LEG_LENGTH_M, soles)
    plan.stay('t_pose', t_pose_s)
    plan.stay('lower_arms', LOWER_ARMS_S)
    plan.stay('pause', PAUSE_S)
    plan.turn(np.pi / 2.0)
    plan.walk(WALK_M)
    plan.stay('reach', REACH_S)
    plan.turn(-np.pi)
    plan.walk(WALK_M)
    plan.turn(np.pi / 2.0)
    plan.stay('clap', CLAP_S)
    plan.stay('squat', SQUAT_S)
    plan.stay('jump', JUMP_S)
    plan.stay('raise_arms', RAISE_ARMS_S)
    return plan
