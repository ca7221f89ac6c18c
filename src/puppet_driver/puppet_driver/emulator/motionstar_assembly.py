# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""An emulated MotionStar on the network, ready to run."""

from collections.abc import Sequence
from typing import cast

from puppet_core.errors import ConfigError
from puppet_core.motion_loop import LoopedMotion
from puppet_driver.emulator.assembly import EmulatorConfig, measured_source
from puppet_driver.emulator.faults import Faults
from puppet_driver.emulator.motionstar_bursts import MotionStarBursts
from puppet_driver.emulator.motionstar_device import MotionStarDevice
from puppet_driver.emulator.network_cable import NetworkCable
from puppet_driver.emulator.pty_server import EmulatedLine, PtyServer
from puppet_driver.emulator.twins import make_twins
from puppet_driver.line_plan import spread
from puppet_driver.network_port import Endpoint


def build_motionstar_server(
    config: EmulatorConfig, looped: LoopedMotion, addresses: Sequence[Endpoint]
) -> PtyServer:
    """
    Return a server that listens by TCP and by UDP, a device at each address.

    Raises
    ------
    ConfigError : if the rate is none of the device's, the sensors do not fit or an address is
        taken.

    """
    counts = spread(len(config.sensors), len(addresses))
    faults = Faults(config.faults, config.seed)
    source = measured_source(config, looped, faults)
    lines = []
    first = 0
    try:
        for address, twin, count in zip(addresses, make_twins(config, counts), counts):
            device = cast(MotionStarDevice, twin)
            bursts = MotionStarBursts(device, slice(first, first + count), faults)
            cable = NetworkCable(address.host, address.port)
            lines.append(EmulatedLine(cable, device, bursts))
            first += count
    except ConfigError:
        for line in lines:
            line.pty.close()
        raise
    return PtyServer(lines, source, config.rate_hz, config.restart_after_s)
