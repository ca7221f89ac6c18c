# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What rests on objects: how far it is from them, in range, and by the names of the objects."""

from numba import njit
import numpy as np
from puppet_core.body import N_SEGMENTS, SEGMENT_INDEX
from puppet_core.body.capsules import shape_arrays
from puppet_core.body.posture import world_segments
from puppet_core.math import quaternions
from puppet_core.math.values import quat, vec3
from puppet_retarget.importance.environment import real_solid
from puppet_retarget.importance.objects import distance_from
from puppet_retarget.importance.rests import (
    are_rests,
    estimate_rests,
    gap_between,
    MAX_RESTS,
    no_rests,
    REST_GAP,
    REST_IMPORTANCE,
    REST_OBJECT,
    REST_SEGMENT,
    REST_SOFT_M,
    rests_of_objects,
)
import pytest

NAMES = 'floor', 'stool', 'wall', 'table'


@pytest.fixture
def make_rests(rng):
    """Return a maker of random rests, each on one of NAMES."""

    def make(n):
        rests = no_rests()
        objects, segments = rng.integers(0, len(NAMES), n), rng.integers(0, 16, n)
        rests[:n] = np.transpose([objects, segments, rng.random(n), rng.normal(size=n)])
        return rests

    return make


@pytest.mark.parametrize('run', [are_rests, are_rests.py_func], ids=['jit', 'py'])
def test_numbers_out_of_range_are_no_rests(run, make_rests, rng):
    """Whichever it is; what stands behind those in use does not matter."""
    for n in (0, 1, 7, MAX_RESTS):
        rests = make_rests(n)
        rests[n + 1 :] = np.nan
        assert run(rests, len(NAMES))
        for bad in (np.nan, np.inf, -np.inf, 1e9, -1e9):
            place = int(rng.integers(0, n)) if n else 0, int(rng.integers(0, 4))
            other = rests.copy()
            other[place] = bad
            assert not run(other, len(NAMES)) or n == 0 and place[1] != REST_OBJECT


def test_rests_are_on_the_objects_of_their_names(make_rests, rng):
    """In any order of objects; those on objects that are not there are left out."""
    for _ in range(20):
        rests = make_rests(int(rng.integers(0, MAX_RESTS + 1)))
        others = tuple(rng.permutation(NAMES)[: rng.integers(0, 5)])
        found = rests_of_objects(rests, NAMES, others)
        assert are_rests(found, len(others))

        def named(rests, names):
            used = rests[rests[:, REST_OBJECT] >= 0.0]
            return [(names[int(row[REST_OBJECT])], *row[1:]) for row in used]

        kept = [row for row in named(rests, NAMES) if row[0] in others]
        assert named(found, others) == kept


@njit
def gap_at(shape, s, q, p, objects, j, softness):
    capsules = shape.first[s], shape.first[s + 1]
    return gap_between(shape, s, capsules, (quat(q), vec3(p)), real_solid(objects, j), softness)


@njit
def distance_at(objects, j, point):
    return distance_from(real_solid(objects, j), vec3(point))[0]


def things(scene):
    turned = quaternions.from_rpy(np.array([0.3, -0.4, 0.5]))
    return [
        scene.floor,
        scene.thing(
            'box', np.array([0.1, 0.2, 0.2]), np.array([0.5, 0.6, 0.4]), orientation=turned
        ),
        scene.thing('sphere', np.array([0.3, 0.0, 0.1]), np.array([0.3, 0.3, 0.3])),
        scene.thing(
            'cylinder', np.array([0.0, -0.2, 0.2]), np.array([0.2, 0.2, 0.7]), orientation=turned
        ),
        scene.thing(
            'capsule', np.array([0.2, -0.2, 0.0]), np.array([0.1, 0.1, 0.5]), orientation=turned
        ),
    ]


@pytest.mark.parametrize('j', range(5))
def test_the_gap_is_that_of_the_nearest_place_and_changes_as_it_says(
    scene, adult_character, j, rng
):
    objects = scene(*things(scene)).arrays(1.0, 0.0)
    shape = shape_arrays(adult_character.capsules)
    for s in ('pelvis', 'chest', 'head', 'left_thigh'):
        segment = SEGMENT_INDEX[s]
        for _ in range(20):
            q, p = quaternions.normalize(rng.normal(size=4)), rng.uniform(-0.6, 0.8, 3)
            gap, way, turn = gap_at(shape, segment, q, p, objects, j, 0.001)
            least = np.inf
            for m in range(shape.first[segment], shape.first[segment + 1]):
                ends = p + quaternions.rotate(q, np.array([shape.starts[m], shape.ends[m]]))
                cores = np.linspace(*ends, 200)
                distances = [distance_at(objects, j, core) for core in cores]
                least = min(least, min(distances) - shape.radii[m])
            assert -0.002 < gap - least < 0.01  # places are a tenth of a core line apart
            gap, way, turn = gap_at(shape, segment, q, p, objects, j, REST_SOFT_M)
            v, w = rng.normal(size=3), rng.normal(size=3)

            def moved(t):
                by = quaternions.exp(t * w)
                there = quaternions.multiply(by, q), quaternions.rotate(by, p) + t * v
                return gap_at(shape, segment, *there, objects, j, REST_SOFT_M)[0]

            slope = (moved(1e-6) - moved(-1e-6)) / 2e-6
            assert np.dot(way, v) + np.dot(turn, w) == pytest.approx(slope, abs=1e-3)


def test_who_lies_rests_on_the_floor_and_who_stands_does_not(scene, adult_character):
    skeleton, objects = adult_character.skeleton, scene(scene.floor).arrays(1.0, 0.0)
    shape = shape_arrays(adult_character.capsules)

    def rests_of(root, turn):
        rotations = np.tile([1.0, 0.0, 0.0, 0.0], (N_SEGMENTS, 1))
        rotations[0] = quaternions.exp(np.asarray(turn))
        q, p = world_segments(skeleton, np.array([root]), rotations[None])
        rests = no_rests()
        estimate_rests(shape, q[0], p[0], objects, rests)
        used = rests[rests[:, REST_OBJECT] >= 0.0]
        return {int(row[REST_SEGMENT]): row for row in used}

    standing = rests_of([0.0, 0.0, skeleton.rest_root_height], [0.0, 0.0, 0.0])
    assert not any(row[REST_IMPORTANCE] > 0.0 for row in standing.values())
    lying = rests_of([0.0, 0.0, 0.12], [0.0, -0.5 * np.pi, 0.0])
    for name in ('pelvis', 'chest', 'left_thigh', 'right_thigh'):
        row = lying[SEGMENT_INDEX[name]]
        assert row[REST_IMPORTANCE] > 0.8 and abs(row[REST_GAP]) < 0.08


def test_a_file_gives_d_of_hips_and_head_or_none(scene):
    def distances(hips, head):
        item = scene.thing('box', np.zeros(3), np.ones(3), rests=(hips, head))
        return scene(item).arrays(1.0, 0.0).rests[0]

    usual, given = distances(np.nan, np.nan), distances(0.2, 0.0)
    hips = [SEGMENT_INDEX[s] for s in ('pelvis', 'left_thigh', 'right_thigh')]
    others = [SEGMENT_INDEX[s] for s in ('chest', 'left_upper_arm')]
    assert (usual[[*hips, *others, SEGMENT_INDEX['head']]] == usual[hips[0]]).all()
    assert (given[hips] == 0.2).all() and given[SEGMENT_INDEX['head']] == 0.0
    assert (given[others] == usual[others]).all()
    assert given[SEGMENT_INDEX['left_foot']] == usual[SEGMENT_INDEX['left_foot']] == 0.0
