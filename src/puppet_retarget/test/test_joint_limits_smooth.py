# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Joint limits are smooth: along paths through their worst places too."""

from collections.abc import Callable

from joint_limit_samples import adult_limits, any_rotations, JOINTS, limited, turn_between
import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.joint_limits import swing_axes
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quat, Quats, Vec3, Vec3s
from puppet_retarget.solvers.joint_limits import LimitArrays
import pytest

FASTEST = 35.0  # 2 / angle left of half a turn * 1.5 * 150 / 30 * fade, at its greatest
EACH_JOINT = pytest.mark.parametrize('joint', JOINTS)


@pytest.fixture(scope='module')
def limits(adult_character: Character, tmp_path_factory) -> LimitArrays:
    """Return the adult's limits."""
    return adult_limits(adult_character, tmp_path_factory.mktemp('limits'))


def paths(limits: LimitArrays, joint: str, rng) -> list[Callable[[Floats], Quats]]:
    """Return smooth closed paths over 0 .. 2 pi: great circles, and through the worst places."""
    i = SEGMENT_INDEX[joint]
    frame, axis, (e1, e2) = limits.frames[i], limits.axes[i], swing_axes(limits.axes[i])

    def turning(before: Quat, by: Vec3, after: Quat) -> Callable[[Floats], Quats]:
        return lambda t: qb.multiply(
            qb.multiply(frame, before), qb.multiply(qb.exp(np.outer(t, by)), after)
        )

    def ringed(radius: float, after: Quat) -> Callable[[Floats], Quats]:
        return lambda t: qb.multiply(
            frame,
            qb.multiply(
                qb.exp(radius * (np.outer(np.cos(t), e1) + np.outer(np.sin(t), e2))), after
            ),
        )

    none = np.array([1.0, 0.0, 0.0, 0.0])
    found = [
        turning(any_rotations(rng, 1)[0], v / np.linalg.norm(v), none)
        for v in rng.normal(size=(3, 3))
    ]
    for aside in (0.0, 1e-6, 0.02):
        # swings through half a turn and past it, twists through half a turn and past it
        found.append(turning(none, e1, qb.exp(aside * e2)))
        found.append(turning(none, e2, qb.exp(aside * e1 + 2.5 * axis)))
        found.append(turning(qb.exp(aside * e2), axis, none))
    # around the swing of half a turn, in two ways: the twist the same, and winding twice
    return [*found, ringed(np.pi - 0.3, none), ringed(0.3, qb.exp(np.pi * e1))]


def velocities(limits: LimitArrays, joint: str, path: Callable, t: Floats) -> Vec3s:
    """Return the limited joint's turns per step over the path's."""
    given = path(t)
    out = limited(limits, joint, given)
    turns = qb.log(qb.multiply(qb.conjugate(out[:-1]), out[1:]))
    return turns / turn_between(given[:-1], given[1:]).mean()


@EACH_JOINT
def test_smooth_rotations_stay_smooth(joint: str, limits: LimitArrays, rng) -> None:
    """
    Speed is bounded by a constant times the input's, and nowhere changes at once.

    The fastest is the fade, up to 150 degrees of twist within the last 30, where the twist
    itself winds twice about the swing of half a turn. Where speed changes most from step to
    step, steps of a fortieth must bring most of that change away; a kink would stay as it is.

    """
    n = 1_000
    for path in paths(limits, joint, rng):
        t = np.linspace(0.0, 2.0 * np.pi, n)
        coarse = velocities(limits, joint, path, t)
        assert np.linalg.norm(coarse, axis=1).max() < FASTEST
        changes = np.linalg.norm(np.diff(coarse, axis=0), axis=1)
        worst = changes.argmax()
        fine = velocities(limits, joint, path, np.linspace(t[worst], t[worst + 2], 81))
        change = np.linalg.norm(np.diff(fine, axis=0), axis=1).max()
        assert change < max(0.4 * changes[worst], 1e-3)
