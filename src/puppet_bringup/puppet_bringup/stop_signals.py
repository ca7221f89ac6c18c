# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The signals that end a command which runs a graph, so that it takes everything with it."""

import signal
import threading


def stop_on_signals() -> threading.Event:
    """Return an event that Ctrl-C, SIGTERM and a closed terminal set; nohup keeps the last off."""
    stopping = threading.Event()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    for number in numbers:
        signal.signal(number, lambda *_: stopping.set())
    return stopping
