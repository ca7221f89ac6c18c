# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of chaos, fuzz and soak."""

import pytest


@pytest.fixture(scope='session')
def sensors_bag(tmp_path_factory):
    """Return a bag with three seconds of /tracker/raw, from the T-pose on."""
    from puppet_driver.emulator import cli

    path = tmp_path_factory.mktemp('bags') / 'sensors.mcap'
    assert cli.main(['--export', str(path), '--export-s', '3', '--seed', '3']) == 0
    return path
