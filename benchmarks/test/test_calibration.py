# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench calibration`: one performer well measured, one badly, and bad input."""


def test_trials_tell_how_far_calibrations_are_off(run):
    text = run('calibration', '--trials', '1').out
    assert 'though all is well: 0 of 1' in text and 'upper arms and thighs' in text
    assert 'exchanged, named: 1 of 1' in text and 'slipped, named: 1 of 1' in text
    text = run('calibration', '--trials', '1', '--skin-mm', '500').out
    assert 'should not be used though all is well: 1 of 1' in text


def test_bad_input_is_refused(run):
    for words in (('--trials', '0'), ('--pose-deg', '91')):
        done = run('calibration', *words)
        assert done.code == 2
        assert f'{words[0]}: expected' in done.err
