# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A short recording of the golden performance, with the T-pose that the performer needs."""

from pathlib import Path

from puppet_replay.goldens import FOLDER, PERFORMANCE
from puppet_ros.bags import BagReader, BagWriter

GOLDENS = Path(__file__).resolve().parents[3] / FOLDER


def recorded(path: Path, duration_s: float) -> Path:
    """Write that much of the frames of the performance, whatever is left out between them."""
    with BagReader(GOLDENS / PERFORMANCE) as reader, BagWriter(path) as writer:
        count = 0
        for message in reader.messages():
            count += message.topic == '/tracker/raw'
            if count <= 60 * duration_s:
                writer.write(message.topic, message.type, message.log_ns, message.data)
    return path
