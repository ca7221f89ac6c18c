# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Peers by name; libraries of others are no part of the suite and imported only when asked for.

`as_printed` is the thesis to the letter (`as_printed.py`): a solver of ours, but nobody's choice.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import product
from typing import NamedTuple

from benchmarks.quality.as_printed import AS_PRINTED, is_as_printed, printed_job
from benchmarks.quality.peer_solver import PeerSolver
from puppet_core.body import Skeleton
from puppet_core.io import ConfigError, how_to_install
from puppet_retarget.offline import RetargetJob


class _Source(NamedTuple):
    module: str
    solver: str
    wants: str  # what to install


_PEERS = {'mink': _Source('benchmarks.quality.peer_mink', 'MinkSolver', 'mink')}
PEER_NAMES = (AS_PRINTED, *_PEERS)


def peer_runs(jobs: Sequence[RetargetJob], names: Sequence[str]) -> list[tuple[str, RetargetJob]]:
    """
    Return peer and job of all runs: each peer on each puppet, measured as the first job.

    Raises
    ------
    ConfigError : for an unknown peer, or one whose library is missing.

    """
    first = [job for job in jobs if job.solver == jobs[0].solver]
    for name in names:
        if is_as_printed(name):
            printed_job(name, first[0])
        else:
            _peer_class(name)
    return list(product(dict.fromkeys(names), first))


def make_peer(name: str, job: RetargetJob, performer: Skeleton) -> PeerSolver:
    """
    Return a peer for the puppet of a job and the performer's body.

    Raises
    ------
    ConfigError : for an unknown peer, or one whose library is missing.

    """
    return _peer_class(name)(job, performer)


def is_peer(name: str) -> bool:
    """Return whether a row of the bench is a peer's."""
    return is_as_printed(name) or name in _PEERS


def _peer_class(name: str) -> Callable[[RetargetJob, Skeleton], PeerSolver]:
    if name not in _PEERS:
        raise ConfigError(f'--peers: expected names of {", ".join(PEER_NAMES)}, got {name!r}')
    source = _PEERS[name]
    try:
        module = import_module(source.module)
    except ImportError as err:
        hint = how_to_install('peers', source.wants)
        raise ConfigError(f'--peers: {name} is not installed ({err}); {hint}') from err
    solver: Callable[[RetargetJob, Skeleton], PeerSolver] = getattr(module, source.solver)
    return solver
