# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Starting a device by bytes alone, for several tests."""

from polhemus_bytes import poses_of
from puppet_driver.emulator.simulator import DeviceSimulator


def deaf(command, now_s):
    return b''


def start(tracker, device, alter=bytes):
    commands, notes, now_s = [], [], 0.0
    steps = tracker.start_exchanges()
    reply = None
    while True:
        try:
            exchange = steps.send(reply)
        except StopIteration:
            return commands, notes
        if exchange.note:
            notes.append(exchange.note)
        else:
            commands.append(exchange.command)
        if isinstance(device, DeviceSimulator):
            answer = device.receive(exchange.command, now_s)
            for _ in range(device.take_poll_requests()):
                answer += burst(device)
        else:
            answer = device(exchange.command, now_s)
        answer = alter(answer)
        now_s += exchange.pause_s + (0.0 if answer else exchange.timeout_s)
        reply = answer[: exchange.wanted_bytes(answer)]


def burst(device):
    records = device.encode(poses_of(1, device.n_sensors), 0)
    return b''.join(r.tobytes() for r in records)
