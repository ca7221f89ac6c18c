# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The device of doc/trackers.md, word for word: its code runs, on a pseudo-terminal."""

import os
import re
import select
import threading
import tty

from driver_session import wait
import numpy as np
from puppet_core.io import build_config, defaults
from puppet_driver import devices
from puppet_driver.devices.line import LineState
from puppet_driver.driver import make_reader
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig
import pytest
from source_tree import ROOT

PAGE = ROOT / 'doc' / 'trackers.md'
PERIOD_S = 0.01
DEGREES_A_TICK = 1.5


class TurntableHardware:
    def __init__(self):
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        self.is_turning = False
        self.garbage = []  # is sent once, before the next record
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self):
        self._has_ended.set()
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)

    def _run(self):
        tick = 0
        while not self._has_ended.is_set():
            if select.select([self._master], (), (), PERIOD_S)[0]:
                for command in os.read(self._master, 64):
                    if command == ord('?'):
                        os.write(self._master, b'TT1')
                    elif command in b'gs':
                        self.is_turning = command == ord('g')
            elif self.is_turning:
                tick += 1
                angle = round(100 * DEGREES_A_TICK * tick) % 36000
                garbage = self.garbage.pop() if self.garbage else b''
                os.write(self._master, garbage + b'T%05d\n' % angle)


@pytest.fixture
def hardware():
    one = TurntableHardware()
    yield one
    one.close()


@pytest.fixture
def config(monkeypatch, hardware):
    module, entry = re.findall(r'```python\n(.*?)```', PAGE.read_text(), re.DOTALL)
    names = dict(vars(devices))
    exec(compile(module, str(PAGE), 'exec'), names)
    new = eval(compile('{' + entry + '}', str(PAGE), 'eval'), names)
    for name, kind in new.items():
        monkeypatch.setitem(devices.DEVICES, name, kind)
    values = defaults(DRIVER_ROWS) | {
        'device': 'turntable',
        'ports': (hardware.port,),
        'sensors': ('plate',),
        'rate_hz': 1.0 / PERIOD_S,
    }
    return build_config(DriverConfig, values)


def test_the_pages_turntable_turns_in_the_drivers_frames(config, hardware):
    frames = []
    news = []
    reader = make_reader(config, frames.append, lambda _, text: news.append(text))
    reader.start()
    try:
        assert wait(lambda: len(frames) >= 50)
        hardware.garbage.append(b'T99\xff\x00\n')
        assert wait(lambda: reader.lines[0].status.counters.discarded_bytes == 6)
        n_before = len(frames)
        hardware.is_turning = False
        assert wait(lambda: any('got none for' in text for text in news))
        # started again by itself
        assert wait(lambda: len(frames) > n_before + 20)
        assert reader.lines[0].state is LineState.STREAMING
    finally:
        reader.stop()
    assert reader.failure is None
    assert wait(lambda: not hardware.is_turning)
    poses = np.array([frame.poses[0] for frame in frames])
    angles_deg = np.degrees(2.0 * np.unwrap(np.arctan2(poses[:, 6], poses[:, 3]), period=np.pi))
    assert np.median(np.diff(angles_deg)) == pytest.approx(DEGREES_A_TICK, abs=1e-6)
    assert np.diff([frame.stamp_ns for frame in frames]).min() > 0
