# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The bench of the replay: what it prints and writes; how fast that is, it is not asked."""

import json

import pytest

pytest.importorskip('puppet_msgs', reason='needs the built messages')

from benchmarks import replay as bench_replay  # noqa: E402,I100

pytestmark = pytest.mark.ros

PARTS = {'read', 'bytes', 'filter', 'performer', 'importance', 'solver', 'write', 'rest'}


def test_bag_and_its_replay_are_measured_in_parts(sensors_bag, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [str(sensors_bag), '--runs', '1', '--json', 'figures.json']
    assert bench_replay.main(words) == 0
    told = capsys.readouterr().out
    assert 'sensors: 3.0 s, 360 frames; best of 1:' in told and 'all_topics: 3.0 s' in told
    for figures in json.loads((tmp_path / 'figures.json').read_text()):
        assert set(figures['us_per_frame']) == PARTS
        spent_s = sum(figures['us_per_frame'].values()) * figures['frames'] * 1e-6
        assert min(figures['us_per_frame'].values()) >= 0.0 and spent_s > 0.0
        assert figures['times_real_time'] == pytest.approx(
            figures['duration_s'] / figures['wall_s']
        )
    assert [path.name for path in tmp_path.iterdir()] == ['figures.json']


@pytest.mark.parametrize('words', [['/no/bag.mcap'], ['--runs', '0']])
def test_bad_arguments_are_named(words, sensors_bag, capsys):
    bag = [] if words[0].startswith('/') else [str(sensors_bag)]
    assert bench_replay.main([*bag, *words]) == 2
    assert 'expected' in capsys.readouterr().err
