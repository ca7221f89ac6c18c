# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Reports as JSON files: strict JSON, so that what is not a finite number becomes null."""

from collections.abc import Mapping, Sequence
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.io import write_text


def plain(value: Any) -> Any:
    """Return mappings, sequences and numbers as strict JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def report_text(report: Any) -> str:
    """Return a report as indented JSON that ends with a line end."""
    return json.dumps(plain(report), indent=2, allow_nan=False) + '\n'


def write_report(report: Any, path: str | Path) -> None:
    """Write a report, all or nothing."""
    write_text(path, report_text(report))
