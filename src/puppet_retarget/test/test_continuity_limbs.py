# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Every branch after the root, through the whole frame: limits, push-outs, ranges, body (errata 3).

The root is not smoothed here, so that a frame depends on nothing before it and the longest steps
can be divided. Push-outs are driven as deep as they have a nearest side: no continuous rule takes
all that is inside of a solid to its surface and leaves the surface where it is.
"""

from collections.abc import Callable
from pathlib import Path

from continuity_runs import Act, check_smooth, HIGH_HZ, phase, play, Played, Script, swell
from joint_limit_samples import with_adult_limits
import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math.arrays import Floats
from puppet_retarget.solvers.registry import ElbowCircleSolver, ImportanceBasedSolver
from puppet_retarget.solvers.state import SolverConfig
import pytest

AT_ONCE = SolverConfig(root_smoothing_s=0.0, self_push_out=False)
TWO_SOLVERS = pytest.mark.parametrize(
    ('puppet', 'kind'),
    [('short_character', ImportanceBasedSolver), ('tall_character', ElbowCircleSolver)],
    ids=['short', 'tall on circles'],
)


@pytest.fixture
def act(request, adult_character: Character, puppet: str) -> Act:
    """Return a puppet of a performer."""
    return Act(request.getfixturevalue(puppet), adult_character)


def turns(a: Played, b: Played) -> Floats:
    """Return by how much the joints of two runs differ, (n, 16)."""
    return np.abs(a.rotations - b.rotations).max(axis=2)


@TWO_SOLVERS
def test_joints_pass_their_limits_smoothly(
    act: Act, adult_character: Character, kind: type, tmp_path: Path
) -> None:
    """All eight kinds of joint pass from free to limited and back, most in swing and twist."""
    free = act.solver(AT_ONCE, kind)
    act.character = with_adult_limits(act.character, tmp_path)
    limited = act.solver(AT_ONCE, kind)

    def bend(t: Floats) -> Script:
        u, o = swell(t), np.sin(2.0 * np.pi * t)
        return act.pose(
            t,
            chest=(0.6 * o, 0.9 * u, 0.9 * o),
            head=(0.9 * u, 0.0, 1.8 * o),
            upper_arm=(1.9 * u - 0.9, 1.2 * u, -1.5 * o),
            hand=(1.3 * o, 0.8 * u, 0.5 * o),
            forearm=(0.2 * u, 1.5 * o, 1.6 * u - 1.4),
            thigh=(0.7 * o, -0.3 - 1.9 * u, 0.5 * o),
            shank=(0.0, 0.6 - 0.9 * u, 0.6 * o),
            foot=(0.3 * o, 1.4 * u, 0.5 * o),
        )

    given = play(free, bend(phase(HIGH_HZ)), HIGH_HZ)
    speeds = given.speeds(HIGH_HZ)
    _, high = check_smooth(limited, bend, 2.0 * speeds.ends, 3.0 * speeds.joints)
    is_limited = turns(given, high) > 1e-6
    for name in ('chest', 'head', 'upper_arm', 'forearm', 'hand', 'thigh', 'shank', 'foot'):
        for joint in {name, f'left_{name}', f'right_{name}'} & set(SEGMENT_INDEX):
            assert 0.02 < is_limited[:, SEGMENT_INDEX[joint]].mean() < 0.98, joint


@TWO_SOLVERS
@pytest.mark.parametrize(
    ('shape', 'size', 'beyond', 'bend'),
    [
        ('sphere', (0.08, 0.08, 0.08), 0.03, -0.4),
        ('box', (0.1, 0.15, 0.2), 0.06, -0.4),
        ('capsule', (0.06, 0.06, 0.3), 0.04, -0.4),
        ('cylinder', (0.07, 0.07, 0.3), 0.05, -0.4),
        ('sphere', (0.08, 0.08, 0.08), -0.06, -1.2),
    ],
    ids=['sphere', 'box', 'capsule', 'cylinder', 'far side'],
)
def test_palms_leave_solids_smoothly(
    act: Act, scene: Callable, kind: type, shape: str, size: tuple, beyond: float, bend: float
) -> None:
    """A palm that matters to nothing dips into a solid on its way there and back."""

    def sweep(t: Floats) -> Script:
        lift = 0.3 + 0.2 * np.sin(2.0 * np.pi * t)
        return act.pose(t, upper_arm=(-0.4, lift, -0.9 * swell(t) - 0.2), forearm=(0.0, 0.0, bend))

    stage = act.stage
    free = play(act.solver(AT_ONCE), sweep(phase(HIGH_HZ)), HIGH_HZ)
    palm, shoulder = free.ends[len(free.ends) // 4, 0], stage.reference + stage.shoulders[0]
    ahead = (palm - shoulder) / np.linalg.norm(palm - shoulder)
    solid = scene.thing(shape, (palm + beyond * ahead) / stage.scale, np.array(size))
    fastest = free.speeds(HIGH_HZ).ends
    solver = act.solver(AT_ONCE, kind, scene(solid))
    _, high = check_smooth(solver, sweep, 8.0 * fastest, 32.0 / stage.reaches[0] * fastest)
    moved = turns(free, high)[:, 4:7].any(axis=1)
    assert 0.02 < moved.mean() < 0.5
