# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The balls of the self-interaction of a puppet that is posed already, to be drawn."""

from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS
from puppet_core.math import copy, Floats, frozen, kernel, pack_arrays, Quats, Vec3, Vec3s
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.thesis.puppet import (
    Pose,
    Puppet,
    puppet_of,
    Settings,
    settings_of,
    update,
)
from puppet_retarget.solvers.thesis.ranges import self_ball

_LIMBS = LIMB_SEGMENTS.ravel()


class Balls(NamedTuple):
    """Where the general end-effectors may be; default arrays are copied when they are packed."""

    centres: Vec3s = frozen(np.zeros((8, 3)))  # in world [m]
    radii: Floats = frozen(np.zeros(8))  # [m]
    importances: Floats = frozen(np.zeros(8))  # 0: no ball


class _Frame(NamedTuple):
    puppet: Puppet
    settings: Settings
    pose: Pose = Pose()
    balls: Balls = Balls()


class SelfBalls:
    """Finds the balls of one puppet, in a world over the performer's by a scale."""

    def __init__(self, character: Character, world_scale: float) -> None:
        self.world_scale = world_scale
        settings = settings_of(SolverConfig(), character, character.skeleton.leg_length)
        self._packed, self._frame = pack_arrays(
            _Frame(puppet_of(character), settings._replace(world_scale=world_scale))
        )

    def step(self, root: Vec3, rotations: Quats, captured: Quats, self_rows: Floats) -> Balls:
        """
        Return the balls, overwritten by the next call.

        Root and trunk are as posed; limbs as `captured`, for that is where the solver finds them.
        """
        pose = self._frame.pose
        pose.root[:], pose.rotations[:] = root, rotations
        pose.rotations[_LIMBS] = captured[_LIMBS]
        fill_balls_packed(self._packed, self_rows)
        return self._frame.balls


@kernel
def fill_balls_packed(packed: np.ndarray, self_rows: Floats) -> None:
    """Fill the balls of a posed puppet; `packed` holds a _Frame."""
    frame = packed[0]
    puppet, settings, pose, balls = frame.puppet, frame.settings, frame.pose, frame.balls
    update(puppet, pose)
    for j in range(8):
        ball = self_ball(puppet, settings, self_rows[j], j, pose)
        copy(ball.centre, balls.centres[j])
        balls.radii[j], balls.importances[j] = ball.outer, ball.importance
