# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What every peer of the bench shares: targets in, a posture out, and our measures of it.

A peer is a way of others to give a motion to another body. It takes positions and orientations
and knows neither importance nor environment. Targets are made as those of Araujo2025: positions
relative to the pelvis, each scaled by a ratio of its body. To those that run and measure it, a
peer is a solver like ours.
"""

from abc import abstractmethod
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
from puppet_core.body import end_effector_positions, forward_kinematics, LIMB_SEGMENTS, Skeleton
from puppet_core.math import Floats, Quats, values, Vec3, Vec3s
from puppet_retarget.offline import RetargetJob
from puppet_retarget.solvers import (
    ImportanceBasedSolver,
    Performer,
    pose_captured_packed,
    repose_packed,
)

ENDS = LIMB_SEGMENTS[:, 2]  # hands and feet
FEET = ENDS[2:]


class Targets(NamedTuple):
    """Where a peer is to bring the puppet's segments."""

    positions: Vec3s
    """Joints, but the palm and sole centres of hands and feet, in world, (16, 3) [m]."""

    orientations: Quats
    """Segments in world, shape (16, 4)."""

    rotations: Quats
    """The captured joint rotations, shape (16, 4)."""

    captured_root: Vec3
    """The performer's pelvis in world, (3,) [m]."""

    rows: Floats
    """Importance rows, shape (4, 8)."""

    dt: float
    """Time since the frame before, infinite for the first [s]."""


class PeerSolver(ImportanceBasedSolver):
    """Gives a peer its targets, keeps the time it takes, and measures the outcome."""

    name = ''

    def __init__(self, job: RetargetJob, performer: Skeleton) -> None:
        super().__init__(job.character, job.environment, performer.leg_length, job.tuning)
        self._performer = performer
        self._world_scale = job.character.scale_for(performer.leg_length)
        self._ratios = segment_ratios(job.character.skeleton, performer)
        self._q_world, self._p_world = np.empty((16, 4)), np.empty((16, 3))
        self._points = np.empty((8, 3))
        self.times_us: list[float] = []
        """Time of the peer alone in each call so far [us]."""

    @abstractmethod
    def pose(self, targets: Targets) -> tuple[Vec3, Quats]:
        """Return root (3,) [m] and joint rotations (16, 4); all that is timed."""

    def _run(
        self, captured: Performer, rows: Floats, self_rows: Floats, dt: float
    ) -> tuple[values.Vec3, int, bool]:
        """Neither gaze, nor what moves, nor what rests is kept."""
        root, rotations = np.array(captured.root), captured.rotations
        pose_captured_packed(self._packed, captured, rows)
        output = self._output
        positions = self._target_positions(root, rotations)
        targets = Targets(positions, output.q_world.copy(), rotations, root, rows[:4], dt)
        start = perf_counter_ns()
        found_root, found = self.pose(targets)
        self.times_us.append((perf_counter_ns() - start) * 1e-3)
        output.root_position[:] = found_root
        # of the two quaternions of each rotation the captured one's neighbour
        sides = np.where(np.sum(found * rotations, axis=1) < 0.0, -1.0, 1.0)
        output.rotations[:] = sides[:, None] * found
        repose_packed(self._packed, rows)
        return (0.0, 0.0, 0.0), 0, True

    def _target_positions(self, root: Vec3, rotations: Quats) -> Vec3s:
        """
        Return the performer's positions, scaled about the pelvis, shape (16, 3) [m].

        The pelvis is where our solvers begin, too. Soles are scaled with the world, which is the
        same as about the pelvis where the world's scale is that of the legs.
        """
        performer = self._performer
        forward_kinematics(performer.offsets, root, rotations, self._q_world, self._p_world)
        end_effector_positions(
            performer.interaction_points, self._q_world, self._p_world, self._points
        )
        captured = self._p_world.copy()
        captured[ENDS] = self._points[:4]
        positions = self._output.root_position + self._ratios[:, None] * (captured - root)
        positions[FEET] = self._world_scale * self._points[2:4]
        return positions


def segment_ratios(puppet: Skeleton, performer: Skeleton) -> Floats:
    """
    Return how far each target is from the pelvis at rest, puppet over performer, shape (16,).

    Stands for the scales that Araujo2025 has tuned by hand for each robot.
    """
    distances = [np.linalg.norm(_rest_targets(body), axis=1) for body in (puppet, performer)]
    ratios = np.ones(16)
    np.divide(distances[0], distances[1], out=ratios, where=distances[1] > 0.0)
    return ratios


def _rest_targets(skeleton: Skeleton) -> Vec3s:
    positions = skeleton.rest_positions()
    positions[ENDS] += skeleton.interaction_points
    return positions
