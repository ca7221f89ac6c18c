# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which fault comes when: a seeded order in which every kind and every target of it comes.

Kinds come in rounds, each once a round in a new order; the targets of a kind likewise, so that
after as many rounds as a kind has targets each of them had its turn.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.io import ConfigError

KILL, PAUSE, UNPLUG, STARVE, CLOCK = 'kill', 'pause', 'unplug', 'starve', 'clock'
STORM, RIVAL, DEAF, HOSTILE, TWIN = 'parameters', 'publisher', 'deaf', 'hostile', 'twin'
PULLED, STOPPED = 'pulled', 'ended'  # ways in which a tracker goes
LEAP, BACK, SWAY = 'forward', 'back', 'to and fro'  # ways of a clock
LEAST_CLOCK_STEP_S, MOST_CLOCK_STEP_S = 0.05, 600.0
TOPICS = ('/tracker/raw', '/tracker/filtered', '/performer/posture', '/importance')


class Kind(NamedTuple):
    """One kind of fault."""

    summary: str  # What is done, for people
    least_s: float  # Shortest time that the cause lasts [s]
    most_s: float  # Longest time that the cause lasts [s]


KINDS = {
    KILL: Kind('SIGKILL of a node, which is started again', 0.0, 0.0),
    PAUSE: Kind('SIGSTOP of a node or of the tracker, later SIGCONT', 0.3, 2.0),
    UNPLUG: Kind('the tracker goes with its ports, and comes back', 1.0, 3.0),
    STARVE: Kind('busy processes, four a core: streams lose messages', 2.0, 4.0),
    CLOCK: Kind('/clock steps, with --sim-time', 0.5, 1.5),
    STORM: Kind(
        'a node gets parameters, other solvers and characters, nonsense, as fast as it answers',
        1.0,
        2.0,
    ),
    RIVAL: Kind('another program publishes on /tracker/raw', 1.0, 2.0),
    DEAF: Kind('a program subscribes to all topics and never reads', 3.0, 4.0),
    HOSTILE: Kind('a burst of malformed messages on a topic', 0.5, 1.0),
    TWIN: Kind('a program of the graph is started once more, and refused', 0.0, 0.0),
}


class Fault(NamedTuple):
    """One fault to cause."""

    kind: str  # One of KINDS
    target: str  # Node, topic or way, by kind; '' where there is no choice
    hold_s: float  # How long the cause lasts [s]
    pause_s: float  # Quiet time before it [s]
    size: float  # In [0, 1): how large, where there is a size

    @property
    def name(self) -> str:
        """Return kind and target."""
        return f'{self.kind} {self.target}'.rstrip()


def read_kinds(text: str, is_sim_time: bool, is_composed: bool = False) -> tuple[str, ...]:
    """
    Return the kinds of a list like `kill,pause`; all that are possible if it is empty.

    Nodes that share a process do not listen to the topics between them.

    Raises
    ------
    ConfigError : for an unknown kind, and for one that is not possible in this form.

    """
    absent = (() if is_sim_time else (CLOCK,)) + ((RIVAL, HOSTILE) if is_composed else ())
    known = [kind for kind in KINDS if kind not in absent]
    kinds = [word.strip() for word in text.split(',')] if text.strip() else known
    for kind in kinds:
        if kind == CLOCK and not is_sim_time:
            raise ConfigError(f'--faults: {CLOCK}: expected --sim-time with it, got none')
        if kind not in known:
            raise ConfigError(f'--faults: expected some of {",".join(known)}, got {kind!r}')
    return tuple(dict.fromkeys(kinds))


def targets_of(
    processes: Sequence[str], nodes: Sequence[str], source: str
) -> dict[str, tuple[str, ...]]:
    """
    Return what each kind may hit.

    Parameters
    ----------
    processes : sequence of str
        Programs that nodes run in.
    nodes : sequence of str
        The nodes themselves.
    source : str
        The program that plays the tracker.

    """
    return {
        KILL: tuple(processes),
        PAUSE: (*processes, source),
        UNPLUG: (PULLED, STOPPED),
        STARVE: ('',),
        CLOCK: (LEAP, BACK, SWAY),
        STORM: tuple(nodes),
        RIVAL: ('',),
        DEAF: ('',),
        HOSTILE: TOPICS,
        TWIN: tuple(processes),
    }


def faults(
    seed: int, kinds: Sequence[str], targets: Mapping[str, Sequence[str]]
) -> Iterator[Fault]:
    """
    Yield faults without end, the same for the same arguments.

    Parameters
    ----------
    seed : int
        Of the order, the targets, the times and sizes.
    kinds : sequence of str
        Some of KINDS.
    targets : mapping
        What each of them may hit.

    """
    rng = np.random.default_rng(seed)
    decks: dict[str, list[str]] = {kind: [] for kind in kinds}
    while True:
        for i in rng.permutation(len(kinds)):
            kind = kinds[i]
            if not decks[kind]:
                order = rng.permutation(len(targets[kind]))
                decks[kind] = [targets[kind][k] for k in order]
            spread, pause_s, size = rng.random(), rng.uniform(0.5, 1.5), rng.random()
            least_s, most_s = KINDS[kind].least_s, KINDS[kind].most_s
            hold_s = least_s + spread * (most_s - least_s)
            yield Fault(kind, decks[kind].pop(), hold_s, pause_s, size)


def clock_step_s(size: float) -> float:
    """Return the step of a clock for a size in [0, 1), small and large ones as often [s]."""
    return LEAST_CLOCK_STEP_S * (MOST_CLOCK_STEP_S / LEAST_CLOCK_STEP_S) ** size
