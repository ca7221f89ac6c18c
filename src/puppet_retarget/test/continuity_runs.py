# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Smooth inputs for whole solvers at two rates, and the speeds of what comes out.

A jump of a millimetre would be 12 m/s at the higher rate; so the speed that is seen there must
be bounded, and not be much above that at 120 Hz.
"""

from typing import NamedTuple

import numpy as np
from puppet_core.body.posture import general_end_effectors, world_segments
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quats, Vec3s
from puppet_retarget.importance.environment import Environment
from puppet_retarget.importance.estimator import GOAL, RADIUS, ROW
from puppet_retarget.importance.self_interaction import SELF_ROW
from puppet_retarget.solvers.whole_body import WholeBodySolver

LOW_HZ, HIGH_HZ = 120.0, 12_000.0
DURATION_S = 0.5
SIDES = (('left', 1.0), ('right', -1.0))
RANGE_M = 0.6  # radius of a range ball without importance
ROUNDING = 1e-9  # [m], [rad]


class Speeds(NamedTuple):
    """Highest speeds of root, hands and feet, and joint rotations [m/s], [rad/s]."""

    root: float
    ends: float
    joints: float


def speeds(rate_hz, roots, ends, rotations):
    turns = qb.log(qb.multiply(qb.conjugate(rotations[:-1]), rotations[1:]))
    return Speeds(
        *(
            float(np.linalg.norm(step, axis=-1).max() * rate_hz)
            for step in (np.diff(roots, axis=0), np.diff(ends[:, :4], axis=0), turns)
        )
    )


def phase(rate_hz):
    """Return 0 to 1, once over the duration."""
    n = round(DURATION_S * rate_hz)
    return np.arange(n) / n


def swell(t):
    """Return 0 to 1 to 0 while t goes from 0 to 1, smooth and at rest at both ends."""
    return 0.5 - 0.5 * np.cos(2.0 * np.pi * t)


def bend_knees(vectors, angle):
    """Bend hips, knees and ankles so that the soles stay level."""
    for side, _ in SIDES:
        for part, share in (('thigh', -1.0), ('shank', 2.0), ('foot', -1.0)):
            vectors[:, SEGMENT_INDEX[f'{side}_{part}'], 1] = share * angle


def standing_vectors():
    """Return joint rotation vectors (16, 3) of hanging arms; knees and elbows bent a little."""
    vectors = np.zeros((1, 16, 3))
    bend_knees(vectors, 0.3)
    for side, sign in SIDES:
        vectors[0, SEGMENT_INDEX[f'{side}_upper_arm'], 0] = -0.9 * sign
        vectors[0, SEGMENT_INDEX[f'{side}_forearm'], 2] = -0.5 * sign
    return vectors[0]


class Script(NamedTuple):
    roots: Vec3s  # (n, 3)
    hips: Vec3s  # (n, 3)
    rotations: Quats  # (n, 16, 4)
    rows: Floats  # (n, 8, ROW)
    self_rows: Floats  # (n, 8, SELF_ROW)


class Played(NamedTuple):
    """What a solver made of a script, frame by frame."""

    roots: Vec3s  # (n, 3)
    rotations: Quats  # (n, 16, 4)
    ends: Vec3s  # (n, 8, 3)
    reachable: Floats  # (n,)
    iterations: Floats  # (n,)

    def speeds(self, rate_hz):
        return speeds(rate_hz, self.roots, self.ends, self.rotations)


def play(solver, script, rate_hz):
    frames = []
    dt = np.inf
    for frame in zip(*script):
        root, hips, rotations, rows, self_rows = frame
        out = solver.solve(root, hips, rotations, rows, dt, self_rows)
        frames.append(
            (
                out.root_position.copy(),
                out.rotations.copy(),
                out.end_effectors.copy(),
                out.reachable,
                out.body_iterations,
            )
        )
        dt = 1.0 / rate_hz
    return Played(*(np.array(field) for field in zip(*frames)))


def _steps(played):
    """Return how far root, general end-effectors and rotations go from frame to frame."""
    return (
        np.linalg.norm(np.diff(played.roots, axis=0), axis=1),
        np.linalg.norm(np.diff(played.ends, axis=0), axis=2).max(axis=1),
        np.abs(np.diff(played.rotations, axis=0)).max(axis=(1, 2)),
    )


def check_denser(solver, script, played):
    """
    Assert that the longest steps halve with the time between frames, which a jump's do not.

    The solver has made `played` of the script at HIGH_HZ.
    """
    denser = play(solver, script(phase(2.0 * HIGH_HZ)), 2.0 * HIGH_HZ)
    for steps, halves in zip(_steps(played), _steps(denser)):
        # a square root leaves 0.7
        assert halves.max() < 0.75 * steps.max() + ROUNDING


class Stage:
    """A puppet whose performer stands still."""

    def __init__(self, character, performer):
        rotations = qb.exp(standing_vectors())
        skeleton = performer.skeleton
        leg = skeleton.leg_length
        self.root = np.array([0.1, -0.2, skeleton.rest_root_height])
        _, p = world_segments(skeleton, self.root[None], rotations[None])
        self.hips = p[0, LIMB_SEGMENTS[2:, 0]].mean(axis=0)
        self.scale = character.scale_for(leg)
        own = character.skeleton
        q, p = world_segments(own, np.zeros((1, 3)), rotations[None])
        self.points = general_end_effectors(own, q, p)[0]  # from the root
        self.shoulders = p[0, LIMB_SEGMENTS[:, 0]]
        self.reaches = own.limb_lengths.sum(axis=1)
        self.rotations = rotations
        height = character.root_ratio_for(leg) * self.hips[2]
        middle = p[0, LIMB_SEGMENTS[2:, 0]].mean(axis=0)
        across = self.scale * self.hips[:2]
        self.reference = np.array([*across, height]) - middle

    def script(self, n):
        """Return n frames in which nothing is important and nothing moves."""
        rows = np.zeros((n, 8, ROW))
        rows[..., RADIUS] = RANGE_M
        rows[..., GOAL : GOAL + 3] = (self.reference + self.points) / self.scale
        return Script(
            np.tile(self.root, (n, 1)),
            np.tile(self.hips, (n, 1)),
            np.tile(self.rotations, (n, 1, 1)),
            rows,
            np.zeros((n, 8, SELF_ROW)),
        )


class Act:
    def __init__(self, character, performer):
        self.character = character
        self.leg_length = performer.skeleton.leg_length
        self.stage = Stage(character, performer)

    def solver(self, config, kind=WholeBodySolver, environment=Environment(())):
        return kind(self.character, environment, self.leg_length, config)

    def pose(self, t, **joints):
        """Return a script of rotation vectors of some joints, mirrored to the right."""
        vectors = np.tile(standing_vectors(), (len(t), 1, 1))
        for name, (x, y, z) in joints.items():
            if name in SEGMENT_INDEX:
                vectors[:, SEGMENT_INDEX[name]] = np.stack(np.broadcast_arrays(x, y, z), axis=-1)
                continue
            for side, sign in SIDES:
                turn = np.stack(np.broadcast_arrays(sign * x, y, sign * z), axis=-1)
                vectors[:, SEGMENT_INDEX[f'{side}_{name}']] = turn
        script = self.stage.script(len(t))
        script.rotations[:] = qb.exp(vectors)
        return script


def check_smooth(solver, script, ends, joints):
    """
    Assert that nothing jumps, and that the two rates agree; return what was played at them.

    `ends` [m/s] and `joints` [rad/s] are bounds of speed.
    """
    low, high = (play(solver, script(phase(rate)), rate) for rate in (LOW_HZ, HIGH_HZ))
    slow, fast = low.speeds(LOW_HZ), high.speeds(HIGH_HZ)
    assert fast.ends < ends and fast.joints < joints
    # where a limb straightens 120 Hz see half of the speed, and less of how its knee turns aside;
    # a jump would be a hundredfold, and fails what follows
    assert fast.ends < 2.0 * slow.ends and fast.joints < 10.0 * slow.joints
    check_denser(solver, script, high)
    return low, high
