# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A whole driver without ROS on some ports, and what comes of it; for several tests."""

import threading
import time

import numpy as np
from puppet_core.io import build_config, check_values
from puppet_driver.driver import make_reader
from puppet_driver.emulator.server import EmulatorServer
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig


def wait(condition, seconds=15.0):
    deadline_s = time.monotonic() + seconds
    never = threading.Event()
    while not condition() and time.monotonic() < deadline_s:
        never.wait(0.005)
    return condition()


def driver_config(**given):
    return build_config(DriverConfig, check_values(DRIVER_ROWS, given))


class Session:
    def __init__(self, ports, **options):
        if isinstance(ports, EmulatorServer):
            ports = [str(line.pty.link) for line in ports.lines]
        self.stamps_ns = []
        self.poses = []
        self.news = []
        self.reader = make_reader(
            driver_config(ports=list(ports), **options),
            self.keep,
            lambda *news: self.news.append(news),
        )
        self.reader.start()

    def keep(self, frame):
        self.stamps_ns.append(frame.stamp_ns)
        self.poses.append(frame.poses.copy())

    def has(self, n_frames):
        wanted = len(self.poses) + n_frames
        return lambda: len(self.poses) >= wanted

    def said(self, text):
        return lambda: any(is_error and text in news for is_error, news in self.news)

    def states(self):
        return [line.state for line in self.reader.lines]

    def n_streams(self):
        return sum('streams' in news for is_error, news in self.news if not is_error)

    def stop(self):
        self.reader.stop()
        assert self.reader.failure is None


def nearest_error(truth, poses):
    """
    Return how far a frame is from the nearest of many true ones, NaN left out.

    That is the largest error of a position [m] and of a quaternion's dot product.
    """
    error = np.nanmax(np.abs(truth[..., :3] - poses[:, :3]), axis=(1, 2))
    dots = np.abs(np.sum(truth[int(error.argmin()), :, 3:] * poses[:, 3:], axis=1))
    return float(error.min()), 1.0 - float(np.nanmin(dots))
