# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated trackers that the driver cannot distinguish from hardware."""

from puppet_driver.emulator.emulator import EmulatorConfig, SIMULATORS
from puppet_driver.emulator.simulator import DeviceSimulator, FaultRates, Faults, LinePackets
