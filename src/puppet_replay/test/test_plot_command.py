# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet plot` on bags of the real graph: its numbers by another way, its files, its errors."""

import json
import sys

from bag_samples import GOLDENS, plain_messages
from graph_messages import items_of, moments, write_items
import numpy as np
from puppet_core.body.motion_measures import PLANTED_HEIGHT_M, PLANTED_SPEED_M_S
from puppet_core.drawing import styled
from puppet_driver.emulator import cli
from puppet_replay.pipeline import read_settings
from puppet_replay.plots import command as plot_command
from puppet_replay.plots.command import KINDS
from puppet_replay.plots.drawings import draw_filter, STATUS_STYLES
from puppet_replay.plots.reading import PlotBag
from puppet_replay.replay import replay
from puppet_ros.bags import BagReader
import pytest

pytestmark = pytest.mark.ros

OF_POSTURES = 'feet,importance,filter'


def run(*arguments):
    return plot_command.main([str(argument) for argument in arguments])


def series_of(file, kind):
    return {row['name']: row for row in json.loads(file.read_text())['plots'][kind]['series']}


@pytest.fixture(scope='module')
def numbers(replayed_bag, tmp_path_factory):
    folder = tmp_path_factory.mktemp('plots')
    what = ('--what', OF_POSTURES, '--sensors', 'left_hand,chest')
    assert run(replayed_bag, *what, folder / 'a.png', '--json', folder / 'a.json') == 0
    return folder / 'a.json'


def assert_statistics(row, values, unit):
    assert row['count'] == len(values)
    p50, p99 = np.percentile(values, (50, 99))
    expected = [values.min(), values.max(), values.mean(), values.std(), p50, p99]
    found = [row[f'{name}{unit}'] for name in ('min', 'max', 'mean', 'std', 'p50', 'p99')]
    assert found == pytest.approx(expected, abs=1e-9, rel=1e-9)


def test_importances_are_those_of_the_messages(replayed_bag, numbers):
    said = [m.msg for m in plain_messages(replayed_bag, '/importance')]
    near, own = (
        np.array([getattr(m, n) for m in said]) for n in ('importance', 'self_importance')
    )
    rows = series_of(numbers, 'importance')
    assert len(rows) == 16
    assert_statistics(rows['environment left_hand'], near[:, 0], '')
    assert_statistics(rows['environment right_foot'], near[:, 3], '')
    assert_statistics(rows['own body right_hand'], own[:, 1], '')
    assert_statistics(rows['own body right_knee'], own[:, 7], '')
    assert near.max() > 0.5, 'else nothing was compared'


def test_what_else_rests_has_lanes_of_its_own(tmp_path):
    bag = write_items(tmp_path / 'a.mcap', [i for moment in moments(5) for i in items_of(moment)])
    numbers = tmp_path / 'a.json'
    assert run(bag, '--what', 'importance', tmp_path / 'a.png', '--json', numbers) == 0
    rows = series_of(numbers, 'importance')
    assert list(rows)[16:] == ['rest pelvis', 'rest right_thigh']
    assert_statistics(rows['rest pelvis'], np.full(5, 0.5), '')


def test_feet_are_those_of_the_messages_and_stand_where_they_are_low_and_slow(
    replayed_bag, numbers
):
    rows = series_of(numbers, 'feet')
    postures = plain_messages(replayed_bag, '/performer/posture')
    soles = np.array([m.msg.end_effector_positions.reshape(8, 3)[2:4] for m in postures])
    assert_statistics(rows['performer left sole height'], soles[:, 0, 2], '_m')
    puppet = plain_messages(replayed_bag, '/puppet/posture')
    name = puppet[0].msg.body
    heights = np.array([m.msg.end_effector_positions[11] for m in puppet])
    assert_statistics(rows[f'{name} right sole height'], heights, '_m')
    origin_ns = plain_messages(replayed_bag, '/tracker/raw')[0].stamp_ns
    at = np.array([m.stamp_ns - origin_ns for m in postures]) * 1e-9
    speed = np.linalg.norm(np.diff(soles[:, 0], axis=0), axis=-1) / np.diff(at)
    stands = json.loads(numbers.read_text())['plots']['feet']['stands']['left_s']
    assert stands
    for start, end in stands:
        within = (start < at[1:]) & (at[1:] <= end)
        # a foot may move for an instant
        quiet = (soles[1:, 0, 2] < PLANTED_HEIGHT_M) & (speed < PLANTED_SPEED_M_S)
        assert np.mean(quiet[within]) > 0.9 and quiet[within][-1]


def test_residuals_and_deviations_are_those_of_the_messages(replayed_bag, numbers):
    rows = series_of(numbers, 'filter')
    raw = {m.stamp_ns: m.msg for m in plain_messages(replayed_bag, '/tracker/raw')}
    filtered = plain_messages(replayed_bag, '/tracker/filtered')
    i = filtered[0].msg.sensors.index('chest')
    j = next(iter(raw.values())).sensors.index('chest')
    raw_places = np.array([raw[m.stamp_ns].positions.reshape(-1, 3)[j] for m in filtered])
    apart = raw_places - [m.msg.positions.reshape(-1, 3)[i] for m in filtered]
    for k, axis in enumerate('xyz'):
        assert_statistics(rows[f'chest position residual {axis}'], 1e3 * apart[:, k], '_mm')
    turns = np.array([m.msg.pose_covariances.reshape(-1, 6, 6)[i, 4, 4] for m in filtered])
    assert_statistics(rows['chest rotation sigma y'], np.rad2deg(np.sqrt(turns)), '_deg')
    frames = json.loads(numbers.read_text())['plots']['filter']['frames']['chest']
    status = np.array([m.msg.status[i] for m in filtered])
    assert frames['ok'] == np.sum(status == 0) and frames['reinitialised'] == np.sum(status == 3)
    assert sum(frames.values()) == len(filtered)


@pytest.mark.parametrize('suffix', ['png', 'svg', 'pdf'])
def test_the_same_bag_gives_the_same_bytes(replayed_bag, tmp_path, suffix):
    for name in ('a', 'b'):
        assert run(replayed_bag, tmp_path / f'{name}.{suffix}', '--what', 'feet') == 0
    data = (tmp_path / f'a.{suffix}').read_bytes()
    assert data == (tmp_path / f'b.{suffix}').read_bytes()
    assert data[:5] in (b'\x89PNG\r', b'<?xml', b'%PDF-')


def test_everything_is_drawn_that_the_bag_has(replayed_bag, tmp_path, capsys, monkeypatch):
    """Also that a replay's log times tell no latency, and where files go by default."""
    monkeypatch.chdir(tmp_path)
    assert run(replayed_bag) == 0
    said = capsys.readouterr()
    assert sorted(said.out.split()) == [f'replayed_{k}.png' for k in sorted([*KINDS][:3])]
    assert {path.name for path in tmp_path.iterdir()} == set(said.out.split())
    assert 'no latency' in said.err and 'made by ./puppet replay' in said.err


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (
            ['--what', 'feet,hands'],
            '--what: expected importance, feet, filter, latency or all, got',
        ),
        (['--what', 'feet', 'a.bmp'], "output: expected a name in .png, .svg, .pdf, got 'a.bmp'"),
        (['--from', '2', '--to', '1'], '--to: expected more than --from = 2, got 1'),
        (['--what', 'feet', '--from', '99'], 'messages on /performer/posture between --from'),
        (['--what', 'filter', '--sensors', 'tail'], '--sensors: expected some of '),
        (['--what', 'latency'], 'expected log times of a live recording'),
        (['--json', 'a.png'], '--json: expected a .json file'),
    ],
    ids=['kind', 'suffix', 'span', 'empty', 'sensor', 'replay', 'json'],
)
def test_mistakes_are_named(replayed_bag, arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(replayed_bag, *arguments) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ('golden', 'kind', 'missing'),
    [
        ('graph', 'filter', '/tracker/raw (puppet_msgs/msg/TrackerFrame), /tracker/filtered'),
        ('blubby_position', 'feet', '/performer/posture (puppet_msgs/msg/Posture), /importance'),
        ('performance', 'importance', '/importance (puppet_msgs/msg/Importance), got those on'),
    ],
    ids=['filter', 'feet', 'importance'],
)
def test_a_topic_that_is_missing_is_named(golden, kind, missing, tmp_path, capsys):
    bag = GOLDENS / f'{golden}.mcap'
    assert run(bag, '--what', kind, tmp_path / 'a.png') == 2
    assert f'expected messages on {missing}' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_no_bag_and_no_matplotlib_are_reported(replayed_bag, tmp_path, capsys, monkeypatch):
    assert run(tmp_path / 'none.mcap') == 2
    assert 'expected a bag, got a path that does not exist' in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    assert run(replayed_bag, '--what', 'feet', tmp_path / 'a.png') == 2
    assert 'matplotlib: expected it for plots' in capsys.readouterr().err


SENSORS = ('left_hand', 'right_upper_arm')
FAULTS = ('--drop-out', '0.05', '--outlier', '0.05', '--seed', '5')


@pytest.fixture(scope='module')
def faulty_bag(tmp_path_factory):
    folder = tmp_path_factory.mktemp('bags')
    assert cli.main(['--export', str(folder / 'in.mcap'), '--export-s', '3', *FAULTS]) == 0
    replay(folder / 'in.mcap', folder / 'out.mcap', read_settings())
    return folder / 'out.mcap'


def statuses(bag, sensor):
    """Return times [s] and statuses of a sensor, read by other means."""
    origin_ns = plain_messages(bag, '/tracker/raw')[0].stamp_ns
    filtered = plain_messages(bag, '/tracker/filtered')
    column = filtered[0].msg.sensors.index(sensor)
    return (
        np.array([1e-9 * (m.stamp_ns - origin_ns) for m in filtered]),
        np.array([m.msg.status[column] for m in filtered]),
    )


def test_statuses_are_counted_and_marked_at_their_times(faulty_bag):
    report = faulty_bag.with_suffix('.json')
    words = ('--what', 'filter', '--sensors', ','.join(SENSORS), '--json', report)
    assert run(faulty_bag, *words, faulty_bag.with_suffix('.png')) == 0
    frames = json.loads(report.read_text())['plots']['filter']['frames']
    with BagReader(faulty_bag) as reader, styled():
        figure = draw_filter(PlotBag(reader).sensors(SENSORS), 'faults')
    for k, sensor in enumerate(SENSORS):
        times, status = statuses(faulty_bag, sensor)
        lanes = figure.axes[5 * k + 4].get_lines()
        for lane, (number, (name, _, _)) in zip(lanes, STATUS_STYLES.items()):
            assert frames[sensor][name] == np.sum(status == number)
            np.testing.assert_allclose(lane.get_xdata(), times[status == number], atol=1e-9)
        assert frames[sensor]['rejected'] > 3 and frames[sensor]['predicted'] > 3


def test_band_is_three_deviations_of_the_worst_axis(faulty_bag):
    with BagReader(faulty_bag) as reader, styled():
        figure = draw_filter(PlotBag(reader).sensors(SENSORS[:1]), 'faults')
    filtered = plain_messages(faulty_bag, '/tracker/filtered')
    column = filtered[0].msg.sensors.index(SENSORS[0])
    variances = np.array(
        [np.diagonal(m.msg.pose_covariances.reshape(-1, 6, 6)[column])[:3] for m in filtered]
    )
    band = figure.axes[1].collections[0].get_paths()[0].vertices
    widest = 3e3 * np.sqrt(np.nanmax(variances))
    assert band[:, 1].max() == pytest.approx(widest) and band[:, 1].min() == pytest.approx(-widest)


N = 60
HOPS_MS = {
    '/tracker/raw': 2.0,
    '/tracker/filtered': 0.5,
    '/importance': 3.0,
    '/joint_states': 1.25,
    '/puppet/posture': 1.5,
    '/retarget/status': 1.75,
}
ORDER = ('/tracker/raw', '/tracker/filtered', '/importance')


def known_bag(path):
    items = []
    for moment in moments(N):
        for item in items_of(moment):
            if item.topic == '/tf':
                continue
            before = ORDER if item.topic not in ORDER else ORDER[: ORDER.index(item.topic)]
            late_ms = sum(HOPS_MS[topic] for topic in {*before, item.topic})
            late_ms += 40.0 * (item.topic == '/retarget/status' and moment.index == 9)
            items.append(item._replace(log_ns=item.log_ns + round(1e6 * late_ms)))
    return write_items(path, items)


def test_known_delays_are_found(tmp_path):
    """Since the stamp, and since what each topic is made from; the posture is not in this bag."""
    bag, report = known_bag(tmp_path / 'a.mcap'), tmp_path / 'a.json'
    assert run(bag, '--what', 'latency', tmp_path / 'a.png', '--json', report) == 0
    rows = series_of(report, 'latency')
    assert rows['/tracker/raw since the stamp']['p50_ms'] == pytest.approx(2.0)
    assert rows['/importance since the stamp']['p99_ms'] == pytest.approx(5.5)
    assert rows['/importance since /tracker/filtered']['max_ms'] == pytest.approx(3.0)
    assert rows['/joint_states since /importance']['mean_ms'] == pytest.approx(1.25)
    late = rows['/retarget/status since /importance']
    assert late['p50_ms'] == pytest.approx(1.75) and late['max_ms'] == pytest.approx(41.75)
    assert all(row['count'] == N for row in rows.values())


def test_a_message_that_cannot_be_read_is_named(tmp_path, capsys):
    """Its bytes end too early, or its rows are not as many as they should be."""
    items = [item for moment in moments(3) for item in items_of(moment)]
    for damage in (lambda data: data[:60], lambda data: data[:6]):
        worse = [i._replace(data=damage(i.data)) if i.topic == '/importance' else i for i in items]
        bag = write_items(tmp_path / 'a.mcap', worse)
        assert run(bag, '--what', 'importance', tmp_path / 'a.png') == 2
        assert 'a.mcap: /importance: expected messages' in capsys.readouterr().err
    assert run(bag, '--what', 'latency', tmp_path / 'b.png') == 2
    assert 'a.mcap: /importance: expected messages that can be read' in capsys.readouterr().err
