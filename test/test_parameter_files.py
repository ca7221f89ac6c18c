# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The files in config/ say what the parameter rows say: same names, order and values."""

from pathlib import Path

from puppet_core.io import check_values, defaults, read_parameter_file
from puppet_performer.parameters import PERFORMER_ROWS, PerformerConfig
from puppet_retarget.parameters import IMPORTANCE_ROWS, RETARGET_ROWS
from puppet_view.rviz.visualization_node import VISUALIZATION_ROWS, VisualizationConfig
import pytest

CONFIG = Path(__file__).resolve().parents[1] / 'config'
ROWS = {
    'performer': PERFORMER_ROWS,
    'importance': IMPORTANCE_ROWS,
    'retarget': RETARGET_ROWS,
    'visualization': VISUALIZATION_ROWS,
}


@pytest.mark.parametrize(('node', 'rows'), ROWS.items(), ids=ROWS)
def test_file_has_every_parameter_in_order_at_its_default(node, rows):
    given = read_parameter_file(CONFIG / f'{node}.yaml', node)
    assert list(given) == [row.name for row in rows]
    assert check_values(rows, given) == defaults(rows)


@pytest.mark.parametrize('node', ROWS)
def test_every_line_of_a_file_is_explained(node):
    lines = (CONFIG / f'{node}.yaml').read_text().splitlines()
    assert all('  # ' in line for line in lines if line.startswith('    '))


@pytest.mark.parametrize(
    ('kind', 'rows'),
    [(PerformerConfig, PERFORMER_ROWS), (VisualizationConfig, VISUALIZATION_ROWS)],
)
def test_config_defaults_are_those_of_the_rows(kind, rows):
    made = kind()
    assert {row.name: getattr(made, row.name) for row in rows} == defaults(rows)
