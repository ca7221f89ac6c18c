# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A process of its own that reads a C3D file through ezc3d, and its parent's side.

The library is compiled code that a damaged file can crash, or make ask for any amount of
memory. Here that costs a process with a limit instead of the command that wanted the clip.

"""

from collections.abc import Mapping
import os
from pathlib import Path
import resource
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
from puppet_core.io import ConfigError, InputFileError

MAX_MEMORY_BYTES = 8 * 2**30
TIME_LIMIT_S = 120.0
_NO_PACKAGE = 3  # exit code


def load_content(path: Path) -> dict[str, Any]:
    """
    Return a file's content, read by a child process, in the file's unit.

    labels (m,), points (n, m, 3), residuals (n, m), negative where a point was not seen, rate_hz;
    unit and y_screen, '' where POINT has none; names and numbers of the group PROCESSING.

    Raises
    ------
    InputFileError : if the file cannot be read, whatever the library does over it.
    ConfigError : if ezc3d is not installed.

    """
    search = os.pathsep.join(entry for entry in sys.path if entry)
    with tempfile.TemporaryDirectory(prefix='c3d_') as folder:
        out = Path(folder) / 'content.npz'
        command = [sys.executable, '-m', 'puppet_core.clips.c3d_child', str(path), str(out)]
        try:
            done = subprocess.run(
                command,
                env=os.environ | {'PYTHONPATH': search},
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as err:
            got = f'one that takes longer than {TIME_LIMIT_S:g} s to read'
            raise InputFileError(path, 'a whole C3D file', got) from err
        if done.returncode == _NO_PACKAGE:
            raise ConfigError(
                f'{path}: expected the package ezc3d, which reads C3D, got none; '
                'install it: pip install ezc3d'
            )
        if done.returncode != 0:
            said = (done.stderr.strip().split('\n')[-1]).replace(': iostream error', '')
            got = f'a damaged one ({said[:200]})' if said else 'one that its reader crashes over'
            raise InputFileError(path, 'a whole C3D file', got)
        with np.load(out) as content:
            return dict(content)


def _values(parameters: Mapping[str, Any], group: str, name: str) -> list[Any]:
    entry = parameters.get(group, {}).get(name)
    return list(entry['value']) if isinstance(entry, Mapping) and 'value' in entry else []


def _text(parameters: Mapping[str, Any], name: str) -> str:
    values = _values(parameters, 'POINT', name)
    return str(values[0]).strip() if values else ''


def _pack(content: Any, out: Path) -> None:
    parameters = content['parameters']
    # More than 255 labels go on in LABELS2, LABELS3 ..
    names = ('LABELS', *(f'LABELS{number}' for number in range(2, 100)))
    labels = [str(text).strip() for name in names for text in _values(parameters, 'POINT', name)]
    points = np.asarray(content['data']['points'], dtype=np.float64)
    labels = labels[: points.shape[1]]
    measures = {}
    for key in parameters.get('PROCESSING', {}):
        values = _values(parameters, 'PROCESSING', key)
        if len(values) == 1 and isinstance(values[0], (int, float, np.number)):
            measures[key.lower()] = float(values[0])
    residuals = np.asarray(content['data']['meta_points']['residuals'], dtype=np.float64)
    np.savez(
        out,
        labels=np.array(labels, dtype=str),
        points=points[:3, : len(labels)].transpose(2, 1, 0),
        residuals=residuals[0, : len(labels)].T,
        rate_hz=float(content['header']['points']['frame_rate']),
        unit=_text(parameters, 'UNITS'),
        y_screen=_text(parameters, 'Y_SCREEN'),
        names=np.array(list(measures), dtype=str),
        numbers=np.array(list(measures.values())),
    )


def main(path: str, out: str) -> int:
    """Read a file and leave its content for the parent; return the exit code."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        import ezc3d
    except ImportError:
        return _NO_PACKAGE
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > MAX_MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, hard))
    try:
        _pack(ezc3d.c3d(path), Path(out))
    except Exception as err:  # whatever compiled code raises on a bad file
        sys.stderr.write((str(err).split('\n')[0] or type(err).__name__) + '\n')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
