# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What was done, and for which inputs: fingerprints, written when a step is done."""

from collections.abc import Iterable
import hashlib
import json
import os
from pathlib import Path

Stamp = dict[str, str]


def fingerprint(parts: Iterable[bytes | str]) -> str:
    """Return a short digest of the parts, in their order."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, 'little') + data)
    return digest.hexdigest()[:16]


def read_stamp(path: Path) -> Stamp:
    """Return the stamp in the file; empty if there is none, or none that can be read."""
    try:
        stamp = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(path: Path, stamp: Stamp) -> None:
    """Write the stamp beside, then rename: it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f'{path.name}.{os.getpid()}')
    beside.write_text(json.dumps(stamp, indent=1, sort_keys=True))
    beside.replace(path)
