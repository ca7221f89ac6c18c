# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Half and double of each number of the whole-body solver."""

from benchmarks.quality import weights
import numpy as np
from puppet_retarget.importance import load_environment
from puppet_retarget.offline import copied_angles, RetargetJob
from puppet_retarget.solvers.whole_body import Weights


def test_every_number_is_halved_and_doubled_by_itself():
    (_, usual), *others = weights.variants()
    assert len(others) == 2 * len(Weights._fields)
    for name, changed in others:
        differs = [k for k in Weights._fields if getattr(changed, k) != getattr(usual, k)]
        assert differs == [name.split(' ')[0]]


def test_a_firmer_goal_is_missed_by_less(steps, tall_character, data_dir):
    floor = load_environment(data_dir / 'environments' / 'floor.yaml')
    job = RetargetJob(tall_character, floor)
    baseline, usual = copied_angles(steps, job), Weights()
    errors = [
        weights.figures(steps, job, usual._replace(goal=goal), baseline)['goal error p99, mm']
        for goal in (0.5 * usual.goal, 2.0 * usual.goal)
    ]
    assert errors[1] < errors[0]


def test_the_table_tells_what_changes():
    usual = dict.fromkeys(weights.COLUMNS, 1.0) | {'palms p99, mm': np.nan}
    rows = {name: dict(usual) for name, _ in weights.variants()}
    rows['goal × 2']['root jerk'] = 1.5
    rows['goal × 0.5']['root jerk'] = 1.05
    lines = weights.weights_table(rows).splitlines()
    assert [line for line in lines if '1.5' in line] == ['| `goal` |  | root jerk 1.50 |']
    assert sum(line.startswith('| `') for line in lines) == len(Weights._fields)
