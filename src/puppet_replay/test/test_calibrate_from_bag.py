# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A calibration from a lone MCAP file, as the tracker gave it and as the graph filtered it."""

from pathlib import Path

import numpy as np
from puppet_clips.calibrate.calibrate_command import main
from puppet_core.body.character import load_character
from puppet_driver.emulator import cli as emulator
from puppet_replay.pipeline import read_settings
from puppet_replay.replay import replay
from puppet_ros.bags import BagReader
import pytest

CONFIG = Path(__file__).resolve().parents[3] / 'config'
PERFORMER = CONFIG / 'characters' / 'performer.yaml'
LENGTH_TOL_M = 0.004  # of 22 s with the noise of a Flock of Birds
OWN = ('--performer', str(PERFORMER), '--layout', str(CONFIG / 'layouts' / 'default14.yaml'))


@pytest.fixture(scope='module')
def range_of_motion(tmp_path_factory):
    path = tmp_path_factory.mktemp('range') / 'range.mcap'
    words = ['--export', str(path), '--export-s', '30', '--script', 'range', '--seed', '5']
    assert emulator.main(words) == 0
    return path


@pytest.mark.parametrize('is_filtered', [False, True], ids=['raw', 'filtered'])
def test_one_file_becomes_a_calibration(range_of_motion, tmp_path, is_filtered, capsys):
    """The limbs are as long as those of the body that the emulator has."""
    bag, body, output = range_of_motion, tmp_path / 'own.yaml', tmp_path / 'calibration.yaml'
    if is_filtered:
        bag = tmp_path / 'replayed.mcap'
        replay(range_of_motion, bag, read_settings())
        with BagReader(bag) as reader:
            assert reader.counts['/tracker/filtered'] > 3000
    assert bag.is_file()
    code = main(
        ['--from', 'bag', str(bag), '--output', str(output), '--write-character', str(body), *OWN]
    )
    said = capsys.readouterr()
    assert code == 0 and 'good to use' in said.out, said
    assert output.is_file()
    found, true = (load_character(path).skeleton.limb_lengths for path in (body, PERFORMER))
    np.testing.assert_allclose(found, true, rtol=0.0, atol=LENGTH_TOL_M)
