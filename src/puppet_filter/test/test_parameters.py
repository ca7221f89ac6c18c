# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""parameters: rows, config and YAML agree; impossible combinations are refused."""

from pathlib import Path

from puppet_core.io import check_values, ConfigError, read_parameter_file
from puppet_filter.parameters import make_config, PoseFilterConfig, ROWS
import pytest

CONFIG_FILE = Path(__file__).resolve().parents[3] / 'config' / 'pose_filter.yaml'


def test_shipped_file_has_every_row_in_order_with_its_default():
    values = read_parameter_file(CONFIG_FILE, 'pose_filter')
    assert list(values) == [row.name for row in ROWS]
    assert make_config(check_values(ROWS, values)) == PoseFilterConfig()


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ({'process.q3': 1e-3}, 'process.q3: expected process.q2'),
        ({'process.q2': 1.0, 'process.q3': 1.0}, r'process.q2: expected value <= sqrt\(q1 q4\)'),
        ({'process.quiet_linear_m2_s3': 300.0}, 'process.quiet_linear_m2_s3: expected value <='),
        ({'gap.lost_after_s': 0.01}, 'gap.lost_after_s: expected value >= gap.hold_s'),
    ],
)
def test_impossible_combination_is_refused(values, text):
    with pytest.raises(ConfigError, match=text):
        make_config(check_values(ROWS, values))
