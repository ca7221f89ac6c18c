# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""End of section 5.3.3: where a ray from the shoulder enters the objects of the puppet."""

import numpy as np
from puppet_core.math import quaternions as qb
from puppet_retarget.solvers.thesis.objects import entry, least_distance


def vector(v) -> tuple[float, float, float]:
    return tuple(map(float, v))


def test_ray_enters_where_it_first_is_inside(scene, rng):
    sizes = {'box': (0.4, 0.3, 0.5), 'sphere': 3 * (0.25,), 'cylinder': (0.2, 0.2, 0.5)}
    for shape, size in sizes.items():
        turn = qb.normalize(rng.normal(size=4))
        thing = scene.thing(shape, np.array([0.2, 0.1, 1.0]), np.array(size), orientation=turn)
        objects = scene(scene.floor, thing).arrays(0.6, 0.0)
        n_inside = 0
        for _ in range(300):
            shoulder = np.array([0.2, 0.1, 1.0]) + 0.5 * rng.normal(size=3)
            palm = np.array([0.2, 0.1, 1.0]) + 0.15 * rng.normal(size=3)
            found = np.array(entry(objects, vector(shoulder), vector(palm)))
            if least_distance(objects, palm) >= 0.0 or least_distance(objects, shoulder) < 0.0:
                np.testing.assert_array_equal(found, palm)
                continue
            n_inside += 1
            assert abs(least_distance(objects, found)) < 1e-9
            share = np.linalg.norm(found - shoulder) / np.linalg.norm(palm - shoulder)
            np.testing.assert_allclose(found, shoulder + share * (palm - shoulder), atol=1e-9)
            # convex: nothing of the ray before is inside
            before = [shoulder + s * (found - shoulder) for s in np.linspace(0.0, 0.999, 50)]
            assert min(least_distance(objects, x) for x in before) > 0.0
        assert n_inside > 50


def test_what_was_not_seen_and_what_is_on_a_segment_is_in_nobodys_way(scene):
    away = scene.thing('box', np.array([0.0, 0.0, 1.0]), np.ones(3), follows='box')
    worn = scene.thing('box', np.array([0.0, 0.0, 1.0]), np.ones(3), segment=3, name='hat')
    assert least_distance(scene(away, worn).arrays(0.6, 0.0), (0.0, 0.0, 1.0)) > 1.0
