# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A process that reads damaged files one after the other and says how each ended.

Its memory is limited. It is told line by line which cases of which kind have their turn. What it
says are lines of JSON: one when a case begins, which is all that is left of a case that never
ends, one when it has ended, and one at the end of the turn.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
import json
import os
from pathlib import Path
import resource
import sys
import time
from typing import Any
import warnings

import numpy as np
from puppet_core.io import PuppetError
from robustness.fuzz.kinds import FileKind, KINDS
from robustness.fuzz.mutations import mutated

READ, REFUSED, CRASH, UNNAMED, MEMORY, NOT_FINITE, HANG = OUTCOMES = (
    'read',
    'refused',
    'crash',
    'unnamed',
    'memory',
    'not_finite',
    'hang',
)
BAD = (CRASH, UNNAMED, MEMORY, NOT_FINITE, HANG)
ROOM_BYTES = 2 << 30  # of addresses, above what the warm process has
MOST_MB = 512.0  # that reading one case may take
UNDAMAGED = -1  # in the place of a case's number
ODD = ('folder', 'pipe', 'loop of links', 'endless device', 'nothing', 'socket')


def case_data(kind: FileKind, name: str, seed: int, index: int) -> tuple[str, bytes]:
    """Return what is wrong with a case, and its bytes; the same for the same arguments."""
    rng = np.random.default_rng([seed, *name.encode(), index])
    seeds = good_files(kind)
    good = seeds[int(rng.integers(len(seeds)))]
    return mutated(good, kind.is_text, rng)


@lru_cache
def good_files(kind: FileKind) -> list[bytes]:
    """Return the undamaged files of a kind."""
    return kind.seeds()


def make_odd(what: str, path: Path) -> None:
    """Put something in a file's place that is none."""
    if what == 'folder':
        path.mkdir()
    elif what == 'pipe':
        os.mkfifo(path)
    elif what == 'loop of links':
        path.symlink_to(path.name)
    elif what == 'endless device':
        path.symlink_to('/dev/zero')
    elif what == 'socket':
        import socket

        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))


def judged(kind: FileKind, path: Path) -> tuple[str, str]:
    """Return how reading a file ends, and the message."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            content = kind.read(path)
    except PuppetError as err:
        text = str(err)
        return (REFUSED if path.name in text and 'expected' in text else UNNAMED), text
    except MemoryError as err:
        return MEMORY, f'MemoryError: {err}'
    except Exception as err:  # whatever it is, it is the finding
        return CRASH, _where(err)
    name = not_finite(content, kind.may_miss)
    return (NOT_FINITE, name) if name else (READ, '')


def not_finite(
    content: Any, may_miss: Collection[str] = (), name: str = '', depth: int = 4
) -> str:
    """Return the name of the first other field with NaN or infinity in it, '' if none has."""
    if isinstance(content, np.ndarray):
        is_bad = content.dtype.kind == 'f' and not np.isfinite(content).all()
        return name if is_bad else ''
    if depth == 0:
        return ''
    fields = getattr(content, '__dataclass_fields__', ()) or getattr(content, '_fields', ())
    parts = {field: getattr(content, field, None) for field in fields}
    if isinstance(content, Mapping):
        parts = dict(content)
    elif isinstance(content, (list, tuple)) and not fields:
        parts = dict(enumerate(content))
    for field, part in parts.items():
        if field in may_miss:
            continue
        found = not_finite(part, may_miss, f'{name}.{field}', depth - 1)
        if found:
            return found
    return ''


def read_undamaged(name: str, folder: Path) -> None:
    """Read the good files of a kind, which also loads and compiles what reading takes."""
    kind = KINDS[name]
    path = folder / f'case{kind.suffix}'
    _say(begin=UNDAMAGED, kind=name, what='undamaged')
    for good in good_files(kind):
        _remove(path)
        path.write_bytes(good)
        outcome, text = judged(kind, path)
        if outcome != READ:
            _say(
                case=UNDAMAGED,
                kind=name,
                what='undamaged',
                outcome=CRASH,
                text=text[:400],
                s=0.0,
                mb=0.0,
            )


def run(name: str, seed: int, indices: Iterable[int], folder: Path) -> None:
    """Read cases of one kind; the first of all are odd things in the file's place."""
    kind = KINDS[name]
    path = folder / f'case{kind.suffix}'
    for index in indices:
        _remove(path)
        if index < len(ODD):
            what = ODD[index]
            make_odd(what, path)
        else:
            what, data = case_data(kind, name, seed, index)
            path.write_bytes(data)
        _say(begin=index, kind=name, what=what)
        begin_mb, start = _fresh_peak_mb(), time.perf_counter()
        outcome, text = judged(kind, path)
        seconds = time.perf_counter() - start
        mb = max(_peak_mb() - begin_mb, 0.0)
        if mb > MOST_MB:
            outcome = MEMORY
        _say(case=index, kind=name, what=what, outcome=outcome, text=text[:400], s=seconds, mb=mb)
    _remove(path)


def _where(err: Exception) -> str:
    trace, place = err.__traceback__, ''
    while trace is not None:
        code = trace.tb_frame.f_code
        if 'puppet_' in code.co_filename:
            place = f'{Path(code.co_filename).name}:{trace.tb_lineno}'
        trace = trace.tb_next
    return f'{place}: {type(err).__name__}: {err}'


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _limited_memory() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path('/proc/self/statm').read_text(encoding='ascii').split()[0])
    limit = pages * resource.getpagesize() + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _fresh_peak_mb() -> float:
    """Forget the peak of the memory; return what is in use [MB]."""
    Path('/proc/self/clear_refs').write_text('5', encoding='ascii')
    return _status_mb('VmRSS')


def _peak_mb() -> float:
    return _status_mb('VmHWM')


def _status_mb(key: str) -> float:
    for line in Path('/proc/self/status').read_text(encoding='ascii').splitlines():
        if line.startswith(f'{key}:'):
            return int(line.split()[1]) / 1024.0
    return 0.0


def _say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def main() -> None:
    """Read for SEED in FOLDER; each line of the input is a turn: KIND FIRST COUNT."""
    seed, folder = int(sys.argv[1]), Path(sys.argv[2])
    known = set()
    for line in sys.stdin:
        name, first, count = line.split()
        if name not in known:
            read_undamaged(name, folder)
            known.add(name)
        with _limited_memory():
            run(name, seed, range(int(first), int(first) + int(count)), folder)
        _say(end=name)


if __name__ == '__main__':
    main()
