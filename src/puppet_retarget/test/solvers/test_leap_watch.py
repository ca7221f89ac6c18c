# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The leap watch against the same definitions written down with scipy's rotations."""

import numpy as np
from puppet_core.body.motion_measures import FASTEST_M_S, FASTEST_RAD_S, LONGEST_S, SHORTEST_S
from puppet_retarget.solvers import discontinuity
from puppet_retarget.solvers.discontinuity import DiscontinuityDetector
import pytest
from scipy.spatial.transform import Rotation

N_FRAMES = 400


class Reference:
    """The same with lists of steps; row 0 of a step is the root's way, the others are turns."""

    def __init__(self, ratio: float, size: float) -> None:
        self.ratio, self.size = ratio, size
        self.postures: list[tuple[np.ndarray, Rotation]] = []
        self.steps = [(np.zeros((17, 3)), LONGEST_S)] * 2
        self.usual = np.zeros((17, 3)), LONGEST_S

    def goes_on(self, step: tuple, other: tuple, size: float) -> bool:
        """Return whether a step is about what another one led to."""
        (way, dt_s), (other_way, other_s) = step, other
        gap = np.linalg.norm(way - other_way * dt_s / other_s, axis=1)
        square = dt_s * (dt_s + other_s) / 2.0
        return bool(
            gap[1:].max() <= discontinuity.WARY_RAD_S2 * square
            and gap[0] <= size * discontinuity.WARY_M_S2 * square
        )

    def step(self, root: np.ndarray, rotations: np.ndarray, dt_s: float) -> tuple[bool, bool]:
        """Return whether a posture leaps, and whether it breaks the motion."""
        turns = Rotation.from_quat(rotations, scalar_first=True)
        if self.goes_on(self.steps[-1], self.steps[-2], 1.0):
            self.usual = self.steps[-1]
        dt_s = float(np.clip(dt_s, SHORTEST_S, LONGEST_S))
        way = np.zeros((17, 3))
        if self.postures:
            old_root, old_turns = self.postures[-1]
            way[0] = old_root - root
            way[1:] = (old_turns * turns.inv()).as_rotvec()
        self.postures.append((root, turns))
        self.steps.append((way, dt_s))
        is_new = not any(
            self.goes_on(self.steps[-1], other, self.size)
            for other in (self.steps[-2], self.usual)
        )
        far = np.linalg.norm(way, axis=1)

        def is_beyond(rad_s: float, m_s: float) -> bool:
            return bool(far[1:].max() > rad_s * dt_s or far[0] > self.size * m_s * dt_s)

        leaps = is_beyond(self.ratio * FASTEST_RAD_S, self.ratio * FASTEST_M_S)
        return leaps, is_new or is_beyond(discontinuity.WARY_RAD_S, discontinuity.WARY_M_S)


@pytest.mark.parametrize(('ratio', 'size'), [(1.0, 1.0), (0.75, 1.0), (1.0, 2.5)])
@pytest.mark.parametrize('seed', [1, 2])
def test_decisions_are_those_of_the_definitions(ratio: float, size: float, seed: int) -> None:
    """A walk at random with steps of all sizes, and times of all lengths."""
    rng = np.random.default_rng(seed)
    watch, reference = DiscontinuityDetector(ratio), Reference(ratio, size)
    root, turns = np.zeros(3), Rotation.identity(16)
    found = []
    for _ in range(N_FRAMES):
        reach = 10.0 ** rng.uniform(-4.0, 0.3)
        root = root + reach * rng.normal(size=3)
        turns = turns * Rotation.from_rotvec(0.5 * reach * rng.normal(size=(16, 3)))
        rotations = turns.as_quat(scalar_first=True) * rng.choice([-1.0, 1.0], size=(16, 1))
        dt_s = rng.choice([1.0 / 120.0, 1.0 / 60.0, 1e-4, 0.2])
        expected = reference.step(root, rotations, dt_s)
        assert (watch.leaps(root, rotations, dt_s, size), watch.breaks()) == expected
        found.append(expected)
    shares = np.mean(found, axis=0)
    assert (shares > 0.05).all() and (shares < 0.95).all()
