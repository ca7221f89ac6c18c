# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Driver and filter agree on how fast a body moves, though neither knows the other."""

from puppet_core.parameter_rows import defaults
from puppet_driver.parameters import DRIVER_ROWS
from puppet_driver.plausible_path import MAX_SPEED_MPS, MAX_TURN_RADPS
from puppet_filter.parameters import PoseFilterConfig


def test_driver_and_filter_have_the_same_fastest_body():
    config = PoseFilterConfig()
    assert defaults(DRIVER_ROWS)['max_speed_mps'] == MAX_SPEED_MPS == config.gate_jump_speed_m_s
    assert MAX_TURN_RADPS == config.gate_jump_rate_rad_s
