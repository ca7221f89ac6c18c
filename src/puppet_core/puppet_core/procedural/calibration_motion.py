# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A range-of-motion script for calibration: 25 s of formulas, joint by joint, then together."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS, Motion, SEGMENT_INDEX, Skeleton
from puppet_core.clips import canonical_direction, canonical_hinge
from puppet_core.math import Floats, quaternions, Quats
from puppet_core.procedural.curve import about, check_timing, eased, product, relative

T_POSE_S = 2.0
RANGE_S = 25.0  # without the T-pose
_X, _Y, _Z = np.eye(3)
_SIDES = ('left', 'right')

_LEG_START_S = (12.0, 15.5)  # left, right
_LEG_TOGETHER_S = (21.2, 22.9)


class Turn(NamedTuple):
    """One joint's way through its range about one axis."""

    start_s: float  # When it leaves the T-pose, after the T-pose's end [s]
    end_s: float  # When it is back [s]
    angles_deg: tuple[float, ...]  # Reversals on the way [deg]


# About the axes that the functions below give them. What is done with both arms or one leg:
# (abduction, flexion, roll), hinge, pronation or shank roll, (wrist, ankle).
_ARM = {
    'raise': (Turn(0.0, 2.2, (55.0, -75.0)), Turn(21.4, 24.8, (-50.0, 40.0, -45.0))),
    'swing': (Turn(1.6, 4.2, (70.0, -20.0)), Turn(21.0, 24.8, (35.0, -15.0, 45.0))),
    'roll': (Turn(3.6, 6.2, (45.0, -50.0)), Turn(21.2, 24.6, (35.0, -30.0))),
    'bend': (Turn(5.6, 8.4, (125.0, 20.0, 115.0)), Turn(21.1, 24.8, (90.0, 20.0, 100.0))),
    'pronate': (Turn(7.2, 10.0, (60.0, -60.0, 50.0)), Turn(21.3, 24.8, (50.0, -50.0))),
    'flap': (Turn(9.4, 11.6, (55.0, -55.0, 50.0)), Turn(21.2, 24.8, (45.0, -45.0, 40.0))),
    'wave': (Turn(10.8, 12.8, (30.0, -25.0, 30.0)), Turn(21.4, 24.6, (25.0, -20.0))),
}
_LEG = {
    'raise': (Turn(0.0, 3.4, (75.0, 20.0, -25.0)), Turn(8.2, 9.8, (60.0,))),
    'spread': (Turn(0.9, 3.5, (10.0, 35.0)), Turn(8.4, 9.8, (20.0,))),
    'roll': (Turn(0.4, 3.0, (30.0, -30.0)), Turn(8.4, 9.7, (-20.0,))),
    'bend': (Turn(0.2, 3.5, (90.0, 45.0, 80.0)), Turn(8.2, 9.8, (85.0,))),
    'pronate': (Turn(0.4, 3.3, (18.0, -18.0, 15.0)), Turn(8.5, 9.7, (-15.0,))),
    'flap': (Turn(0.2, 3.5, (30.0, -35.0, 30.0, -30.0)), Turn(8.3, 9.7, (25.0,))),
    'wave': (Turn(0.5, 3.5, (20.0, -20.0, 20.0)), Turn(8.4, 9.8, (-18.0,))),
}
_TRUNK = {
    'lean': (Turn(18.4, 20.0, (30.0,)), Turn(21.4, 24.8, (12.0, 0.0, 10.0))),
    'bow': (Turn(18.4, 20.2, (35.0, -10.0)), Turn(21.4, 24.8, (15.0, -5.0))),
    'side': (Turn(19.2, 21.0, (25.0, -25.0)), Turn(21.3, 24.7, (12.0, -12.0))),
    'twist': (Turn(19.8, 21.6, (30.0, -30.0)), Turn(21.6, 24.7, (-15.0, 15.0))),
    'nod': (Turn(18.4, 21.0, (35.0, -30.0)), Turn(21.6, 24.6, (20.0, -20.0, 15.0))),
    'shake': (Turn(18.8, 21.3, (50.0, -50.0)), Turn(21.4, 24.7, (-35.0, 30.0))),
    'tip': (Turn(19.2, 21.4, (25.0, -25.0)), Turn(21.8, 24.7, (20.0, -20.0))),
}


def range_of_motion(
    character: Character | Skeleton, rate_hz: float, t_pose_s: float = T_POSE_S
) -> Motion:
    """Return T-pose and range of motion, without a seam; ConfigError for an impossible time."""
    check_timing(t_pose_s, rate_hz)
    skeleton = character.skeleton if isinstance(character, Character) else character
    t = np.arange(round((t_pose_s + RANGE_S) * rate_hz)) / rate_hz - t_pose_s
    rotations = np.zeros((len(t), len(SEGMENT_INDEX), 4))
    rotations[..., 0] = 1.0
    _add_trunk(rotations, t)
    for side in _SIDES:
        _add_arm(rotations, t, side)
        _add_leg(rotations, t, side)
    return Motion.from_rotations(skeleton, rate_hz, _roots(skeleton, rotations), rotations)


def _add_trunk(rotations: Quats, t: Floats) -> None:
    lean, bow, side, twist, nod, shake, tip = (_curve(t, _TRUNK[name]) for name in _TRUNK)
    rotations[:, SEGMENT_INDEX['pelvis']] = about(_Y, lean)
    # both vertebrae alike: what lies between two sensors is taken as an even bend
    half = quaternions.exp(0.5 * (bow[:, None] * _Y + side[:, None] * _X + twist[:, None] * _Z))
    rotations[:, SEGMENT_INDEX['spine']] = rotations[:, SEGMENT_INDEX['chest']] = half
    rotations[:, SEGMENT_INDEX['head']] = product(about(_Z, shake), about(_Y, nod), about(_X, tip))


def _add_arm(rotations: Quats, t: Floats, side: str) -> None:
    # the right arm a little behind, so that no two joints do the same
    late = t - (0.1 if side == 'right' else 0.0)
    curves = [_curve(late, turns) for turns in _ARM.values()]
    raised, swing, roll, bend, pronate, flap, wave = curves
    direction = canonical_direction(f'{side}_forearm')
    hinge = canonical_hinge(f'{side}_upper_arm')
    lift = np.cross(direction, _Z)
    upper, lower, hand = LIMB_SEGMENTS[_SIDES.index(side)]
    rotations[:, upper] = product(about(lift, raised), about(hinge, swing), about(direction, roll))
    rotations[:, lower] = product(about(hinge, bend), about(direction, pronate))
    rotations[:, hand] = product(about(lift, flap), about(hinge, wave))


def _add_leg(rotations: Quats, t: Floats, side: str) -> None:
    index = _SIDES.index(side)
    curves = []
    for alone, together in _LEG.values():
        shift = _LEG_TOGETHER_S[index] - together.start_s
        late = together._replace(start_s=together.start_s + shift, end_s=together.end_s + shift)
        start = _LEG_START_S[index]
        alone = alone._replace(start_s=alone.start_s + start, end_s=alone.end_s + start)
        curves.append(_curve(t, (alone, late)))
    raised, spread, roll, bend, pronate, flap, wave = curves
    out = -1.0 if side == 'right' else 1.0
    in_world = product(about(-_Y, raised), about(out * _X, spread), about(out * _Z, roll))
    thigh, shank, foot = LIMB_SEGMENTS[2 + index]
    # a leg that stands stays upright while the pelvis leans
    rotations[:, thigh] = relative(rotations[:, 0], in_world)
    rotations[:, shank] = product(about(_Y, bend), about(out * _Z, pronate))
    rotations[:, foot] = product(about(_Y, flap), about(_X, wave))


def _roots(skeleton: Skeleton, rotations: Quats) -> Floats:
    """Return root positions that keep the middle between the hips where it is in the T-pose."""
    left, right = skeleton.offsets[LIMB_SEGMENTS[2:, 0]]
    middle = 0.5 * (left + right)
    rest = np.array([0.0, 0.0, skeleton.rest_root_height])
    return rest + middle - quaternions.rotate(rotations[:, 0], middle)


def _curve(t: Floats, turns: Sequence[Turn]) -> Floats:
    """Return the angle over time of several turns, one after the other [rad]."""
    curve = np.zeros(len(t))
    for turn in turns:
        values = (0.0, *turn.angles_deg, 0.0)
        # the way of each piece takes its fraction of the time
        ways, duration_s = np.abs(np.diff(values)), turn.end_s - turn.start_s
        times = turn.start_s + duration_s * np.append(0.0, np.cumsum(ways)) / np.sum(ways)
        curve += eased(t, list(zip(times, np.radians(values))))
    return curve
