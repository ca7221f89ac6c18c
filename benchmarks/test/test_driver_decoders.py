# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The decoders' benchmark: each device is started against its simulator and understood."""

from benchmarks.driver import decoders as bench_decoders
from puppet_driver.emulator import SIMULATORS


def test_every_device_with_a_twin_is_measured(capsys):
    assert bench_decoders.main(['--seconds', '0.01']) == 0
    rows = [line.split('|') for line in capsys.readouterr().out.splitlines()[2:]]
    assert {row[1].strip() for row in rows} == set(SIMULATORS)
    assert all(float(row[4]) > 0.0 for row in rows)
