# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Puppets crawl, stand on their hands and flip: what is planted stays, and nothing whips."""

from dataclasses import replace

import numpy as np
from puppet_core.body.character import load_character
from puppet_core.procedural import SCRIPTS
from puppet_retarget.importance import Environment, IMPORTANCE, load_environment, Placement
from puppet_retarget.importance.objects import BOX
from puppet_retarget.offline import retarget_motion, RetargetJob
from puppet_retarget.offline.motion_report import report
import pytest

RATE_HZ = 120.0
SLIDE_M_S = 0.04  # more than the performer's own, as a hand is set down


@pytest.fixture(scope='module')
def motion(performer):
    return SCRIPTS['acrobatics'].motion(performer, RATE_HZ)


@pytest.fixture(scope='module', params=['performer', 'sally', 'frog'])
def retargeted(request, motion, characters_dir):
    ground = load_environment(characters_dir.parent / 'environments' / 'ground.yaml')
    job = RetargetJob(load_character(characters_dir / f'{request.param}.yaml'), ground)
    return job, retarget_motion(motion, job)


def test_planted_hands_and_feet_stay(motion, retargeted):
    _, result = retargeted
    speeds = (
        np.linalg.norm(np.diff(ends[:, :4], axis=0), axis=2) * RATE_HZ
        for ends in (result.puppet.end_effectors, motion.end_effectors)
    )
    puppet, performer = speeds
    important = result.rows[:, :, IMPORTANCE] > 0.999
    planted = important[1:] & important[:-1] & (performer < 0.02)
    assert (planted.sum(axis=0) > 8.0 * RATE_HZ).all()
    assert (puppet[planted] - performer[planted]).max() < SLIDE_M_S
    assert result.goal_errors[important].max() < 1e-3


def test_it_moves_as_smoothly_as_its_performer(motion, retargeted):
    job, result = retargeted
    figures = report(motion, job, result)
    assert figures['flips'] == figures['whips'] == 0
    assert figures['jerk_ratio']['root'] < 4.5


def test_blubby_does_not_whip_whose_elbows_are_in_his_belly(motion, characters_dir):
    ground = load_environment(characters_dir.parent / 'environments' / 'ground.yaml')
    job = RetargetJob(load_character(characters_dir / 'blubby.yaml'), ground)
    figures = report(motion, job, retarget_motion(motion, job))
    assert figures['flips'] == figures['whips'] == 0


def test_knees_and_feet_come_and_go_without_a_kick(motion, retargeted):
    """Of who crawls, where knees and feet share a leg."""
    _, result = retargeted
    crawl = slice(round(3.8 * RATE_HZ), round(16.2 * RATE_HZ))
    for ends in (slice(2, 4), slice(6, 8)):
        puppet, performer = (
            np.diff(points[crawl, ends], n=3, axis=0)
            for points in (result.puppet.end_effectors, motion.end_effectors)
        )
        assert np.sqrt(np.mean(puppet**2)) < 10.0 * np.sqrt(np.mean(performer**2))


def test_surfaces_stay_out_of_the_floor(motion, retargeted):
    job, result = retargeted
    figures = report(motion, job, result)['surface_depth_mm']
    # the frog's long feet land late from a flip
    assert figures['max'] < (20.0 if job.character.name == 'frog' else 5.0)


def test_knees_that_matter_carry_who_crawls(motion, characters_dir):
    """Sally's thighs are half as long again: without importance her knees are in the air."""
    sally, crawling = load_character(characters_dir / 'sally.yaml'), slice(900, 1500)
    floor, ground = (
        load_environment(characters_dir.parent / 'environments' / f'{name}.yaml')
        for name in ('floor', 'ground')
    )
    slab = Placement(np.array([0.0, 0.0, -0.5]), np.eye(4)[0], np.array([60.0, 60.0, 1.0]))
    solid = replace(ground.objects[0], shape=BOX, real=slab, puppet=slab)
    runs = []
    for environment in (floor, ground, Environment((solid,))):
        puppet = retarget_motion(motion, RetargetJob(sally, environment)).puppet
        runs.append(puppet.end_effectors[crawling])
    highest = [run[:, 6:, 2].min(axis=1).max() for run in runs]
    # who rests on his thighs has his knees down anyway
    assert highest[1] < highest[0] < 0.12 and highest[1] < 0.09
    # not on a plane alone
    assert np.abs(runs[2] - runs[1]).max() < 0.01
