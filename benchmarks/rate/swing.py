# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The bat swing of ChoiKo2000's second experiment: 136 frames, twelve joints, nine constraints.

The pelvis is the base, both hands are end-effectors and follow the batter's. Of the torso's five
segments only the topmost has a sensor: its orientation is a task, and the angles of the five
joints below it are asked to be zero.
"""

from dataclasses import replace

from benchmarks.rate.run import RateClip
from benchmarks.rate.script import Script
import numpy as np
from puppet_core.math import Floats, Quats, Vec3, Vec3s
from puppet_core.math import quaternions as qb
from puppet_core.procedural import smooth_step, two_bone_rotations, unit
from puppet_retarget.rate_control import BodyTree, ORIENTATION, POSITION, Task
from scipy.interpolate import Akima1DInterpolator

N_FRAMES, RATE_HZ = 136, 30.0
N_TORSO = 5
TORSO = tuple(range(1, 1 + N_TORSO))
TOP, HEAD = TORSO[-1], 6
ARMS = ((7, 8, 9), (10, 11, 12))
NAMES = (
    'pelvis',
    *(f'torso_{k}' for k in TORSO),
    'head',
    *(f'{side}_{part}' for side in ('left', 'right') for part in ('upper_arm', 'forearm', 'hand')),
)
PARENTS = (-1, 0, 1, 2, 3, 4, TOP, TOP, 7, 8, TOP, 10, 11)

TORSO_M, SHOULDER_M, ARM_M, GRIP_M = 0.46, (0.0, 0.18, 0.04), (0.30, 0.27), 0.08
PROPORTIONS = {'A': (1.25, 0.85), 'B': (1.02, 0.99), 'C': (0.80, 1.20)}
"""Torso and limbs of the characters of fig. 10 over the batter's [-]."""

HIPS_M = (0.0, 0.0, 0.95)
HANDS_APART_M = 0.09
AIM_FRAMES = (42, 63, 96)  # end of the wind-up, hit, end of the follow-through
SPOT_M = 0.5  # from between the hands to what hits, along the bat
TIMES_S = (0.0, 0.7, 1.4, 1.75, 1.95, 2.1, 2.3, 2.6, 3.2, 4.5)
GRIPS_M = (
    (0.30, -0.10, 0.30),
    (0.22, -0.24, 0.38),
    (0.12, -0.32, 0.42),
    (0.12, -0.33, 0.40),
    (0.28, -0.20, 0.24),
    (0.42, 0.05, 0.14),
    (0.36, 0.32, 0.22),
    (0.16, 0.42, 0.40),
    (0.08, 0.38, 0.46),
    (0.24, 0.20, 0.32),
)
"""Where the hands hold the bat, from the hips."""
BATS = (
    (0.1, -0.3, 0.9),
    (0.0, -0.4, 0.9),
    (0.2, -0.4, 0.9),
    (0.2, -0.5, 0.8),
    (0.2, -0.9, 0.2),
    (0.9, 0.1, -0.2),
    (0.4, 0.9, 0.0),
    (-0.4, 0.8, 0.4),
    (-0.6, 0.4, 0.7),
    (-0.2, 0.4, 0.9),
)
"""Where the bat points from the hands."""
HIP_YAWS_DEG = (0.0, -8.0, -18.0, -10.0, 12.0, 30.0, 42.0, 50.0, 50.0, 25.0)
CHEST_YAWS_DEG = (-8.0, -22.0, -42.0, -42.0, -18.0, 12.0, 40.0, 60.0, 62.0, 28.0)
HEAD_YAWS_DEG = (35.0, 45.0, 50.0, 50.0, 45.0, 35.0, 35.0, 45.0, 55.0, 40.0)
CHEST_LEANS_DEG = (8.0, 8.0, 10.0, 12.0, 16.0, 18.0, 12.0, 6.0, 4.0, 6.0)


def upper_body(torso: float = 1.0, limbs: float = 1.0) -> BodyTree:
    """Return a batter whose torso and arms are so many times as long."""
    offsets = np.zeros((len(NAMES), 3))
    offsets[list(TORSO), 2] = torso * TORSO_M / N_TORSO
    offsets[HEAD, 2] = 0.12 * torso
    for arm, side in zip(ARMS, (1.0, -1.0)):
        offsets[arm[0]] = np.array(SHOULDER_M) * [1.0, side, 1.0]
        offsets[arm[1], 1], offsets[arm[2], 1] = (side * limbs * length for length in ARM_M)
    return BodyTree(NAMES, np.array(PARENTS), offsets)


def swing() -> RateClip:
    """Return the swing of the batter."""
    body = upper_body()
    times = np.arange(N_FRAMES) / RATE_HZ
    q, p = np.zeros((N_FRAMES, len(NAMES), 4)), np.zeros((N_FRAMES, len(NAMES), 3))
    _trunk(body, times, q, p)
    bat, grip = unit(_curve(times, BATS)), _curve(times, GRIPS_M) + HIPS_M
    for arm, side in zip(ARMS, (1.0, -1.0)):
        _arm(body, arm, side, grip, bat, q, p)
    rotations = q.copy()
    for i, parent in enumerate(PARENTS):
        if i:
            rotations[:, i] = qb.multiply(qb.conjugate(q[:, parent]), q[:, i])
    return RateClip(RATE_HZ, body, _tasks(), _script(rotations, q, p), q, p)


def aimed(clip: RateClip, shift_m: Vec3) -> RateClip:
    """
    Return the swing with another hit point: x1(t) of ChoiKo2000 specified anew.

    The paths of both hands, and so the bat, are shifted by (3,) [m] at the hit, by less before
    and after, and not at all outside of the swing. What is imitated stays the batter's.
    """
    begins, hits, ends = AIM_FRAMES
    frames = np.arange(N_FRAMES)
    share = smooth_step((frames - begins) / (hits - begins))
    share *= smooth_step((ends - frames) / (ends - hits))
    positions = clip.script.positions.copy()
    positions[:, : len(ARMS)] += share[:, None, None] * shift_m
    return replace(clip, script=clip.script._replace(positions=positions))


def bat_of(palms: Vec3s) -> tuple[Vec3s, Vec3s]:
    """Return the middle of the grip [m] and where the bat points, of palms (..., 2, 3) [m]."""
    left, right = palms[..., 0, :], palms[..., 1, :]
    return 0.5 * (left + right), unit(right - left)


def _tasks() -> tuple[Task, ...]:
    left, right = (
        Task(arm[2], POSITION, np.array([0.0, side * GRIP_M, 0.0]))
        for arm, side in zip(ARMS, (1.0, -1.0))
    )
    return left, right, Task(TOP, ORIENTATION)


def _script(rotations: Quats, q: Quats, p: Vec3s) -> Script:
    tasks = _tasks()
    segments = [task.segment for task in tasks]
    points = np.array([task.point for task in tasks])
    imitated = qb.align_signs(rotations)
    # not measured: the tasks are to be met with the least bend of the torso
    imitated[:, TORSO] = [1.0, 0.0, 0.0, 0.0]
    return Script(
        np.zeros(N_FRAMES, dtype=np.int64),
        p[:, 0].copy(),
        q[:, 0].copy(),
        p[:, 0].copy(),
        q[:, 0].copy(),
        np.ones((N_FRAMES, len(tasks)), dtype=np.int64),
        p[:, segments] + qb.rotate(q[:, segments], points),
        q[:, segments].copy(),
        imitated,
    )


def _curve(times: Floats, keys: tuple[tuple[float, ...], ...] | tuple[float, ...]) -> Floats:
    """Return a curve without overshoot through keys at TIMES_S."""
    curve: Floats = Akima1DInterpolator(TIMES_S, np.array(keys), axis=0, method='makima')(times)
    return curve


def _trunk(body: BodyTree, times: Floats, q: Quats, p: Vec3s) -> None:
    """Fill pelvis, torso and head; each joint of the torso takes an equal share."""
    hips, chest, head = (
        np.radians(_curve(times, keys))[:, None] * [0.0, 0.0, 1.0]
        for keys in (HIP_YAWS_DEG, CHEST_YAWS_DEG, HEAD_YAWS_DEG)
    )
    lean = np.radians(_curve(times, CHEST_LEANS_DEG))[:, None] * [0.0, 1.0, 0.0]
    q[:, 0], p[:, 0] = qb.exp(hips), HIPS_M
    top = qb.multiply(qb.exp(chest), qb.exp(lean))
    share = qb.exp(qb.log(qb.multiply(qb.conjugate(q[:, 0]), top)) / N_TORSO)
    for k in TORSO:
        q[:, k] = qb.multiply(q[:, k - 1], share)
        p[:, k] = p[:, k - 1] + qb.rotate(q[:, k - 1], body.offsets[k])
    q[:, HEAD] = qb.exp(head)
    for k in (HEAD, ARMS[0][0], ARMS[1][0]):
        p[:, k] = p[:, TOP] + qb.rotate(q[:, TOP], body.offsets[k])


def _arm(
    body: BodyTree,
    arm: tuple[int, int, int],
    side: float,
    grip: Vec3s,
    bat: Vec3s,
    q: Quats,
    p: Vec3s,
) -> None:
    """Fill an arm whose hand is round the bat, the thumb along it."""
    shoulder, elbow, hand = arm
    held = grip - side * 0.5 * HANDS_APART_M * bat
    reach = held - p[:, shoulder]
    ahead = unit(reach - np.sum(reach * bat, axis=1, keepdims=True) * bat)
    axes = np.stack((bat, side * ahead, np.cross(bat, side * ahead)), axis=-1)
    q[:, hand] = qb.align_signs(qb.from_matrix(axes))
    p[:, hand] = held - GRIP_M * ahead
    outward = qb.rotate(q[:, TOP], np.array([-0.3, 0.6 * side, -1.0]))
    q[:, shoulder], q[:, elbow] = two_bone_rotations(
        p[:, shoulder],
        p[:, hand],
        body.offsets[[elbow, hand]],
        np.array([0.0, 0.0, -side]),
        outward,
    )
    p[:, elbow] = p[:, shoulder] + qb.rotate(q[:, shoulder], body.offsets[elbow])
