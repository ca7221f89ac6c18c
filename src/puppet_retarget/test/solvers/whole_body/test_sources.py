# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of a body that carries and throws a box, with a hat, joint limits and something to look at.

What they say that moves with the unknowns, which are those of the thing as well, does move so.
"""

from dataclasses import replace

from joint_limit_samples import with_adult_limits
import numpy as np
from prepared_frames import prepared
from puppet_core.body import SEGMENT_INDEX
from puppet_core.procedural import SCRIPTS
from puppet_retarget.importance import load_environment
from puppet_retarget.solvers.whole_body.carried import add_carried
from puppet_retarget.solvers.whole_body.gaze import add_gaze
from puppet_retarget.solvers.whole_body.joints import add_hinges, add_limits, add_rates
from puppet_retarget.solvers.whole_body.own_body import add_own_body, add_touches
from puppet_retarget.solvers.whole_body.step import add_posture
from puppet_retarget.solvers.whole_body.world import (
    add_ends,
    add_orientations,
    add_rests,
    add_surfaces,
)
import pytest

STEP = 1e-6
CARRIED, FLYING = 1690, 1770  # frames of the script `throw`
STRAYS_RAD = 0.1
SOURCES = {
    source.py_func.__name__: source
    for source in (
        *(add_posture, add_hinges, add_limits, add_rates, add_ends, add_orientations),
        *(add_touches, add_own_body, add_surfaces, add_rests, add_carried, add_gaze),
    )
}


@pytest.fixture(scope='module')
def throwing(performer):
    return SCRIPTS['throw'].motion(performer, 120.0)


@pytest.fixture(scope='module')
def performer(adult_character):
    return adult_character


@pytest.fixture(scope='module')
def stage(repository, scene):
    """Return the stage with a hat on the head, and a box that is looked at."""
    stage = load_environment(repository / 'data' / 'environments' / 'carry.yaml')
    objects = (replace(o, gaze_rad=0.5) if o.name == 'box' else o for o in stage.objects)
    hat = scene.thing(
        'box',
        np.array([0.0, 0.0, 0.25]),
        np.array([0.3, 0.3, 0.2]),
        name='hat',
        segment=SEGMENT_INDEX['head'],
    )
    return scene(*objects, hat)


@pytest.fixture(scope='module')
def frames(throwing, stage, tall_character, tmp_path_factory):
    """Return two frames of a tall body with joint limits that is ready to be solved."""
    limited = with_adult_limits(tall_character, tmp_path_factory.mktemp('limited'))
    return [prepared(limited, throwing, stage, i) for i in (CARRIED, FLYING)]


@pytest.mark.parametrize(
    ('which', 'name'),
    # of a flying box that is farther below than a neck turns the rows know no curvature
    [(0, name) for name in SOURCES] + [(1, name) for name in SOURCES if name != 'add_gaze'],
)
def test_rows_are_the_derivative_of_what_they_cost(frames, name, which, rng):
    frame, source = frames[which], SOURCES[name]
    strays = np.full(len(frame.x), STRAYS_RAD)  # of root and thing as many metres
    told, found = [], []
    for _ in range(4):
        x = frame.x + strays * rng.normal(size=len(strays))
        way = rng.normal(size=len(x))
        told.append(frame.gradient(source, x) @ way)
        costs = [frame.cost(source, x + step * way) for step in (-STEP, STEP)]
        found.append(0.5 * (costs[1] - costs[0]) / (2.0 * STEP))
    np.testing.assert_allclose(told, found, rtol=2e-3, atol=1e-4 * (1.0 + np.abs(found).max()))
