# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The order of faults: seeded, complete, and only what was asked for."""

from itertools import islice

from puppet_core.io import ConfigError
import pytest
from robustness.chaos import schedule
from robustness.chaos.schedule import CLOCK, faults, KINDS, read_kinds

NODES = ('driver', 'filter', 'retarget')
TARGETS = schedule.targets_of(NODES, NODES, 'emulator')


def test_same_seed_same_faults_another_seed_others():
    def first(seed: int) -> list[schedule.Fault]:
        return list(islice(faults(seed, tuple(KINDS), TARGETS), 40))

    assert first(7) == first(7)
    assert first(7) != first(8)


@pytest.mark.parametrize('seed', range(5))
def test_every_kind_comes_once_a_round_and_every_target_in_its_turn(seed):
    kinds = tuple(KINDS)
    rounds = max(len(TARGETS[kind]) for kind in kinds)
    listed = list(islice(faults(seed, kinds, TARGETS), rounds * len(kinds)))
    for i in range(rounds):
        assert {f.kind for f in listed[i * len(kinds) : (i + 1) * len(kinds)]} == set(kinds)
    for kind in kinds:
        assert {f.target for f in listed if f.kind == kind} == set(TARGETS[kind]), kind


def test_the_clock_is_a_fault_of_simulated_time_only():
    assert CLOCK in read_kinds('', True)
    assert CLOCK not in read_kinds('', False)
    assert read_kinds('pause, kill,pause', False) == ('pause', 'kill')
    with pytest.raises(ConfigError, match='clock: expected --sim-time'):
        read_kinds('clock', False)


def test_within_a_process_nobody_can_interfere():
    left = read_kinds('', False, True)
    assert schedule.RIVAL not in left and schedule.HOSTILE not in left and schedule.KILL in left
    with pytest.raises(ConfigError, match="got 'hostile'"):
        read_kinds('hostile', False, True)


def test_unknown_fault_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="expected some of kill,.*got 'fire'"):
        read_kinds('kill,fire', False)
