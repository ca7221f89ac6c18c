# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The filter's plot of a tracker with faults: every status is marked where it is."""

import json
from pathlib import Path

import numpy as np
from plain_reader import plain_messages
from puppet_core.drawing import styled
from puppet_driver.emulator import cli
from puppet_replay.pipeline import read_settings
from puppet_replay.plots import command as plot_command
from puppet_replay.plots.drawings import draw_filter, FATES
from puppet_replay.plots.reading import PlotBag
from puppet_replay.replay import replay
from puppet_ros.bags import BagReader
import pytest

SENSORS = ('left_hand', 'right_upper_arm')
FAULTS = ('--drop-out', '0.05', '--outlier', '0.05', '--seed', '5')


@pytest.fixture(scope='module')
def faulty_bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('bags')
    assert cli.main(['--export', str(folder / 'in.mcap'), '--export-s', '3', *FAULTS]) == 0
    replay(folder / 'in.mcap', folder / 'out.mcap', read_settings())
    return folder / 'out.mcap'


def statuses(bag: Path, sensor: str) -> tuple[np.ndarray, np.ndarray]:
    """Return times [s] and statuses of a sensor, read by other means."""
    origin_ns = plain_messages(bag, '/tracker/raw')[0].stamp_ns
    filtered = plain_messages(bag, '/tracker/filtered')
    column = filtered[0].msg.sensors.index(sensor)
    return (
        np.array([1e-9 * (m.stamp_ns - origin_ns) for m in filtered]),
        np.array([m.msg.status[column] for m in filtered]),
    )


def test_statuses_are_counted_and_marked_at_their_times(faulty_bag: Path) -> None:
    report = faulty_bag.with_suffix('.json')
    words = [str(faulty_bag), '--what', 'filter', '--sensors', ','.join(SENSORS)]
    picture = str(faulty_bag.with_suffix('.png'))
    assert plot_command.main([*words, picture, '--json', str(report)]) == 0
    frames = json.loads(report.read_text())['plots']['filter']['frames']
    with BagReader(faulty_bag) as reader, styled():
        figure = draw_filter(PlotBag(reader).sensors(SENSORS), 'faults')
    for k, sensor in enumerate(SENSORS):
        times, status = statuses(faulty_bag, sensor)
        lanes = figure.axes[5 * k + 4].get_lines()
        for lane, (number, (name, _, _)) in zip(lanes, FATES.items()):
            assert frames[sensor][name] == np.sum(status == number)
            np.testing.assert_allclose(lane.get_xdata(), times[status == number], atol=1e-9)
        assert frames[sensor]['rejected'] > 3 and frames[sensor]['predicted'] > 3


def test_band_is_three_deviations_of_the_worst_axis(faulty_bag: Path) -> None:
    with BagReader(faulty_bag) as reader, styled():
        figure = draw_filter(PlotBag(reader).sensors(SENSORS[:1]), 'faults')
    filtered = plain_messages(faulty_bag, '/tracker/filtered')
    column = filtered[0].msg.sensors.index(SENSORS[0])
    variances = np.array(
        [np.diagonal(m.msg.covariances.reshape(-1, 6, 6)[column])[:3] for m in filtered]
    )
    band = figure.axes[1].collections[0].get_paths()[0].vertices
    widest = 3e3 * np.sqrt(np.nanmax(variances))
    assert band[:, 1].max() == pytest.approx(widest) and band[:, 1].min() == pytest.approx(-widest)
