# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The files in config/ say what the parameter rows say: same names, order and values."""

from pathlib import Path

from puppet_core.io import build_config, check_values, defaults, read_parameter_file
from puppet_driver.parameters import DRIVER_ROWS
from puppet_driver.pose_topics import POSE_TOPICS_ROWS
from puppet_filter.parameters import PoseFilterConfig
from puppet_filter.parameters import ROWS as POSE_FILTER_ROWS
from puppet_filter.tracker_markers_node import TRACKER_MARKERS_ROWS, TrackerMarkersConfig
from puppet_performer.parameters import PERFORMER_ROWS, PerformerConfig
from puppet_retarget.parameters import IMPORTANCE_ROWS, RETARGET_ROWS
from puppet_view.rviz.visualization_node import VISUALIZATION_ROWS, VisualizationConfig
import pytest

CONFIG = Path(__file__).resolve().parents[1] / 'config'
ROWS = {
    'tracker_driver': DRIVER_ROWS,
    'pose_topics': POSE_TOPICS_ROWS,
    'pose_filter': POSE_FILTER_ROWS,
    'tracker_markers': TRACKER_MARKERS_ROWS,
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
    assert all('  # ' in line for line in lines if line.startswith('    ') and line[-1] != ':')


@pytest.mark.parametrize(
    ('kind', 'node'),
    [
        (PoseFilterConfig, 'pose_filter'),
        (TrackerMarkersConfig, 'tracker_markers'),
        (PerformerConfig, 'performer'),
        (VisualizationConfig, 'visualization'),
    ],
)
def test_config_defaults_are_those_of_the_rows(kind, node):
    assert build_config(kind, defaults(ROWS[node])) == kind()
