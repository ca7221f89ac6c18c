# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The layouts of the suite, and the file and line that a wrong one is told."""

from collections.abc import Callable
from pathlib import Path
import re

import numpy as np
from puppet_core.io import InputFileError
from puppet_performer.sensor_layout import load_layout
import pytest

FOLDER = Path(__file__).resolve().parents[3] / 'config/layouts'
FILES = sorted(FOLDER.glob('*.yaml'))
COUNTS = {
    'six_point': 6,
    'enhance11': 11,
    'no_feet12': 12,
    'choi_ko13': 13,
    'default14': 14,
    'head15': 15,
    'girdle17': 17,
}
HEAD = 'format: puppet-layout/1\nsensors:\n- {segment: pelvis}\n- {segment: left_foot}\n'
GOOD = f'{HEAD}- {{segment: right_foot}}\n'


def test_all_sizes_are_there() -> None:
    layouts = [load_layout(path) for path in FILES]
    counts = {layout.name: len(layout.sensors) + len(layout.unused) for layout in layouts}
    assert counts == COUNTS


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_layout_is_symmetric_and_named_as_its_file(path: Path) -> None:
    layout = load_layout(path)
    left, right = layout.pairs.T
    mirrored = layout.mountings[left] * [1.0, -1.0, 1.0]
    np.testing.assert_array_equal(mirrored, layout.mountings[right])
    singles = [name for name in layout.segment_names if not name.startswith(('left', 'right'))]
    assert len(singles) + 2 * len(left) == len(layout.sensors)
    assert layout.name == path.stem


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_t_pose_calibrates_every_layout(path: Path, make_virtual: Callable) -> None:
    virtual = make_virtual(yaw=0.7, layout=load_layout(path))
    estimate = virtual.estimator().step(virtual.frame(*virtual.t_pose()))
    _, p, _ = virtual.truth(*virtual.t_pose())
    for segment in virtual.layout.segments:
        np.testing.assert_allclose(estimate.p_world[segment], p[segment], atol=1e-3)


@pytest.mark.parametrize(
    ('text', 'line', 'says'),
    [
        (GOOD + '- {segment: left_foot, sensor: b}\n', 6, 'segment: expected each once'),
        (GOOD + '- {segment: chest, sensor: pelvis}\n', 6, 'sensor: expected each once'),
        (GOOD + '- {segment: shoulder}\n', 6, 'segment: expected one of pelvis'),
        (GOOD + 'unused: left_shoulder\n', 6, 'unused: expected a list of names'),
        (GOOD + 'unused: [a, 3]\n', 6, 'unused: expected a list of names'),
        (GOOD + 'unused: [pelvis]\n', 2, 'sensors: expected each once, got pelvis'),
        (GOOD + 'spare: [a]\n', 6, 'spare: expected a known key'),
        (HEAD, 2, 'sensors: expected at least one left-right pair'),
    ],
    ids=[
        'segment twice',
        'sensor twice',
        'no segment',
        'no list',
        'no text',
        'used',
        'unknown',
        'no pair',
    ],
)
def test_error_names_file_and_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = tmp_path / 'mine.yaml'
    path.write_text(text)
    with pytest.raises(InputFileError, match=rf'mine\.yaml:{line}: .*{re.escape(says)}'):
        load_layout(path)


def test_unused_sensors_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / 'mine.yaml'
    path.write_text(GOOD + 'unused: [left_shoulder, right_shoulder]\n')
    layout = load_layout(path)
    assert layout.unused == ('left_shoulder', 'right_shoulder')
    assert layout.sensors == ('pelvis', 'left_foot', 'right_foot')
