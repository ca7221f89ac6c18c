# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet plot` on bags of the real graph: its numbers by another way, its files, its errors."""

from collections.abc import Callable
import json
from pathlib import Path
import sys
from typing import Any

from graph_messages import moments, write_bag
from matplotlib.figure import Figure
import numpy as np
from PIL import Image
from plain_reader import plain_messages
from puppet_core.body.motion_measures import PLANTED_HEIGHT_M, PLANTED_SPEED_M_S
from puppet_core.drawing import styled
from puppet_replay.plots import command as plot_command
from puppet_replay.plots.command import KINDS
from puppet_replay.plots.drawings import draw_feet, draw_filter, draw_importance
from puppet_replay.plots.reading import PlotBag
from puppet_ros.bags import BagReader
import pytest
from recorded_bag import GOLDENS

OF_POSTURES = 'feet,importance,filter'
Rows = dict[str, dict[str, Any]]


def run(*arguments: object) -> int:
    return plot_command.main([str(argument) for argument in arguments])


def series_of(file: Path, kind: str) -> Rows:
    return {row['name']: row for row in json.loads(file.read_text())['plots'][kind]['series']}


@pytest.fixture(scope='module')
def numbers(replayed_bag: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('plots')
    assert (
        run(
            replayed_bag,
            '--what',
            OF_POSTURES,
            '--sensors',
            'left_hand,chest',
            folder / 'a.png',
            '--json',
            folder / 'a.json',
        )
        == 0
    )
    return folder / 'a.json'


def assert_statistics(row: dict[str, Any], values: np.ndarray, unit: str) -> None:
    assert row['count'] == len(values)
    for name, value in {
        'min': values.min(),
        'max': values.max(),
        'mean': values.mean(),
        'std': values.std(),
        'p50': np.percentile(values, 50),
        'p99': np.percentile(values, 99),
    }.items():
        assert row[f'{name}{unit}'] == pytest.approx(value, abs=1e-9, rel=1e-9)


def test_importances_are_those_of_the_messages(replayed_bag: Path, numbers: Path) -> None:
    rows = series_of(numbers, 'importance')
    said = [m.msg for m in plain_messages(replayed_bag, '/importance')]
    near = np.array([m.end_effectors.reshape(4, 8)[:, 0] for m in said])
    own = np.array(
        [
            m.self_interaction.reshape(8, 197)[:, 0] if len(m.self_interaction) else np.zeros(8)
            for m in said
        ]
    )
    assert len(rows) == 12
    assert_statistics(rows['environment left_hand'], near[:, 0], '')
    assert_statistics(rows['environment right_foot'], near[:, 3], '')
    assert_statistics(rows['own body right_hand'], own[:, 1], '')
    assert_statistics(rows['own body right_knee'], own[:, 7], '')
    assert near.max() > 0.5, 'else nothing was compared'


def test_feet_are_those_of_the_messages_and_stand_where_they_are_low_and_slow(
    replayed_bag: Path, numbers: Path
) -> None:
    rows = series_of(numbers, 'feet')
    postures = plain_messages(replayed_bag, '/performer/posture')
    soles = np.array([m.msg.end_effectors.reshape(8, 3)[2:4] for m in postures])
    assert_statistics(rows['performer left sole height'], soles[:, 0, 2], '_m')
    puppet = plain_messages(replayed_bag, '/puppet/posture')
    name = puppet[0].msg.body
    heights = np.array([m.msg.end_effectors[11] for m in puppet])
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


def test_residuals_and_deviations_are_those_of_the_messages(
    replayed_bag: Path, numbers: Path
) -> None:
    rows = series_of(numbers, 'filter')
    raw = {m.stamp_ns: m.msg for m in plain_messages(replayed_bag, '/tracker/raw')}
    filtered = plain_messages(replayed_bag, '/tracker/filtered')
    i = filtered[0].msg.sensors.index('chest')
    j = next(iter(raw.values())).sensors.index('chest')
    apart = np.array(
        [
            raw[m.stamp_ns].poses.reshape(-1, 7)[j, :3] - m.msg.poses.reshape(-1, 7)[i, :3]
            for m in filtered
        ]
    )
    for k, axis in enumerate('xyz'):
        assert_statistics(rows[f'chest position residual {axis}'], 1e3 * apart[:, k], '_mm')
    turns = np.array([m.msg.covariances.reshape(-1, 6, 6)[i, 4, 4] for m in filtered])
    assert_statistics(rows['chest rotation sigma y'], np.rad2deg(np.sqrt(turns)), '_deg')
    frames = json.loads(numbers.read_text())['plots']['filter']['frames']['chest']
    status = np.array([m.msg.status[i] for m in filtered])
    assert frames['ok'] == np.sum(status == 0) and frames['reinitialised'] == np.sum(status == 3)
    assert sum(frames.values()) == len(filtered)


@pytest.mark.parametrize('kind', OF_POSTURES.split(','))
def test_pictures_are_as_wide_as_they_should_be(numbers: Path, kind: str) -> None:
    with Image.open(numbers.with_name(f'a_{kind}.png')) as picture:
        assert picture.size[0] == 1000
        colours = picture.convert('RGB').getcolors(1 << 24)
        assert colours is not None and len(colours) > 50


@pytest.mark.parametrize('suffix', ['png', 'svg', 'pdf'])
def test_the_same_bag_gives_the_same_bytes(
    replayed_bag: Path, tmp_path: Path, suffix: str
) -> None:
    for name in ('a', 'b'):
        assert run(replayed_bag, tmp_path / f'{name}.{suffix}', '--what', 'feet') == 0
    data = (tmp_path / f'a.{suffix}').read_bytes()
    assert data == (tmp_path / f'b.{suffix}').read_bytes()
    assert data[:5] in (b'\x89PNG\r', b'<?xml', b'%PDF-')


def test_span_is_counted_from_the_first_stamp(replayed_bag: Path, tmp_path: Path) -> None:
    report = tmp_path / 'a.json'
    assert (
        run(
            replayed_bag,
            '--what',
            'importance',
            '--from',
            '1.5',
            '--to',
            '2.25',
            tmp_path / 'a.svg',
            '--json',
            report,
        )
        == 0
    )
    origin_ns = plain_messages(replayed_bag, '/tracker/raw')[0].stamp_ns
    at = [m.stamp_ns - origin_ns for m in plain_messages(replayed_bag, '/importance')]
    inside = sum(1_500_000_000 <= ns <= 2_250_000_000 for ns in at)
    assert 0 < inside < len(at)
    assert series_of(report, 'importance')['environment left_foot']['count'] == inside


def test_everything_is_drawn_that_the_bag_has(
    replayed_bag: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
def test_mistakes_are_named(
    replayed_bag: Path,
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
def test_a_topic_that_is_missing_is_named(
    golden: str, kind: str, missing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = GOLDENS / f'{golden}.mcap'
    assert run(bag, '--what', kind, tmp_path / 'a.png') == 2
    assert f'expected messages on {missing}' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_no_bag_and_no_matplotlib_are_told(
    replayed_bag: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(tmp_path / 'none.mcap') == 2
    assert 'expected a bag, got nothing' in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    assert run(replayed_bag, '--what', 'feet', tmp_path / 'a.png') == 2
    assert 'matplotlib: expected it for plots' in capsys.readouterr().err


def test_the_bag_is_never_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = write_bag(tmp_path / 'a.mcap', moments(9))
    before = bag.read_bytes()
    assert run(bag, '--what', 'feet', bag) == 2
    assert run(bag, '--what', 'importance', '--json', tmp_path / 'x.json', bag) == 2
    assert bag.read_bytes() == before
    assert 'expected a name in .png' in capsys.readouterr().err


Drawing = Callable[[PlotBag], Figure]
DRAWINGS: dict[str, Drawing] = {
    'importance': lambda bag: draw_importance(bag.importances(), 'a.mcap'),
    'feet': lambda bag: draw_feet(bag.feet(), 'a.mcap'),
    'filter': lambda bag: draw_filter(bag.sensors(['right_upper_arm']), 'a.mcap'),
}


@pytest.mark.parametrize('kind', DRAWINGS)
def test_nothing_lies_over_anything_else(replayed_bag: Path, kind: str) -> None:
    """Legends stand over their panels and beside the titles; all axes say what they are."""
    with BagReader(replayed_bag) as reader, styled():
        figure = DRAWINGS[kind](PlotBag(reader))
        figure.draw_without_rendering()
    seen = [axes for axes in figure.axes if axes.axison]
    assert seen[-1].get_xlabel() == 'time [s]'
    for axes in seen:
        title = axes.get_title(loc='left')
        assert axes.get_ylabel() or 'by status' in title
        legend = axes.get_legend()
        if legend is not None:
            box = legend.get_window_extent()
            assert box.y0 >= axes.bbox.y1 - 1.0 and box.x1 <= figure.bbox.x1
            words = axes._left_title.get_window_extent()
            assert not title or words.x1 < box.x0
    boxes = [axes.get_tightbbox() for axes in seen]
    for above, below in zip(boxes, boxes[1:]):
        assert below.y1 <= above.y0 + 1.0, 'panels do not overlap'
