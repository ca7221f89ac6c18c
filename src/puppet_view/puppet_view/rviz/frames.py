# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The TF frames of a body: the links of its URDF under a prefix, the pelvis below the world."""

from typing import Any

import numpy as np
from puppet_core.body import (
    ContinuousEuler,
    N_SEGMENTS,
    PARENTS,
    Robot,
    SEGMENTS,
    world_orientations,
)
from puppet_core.math import Floats, Quat, quaternions, Quats, Vec3, Vec3s
from puppet_core.robots import link_chain, LinkKinematics
from puppet_ros.messages import angles_of, PostureRecord, TransformsWriter
from puppet_ros.node import RateLimit
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

WORLD, PELVIS = 'world', SEGMENTS[0]
LINKS_PER_SEGMENT = 3  # after the z, the y and the x joint
IDLE_RATE_HZ = 1.0  # of looking at a stream that nobody wants to see


class LinkFrames:
    def __init__(self, prefix: str, world: str = WORLD) -> None:
        """Take what is put before every link's name, as in 'puppet/', and the frame above."""
        frames = [(world, prefix + PELVIS)]
        for segment, parent in zip(SEGMENTS[1:], PARENTS[1:]):
            chain = [SEGMENTS[parent], *link_chain(segment)]
            frames += [(prefix + above, prefix + link) for above, link in zip(chain, chain[1:])]
        self.frames = tuple(frames)  # parent and child of each transform, 46 of them
        self._split = ContinuousEuler()

    def step(self, root: Vec3, rotations: Quats, segments: Vec3s) -> tuple[Vec3s, Quats]:
        """Return places and turns of `frames`, (46, 3) [m] and (46, 4), for joints in world."""
        positions, turns = np.zeros((len(self.frames), 3)), np.zeros((len(self.frames), 4))
        positions[0], turns[0] = root, rotations[0]
        above = quaternions.conjugate(world_orientations(rotations)[PARENTS[1:]])
        offsets = segments[1:] - segments[PARENTS[1:]]
        positions[1::LINKS_PER_SEGMENT] = quaternions.rotate(above, offsets)
        half = 0.5 * self._split.step(rotations).reshape(N_SEGMENTS - 1, LINKS_PER_SEGMENT)
        links = turns[1:].reshape(*half.shape, 4)
        links[..., 0] = np.cos(half)
        links[:, [0, 1, 2], [3, 2, 1]] = np.sin(half)
        return positions, turns


class RobotFrames:
    def __init__(self, robot: Robot, prefix: str, world: str = WORLD) -> None:
        """Take the robot, and prefix and world as LinkFrames does."""
        self._kinematics = LinkKinematics(robot.urdf_path, robot.urdf, robot.published_names)
        links, above = self._kinematics.links, self._kinematics.parents[1:]
        tops = [prefix + links[0]]
        if PELVIS not in links:
            tops.insert(0, prefix + PELVIS)
        below = ((prefix + links[i], prefix + link) for i, link in zip(above, links[1:]))
        self.frames = (*zip((world, *tops), tops), *below)
        """Parent and child of each transform."""
        self._n_tops = len(tops)
        self._facing = robot.facing
        self._pelvis = robot.pelvis or links[0]
        self._positions: Vec3s = np.zeros((len(self.frames), 3))
        self._positions[self._n_tops :] = self._kinematics.places
        self._quaternions: Quats = np.tile([1.0, 0.0, 0.0, 0.0], (len(self.frames), 1))
        self._quaternions[self._n_tops :] = self._kinematics.turns(
            np.zeros(len(robot.published_names))
        )
        tops_move = [True, self._pelvis != links[0]][: self._n_tops]
        self.moves = np.concatenate((tops_move, self._kinematics.sources >= 0))
        """Which transforms change at all, shape (n,)."""
        self._place_root(np.zeros(3), self._quaternions[0])

    def named(self, moves: bool) -> list[tuple[str, str]]:
        """Return parent and child of the transforms that change, or of those that never do."""
        return [self.frames[i] for i in np.flatnonzero(self.moves == moves)]

    def fixed(self) -> tuple[Vec3s, Quats]:
        """Return the transforms that never change, in the order of `named(False)`."""
        return self._positions[~self.moves], self._quaternions[~self.moves]

    def step(self, root: Vec3, q_root: Quat, angles: Floats) -> tuple[Vec3s, Quats]:
        """
        Return the transforms of the next posture, (n, 3) [m] and (n, 4), overwritten by the next.

        `root` and `q_root` are the pelvis in world [m]; `angles`, shape (n,), are in the order of
        the robot's `published_names` [rad].
        """
        self._quaternions[self._n_tops :] = self._kinematics.turns(angles)
        self._place_root(root, q_root)
        return self._positions, self._quaternions

    def _place_root(self, root: Vec3, q_root: Quat) -> None:
        """Write where the pelvis is in world, and the root link in it or in its place."""
        turns, top = self._quaternions[self._n_tops :], self._n_tops - 1
        place, turn = np.zeros(3), self._facing
        if top == 0:
            place, turn = root, quaternions.multiply(q_root, turn)
        else:
            self._positions[0], self._quaternions[0] = root, q_root
        found = self._kinematics.root_pose(self._pelvis, place, turn, turns)
        self._positions[top], self._quaternions[top] = found


class BodyView:
    """The frames of one body as messages, and when they are due."""

    def __init__(self, prefix: str, world: str) -> None:
        self.prefix, self.world = prefix, world  # of the frames' names, as in 'puppet/', and above
        self.limit = RateLimit(0.0)
        self.idle_limit = RateLimit(IDLE_RATE_HZ)
        self.leg_length, self.body = 0.0, ''
        """Of the last posture, [m] and its name; 0 and '' before the first."""
        self._segments = LinkFrames(prefix, world)
        self.become(None)

    def become(self, robot: Robot | None) -> None:
        self.robot = robot
        self._links = None if robot is None else RobotFrames(robot, self.prefix, self.world)
        moving = self._segments.frames if self._links is None else self._links.named(True)
        self._writer = TransformsWriter(moving)

    def transforms(self, record: PostureRecord, joints: JointState | None) -> TFMessage | None:
        """Return the moving frames of a posture; None for joints that are not the robot's."""
        posture = record.posture
        if self.robot is None or self._links is None:
            steps = self._segments.step(posture.root_position, posture.rotations, record.segments)
            return self._writer.fill(record.stamp_ns, *steps)
        angles = None if joints is None else angles_of(joints, self.robot.published_names)
        if angles is None:
            return None
        moves = self._links.moves
        places, turns = self._links.step(posture.root_position, posture.rotations[0], angles)
        return self._writer.fill(record.stamp_ns, places[moves], turns[moves])

    def fixed_transforms(self, stamp_ns: int) -> list[Any]:
        """Return the frames of a robot that do not move."""
        if self._links is None:
            return []
        writer = TransformsWriter(self._links.named(False))
        return list(writer.fill(stamp_ns, *self._links.fixed()).transforms)
