# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The walk of ChoiKo2000's first experiment: 13 steps along a curve, 390 frames, table 1's bodies.

The lower body has eight joints of three degrees of freedom. Step by step the toe tip of the
stance leg is the base and that of the swing leg the end-effector; the pelvis' transverse plane
makes two constraints more: 8 x 30.
"""

from benchmarks.rate.run import RateClip
from benchmarks.rate.script import Script
import numpy as np
from puppet_core.math import Floats, Ints, Quats, Vec3s
from puppet_core.math import quaternions as qb
from puppet_core.procedural import bump, eased, smooth_step, two_bone_rotations
from puppet_retarget.rate_control import BodyTree, HORIZONTAL, ORIENTATION, POSITION, Task

N_STEPS, FRAMES_PER_STEP, RATE_HZ = 13, 30, 30.0
SIDES = ('left', 'right')
NAMES = (
    'pelvis',
    *(f'{side}_{part}' for side in SIDES for part in ('thigh', 'shank', 'foot', 'toes')),
)
PARENTS = (-1, 0, 1, 2, 3, 0, 5, 6, 7)
TOES = (4, 8)
HIP, KNEE, ANKLE = (1, 5), (2, 6), (3, 7)

PELVIS_WIDTH_M, FOOT_M, TOES_M = 0.30, 0.16, 0.08  # ChoiKo2000 table 1
SOURCE_LEG_M, DESTINATION_LEG_M = (0.46, 0.46), (0.26, 0.34)
ANKLE_M = 0.07  # above the sole
HEEL_M = 0.05  # behind the ankle

STEP_M, HALF_GAUGE_M, TURN_RADIUS_M = 0.62, 0.09, 5.0
ROOT_M, BOB_M = 0.932, 0.025  # height of the hips, and how much it changes
LEAVES, LANDS = 0.12, 0.90  # when of its step a swinging toe tip leaves the floor, heel lands
CLEARANCE_M = 0.05
FOOT_KEYS = ((-0.40, 0.0), (0.0, 0.28), (0.16, 0.78), (0.60, -0.02), (0.90, -0.22), (1.0, 0.0))
"""Pitch of a foot, heel up, by the time of its swing in steps [rad]."""
TOES_JOIN = (0.10, 0.20)  # when in its swing the toes come in line with the foot


def lower_body(leg_m: tuple[float, float]) -> BodyTree:
    """Return a pelvis with two legs; thigh and shank have the given lengths."""
    half, forward = 0.5 * PELVIS_WIDTH_M, np.sqrt(FOOT_M**2 - ANKLE_M**2)
    leg = [(0.0, 0.0, -leg_m[0]), (0.0, 0.0, -leg_m[1]), (forward, 0.0, -ANKLE_M)]
    offsets = [(0.0, 0.0, 0.0), (0.0, half, 0.0), *leg, (0.0, -half, 0.0), *leg]
    return BodyTree(NAMES, np.array(PARENTS), np.array(offsets))


def walk(has_pelvis: bool = True) -> RateClip:
    """Return the walk of the source character; without the pelvis' task it is the clip 2."""
    body = lower_body(SOURCE_LEG_M)
    steps = np.arange(N_STEPS * FRAMES_PER_STEP) / FRAMES_PER_STEP
    q, p = np.zeros((len(steps), 9, 4)), np.zeros((len(steps), 9, 3))
    _pelvis(steps, q, p)
    for foot in range(2):
        _leg(body, foot, steps, q, p)
    rotations = q.copy()
    for i, parent in enumerate(PARENTS):
        if i:
            rotations[:, i] = qb.multiply(qb.conjugate(q[:, parent]), q[:, i])
    tip = np.array([TOES_M, 0.0, 0.0])
    tasks = (
        *(Task(toes, kind, tip) for toes in TOES for kind in (POSITION, ORIENTATION)),
        Task(0, POSITION, axes=HORIZONTAL),
    )[: 5 if has_pelvis else 4]
    return RateClip(RATE_HZ, body, tasks, _script(steps, rotations, tasks, q, p), q, p)


def _script(
    steps: Floats, rotations: Quats, tasks: tuple[Task, ...], q: Quats, p: Vec3s
) -> Script:
    """Return the script of the walk: the stance foot is the base, the other has tasks."""
    frames = np.arange(len(steps))
    stance = stance_feet(steps)
    bases = np.array(TOES)[stance]
    active = np.ones((len(steps), len(tasks)), dtype=np.int64)
    for foot in range(2):
        active[:, 2 * foot : 2 * foot + 2] = (stance != foot)[:, None]
    segments = [task.segment for task in tasks]
    points = np.array([task.point for task in tasks])
    positions = p[:, segments] + qb.rotate(q[:, segments], points)
    before = np.maximum(frames - 1, 0)
    return Script(
        bases,
        p[frames, bases],
        q[frames, bases],
        p[before, bases],
        q[before, bases],
        active,
        positions,
        q[:, segments].copy(),
        qb.align_signs(rotations),
    )


def stance_feet(steps: Floats) -> Ints:
    """Return the foot that stands, 0 left or 1 right, at times in steps."""
    return np.floor(steps + 1e-9).astype(np.int64) % 2


def _path(steps: Floats, aside: Floats | float) -> tuple[Vec3s, Floats]:
    """Return places (n, 3) [m] on the floor and headings (n,) [rad] along the curve."""
    angle = STEP_M * steps / TURN_RADIUS_M
    radius = TURN_RADIUS_M - aside
    place = np.stack(
        (radius * np.sin(angle), TURN_RADIUS_M - radius * np.cos(angle), 0.0 * angle), axis=-1
    )
    return place, angle


def _yaw(angle: Floats) -> Quats:
    return qb.exp(angle[:, None] * [0.0, 0.0, 1.0])


def _pitch(angle: Floats) -> Quats:
    return qb.exp(angle[:, None] * [0.0, 1.0, 0.0])


def _pelvis(steps: Floats, q: Quats, p: Vec3s) -> None:
    """Fill pelvis and hips: half a step behind the stance foot at the step's begin."""
    swing = np.cos(np.pi * steps)  # 1 where the left foot begins to stand
    place, heading = _path(steps - 0.5, 0.025 * np.sin(np.pi * steps))
    p[:, 0] = place
    p[:, 0, 2] = ROOT_M - BOB_M * np.cos(2.0 * np.pi * steps)
    lean = qb.exp(
        np.stack((0.05 * np.sin(np.pi * steps), 0.04 + 0.0 * steps, -0.07 * swing), axis=-1)
    )
    q[:, 0] = qb.multiply(_yaw(heading), lean)


def _leg(body: BodyTree, foot: int, steps: Floats, q: Quats, p: Vec3s) -> None:
    """Fill a leg from its foot and the pelvis."""
    thigh, shank, ankle, toes = (1 + 4 * foot + k for k in range(4))
    tip, heading, foot_pitch, toe_pitch = _foot(foot, steps)
    yaw = _yaw(heading)
    q[:, toes] = qb.multiply(yaw, _pitch(toe_pitch))
    q[:, ankle] = qb.multiply(yaw, _pitch(foot_pitch))
    p[:, toes] = tip - qb.rotate(q[:, toes], np.array([TOES_M, 0.0, 0.0]))
    p[:, ankle] = p[:, toes] - qb.rotate(q[:, ankle], body.offsets[toes])
    p[:, thigh] = p[:, 0] + qb.rotate(q[:, 0], body.offsets[thigh])
    ahead = qb.rotate(
        _yaw(0.5 * (heading + STEP_M * (steps - 0.5) / TURN_RADIUS_M)), np.array([1.0, 0.0, 0.0])
    )
    q[:, thigh], q[:, shank] = two_bone_rotations(
        p[:, thigh], p[:, ankle], body.offsets[[shank, ankle]], np.array([0.0, 1.0, 0.0]), ahead
    )
    p[:, shank] = p[:, thigh] + qb.rotate(q[:, thigh], body.offsets[shank])


def _foot(foot: int, steps: Floats) -> tuple[Vec3s, Floats, Floats, Floats]:
    """
    Return toe tip (n, 3) [m], heading, pitch of the foot and pitch of the toes (n,) [rad].

    A foot swings in every other step; the first swing of the left one began before the walk.
    """
    tip = np.zeros((len(steps), 3))
    heading, foot_pitch, toe_pitch = (np.zeros(len(steps)) for _ in range(3))
    gauge = HALF_GAUGE_M if foot == 0 else -HALF_GAUGE_M
    ahead = np.sqrt(FOOT_M**2 - ANKLE_M**2) + TOES_M  # of the tip to the ankle, flat
    length = ahead + HEEL_M
    # steps in which this foot swings; those in which it stands are k + 1
    for k in range(-1 - foot, N_STEPS + 1):
        if (k + 1 + foot) % 2:
            continue
        own = (steps >= k - 0.5) & (steps < k + 1.5)
        u = steps[own] - k
        share = smooth_step((u - LEAVES) / (1.0 - LEAVES))
        place, angle = _path(k - 1.0 + 2.0 * share + ahead / STEP_M, gauge)
        pitch = eased(u, FOOT_KEYS)
        toe_down = smooth_step((u - TOES_JOIN[0]) / (TOES_JOIN[1] - TOES_JOIN[0]))
        toes = pitch * toe_down
        rise = 0.5 * length * (np.sqrt(np.sin(toes) ** 2 + 0.03**2) - np.sin(toes) - 0.03)
        place[:, 2] = np.maximum(rise, 0.0) + CLEARANCE_M * bump((u - LEAVES) / (LANDS - LEAVES))
        tip[own], heading[own] = place, angle
        foot_pitch[own], toe_pitch[own] = pitch, toes
    return tip, heading, foot_pitch, toe_pitch
