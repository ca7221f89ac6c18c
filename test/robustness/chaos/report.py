# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a fault run came to: one row a fault, the aims, a table by cause, the JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
import re
from typing import Any

import numpy as np
from robustness.chaos.recovery import NO_STEP, Recovery, Step
from robustness.chaos.schedule import CLOCK, HOSTILE, KILL, PAUSE, RIVAL, STARVE, UNPLUG

MAX_RECOVERY_S = 2.0  # killed nodes load for one second, the composed graph for nearly two
MAX_GROWTH_MB = 50.0  # of a program between start and end; a leak of messages is far more
SAID_SHOWN, SAID_WIDTH = 2, 110  # lines a cause, characters
NEVER = Recovery(float('inf'), float('inf'), float('inf'))
EFFECT_GAP_S = 0.5  # without joint states: from here on a fault was felt
# what must be said, by kind: {target}, and {readers} of that topic
NAMED = {
    KILL: r'^puppet_up: {target}: .*SIGKILL',
    UNPLUG: r'^tracker_driver: .*\bline\d',
    PAUSE: r'\b(no frame|no input|gaps?|silent|expected records|stall\w*|held up|slow|dropped|'
    r'late)\b',
    STARVE: r'\b(slow|dropped|late|stall\w*|no frame|held up|expected records)\b',
    CLOCK: r'\b(clock|stamps?)\b',
    RIVAL: r'\banother publisher\b',
    HOSTILE: r'^(({readers}): |.*{target}\b).*'
    r'\b(expected|refused|dropped|unreadable|not usable)\b',
}
READERS = {
    '/tracker/raw': 'pose_filter|tracker_markers',
    '/tracker/filtered': 'performer|tracker_markers',
    '/performer/posture': 'importance|retarget|visualization',
    '/importance': 'retarget|visualization',
}
ALWAYS_NAMED = (KILL, UNPLUG, RIVAL, HOSTILE)  # the others only if they were felt

Figures = dict[str, Any]


def names(kind: str, target: str, text: str) -> bool:
    """Return whether a text of the diagnostics tells of a fault."""
    if kind not in NAMED:
        return False
    readers = READERS.get(target, '')
    pattern = NAMED[kind].format(target=re.escape(target), readers=readers)
    return re.search(pattern, text) is not None


@dataclass(frozen=True, slots=True)
class Row:
    """One fault and what came of it."""

    kind: str
    """Of the schedule."""

    target: str
    """Node, topic or way."""

    begin_s: float
    """Since the begin of the run [s]."""

    lasted_s: float
    """From the begin of the cause to its end [s]."""

    recovery: Recovery | None
    """None if the joint states did not come back."""

    largest: Step
    """Of the joint states, from the begin of the cause to recovery."""

    frames: int
    """Joint states seen."""

    not_finite: int
    """Of them, those with a number that is none."""

    said: tuple[str, ...] = ()
    """By the diagnostics."""

    fallen: tuple[str, ...] = ()
    """Programs that ended though nobody had killed them."""

    failure: str = ''
    """Why the fault could not be caused."""

    lost: int = 0
    """Frames of the tracker that became no joint states, from the begin to recovery."""

    @property
    def since_begin_s(self) -> float:
        """Time from the begin of the cause until joint states flow; infinity without [s]."""
        return float('inf') if self.recovery is None else self.lasted_s + self.recovery.flowing_s

    @property
    def is_named(self) -> bool | None:
        """Whether the diagnostics told what it was; None if they need not."""
        felt = self.recovery is None or self.recovery.gap_s > EFFECT_GAP_S
        if self.kind not in NAMED or not (felt or self.kind in ALWAYS_NAMED):
            return None
        return any(names(self.kind, self.target, text) for text in self.said)

    def misses(self) -> list[str]:
        """Return what of the aims this fault missed."""
        found = list(filter(None, (self.failure, *(f'{name} ended' for name in self.fallen))))
        if self.recovery is None:
            found.append('not recovered')
        elif self.recovery.flowing_s > MAX_RECOVERY_S:
            found.append(f'recovered after {self.recovery.flowing_s:.2f} s')
        if self.not_finite:
            found.append(f'{self.not_finite} joint states not finite')
        if self.largest.ratio > 1.0:
            found.append(f'jump: {self.largest.text}')
        if self.is_named is False:
            found.append('diagnostics do not name the cause')
        return found


@dataclass(slots=True)
class Run:
    """A fault run so far."""

    settings: Figures  # What was asked for
    undisturbed: Step = NO_STEP  # Largest step before the first fault and between them
    undisturbed_not_finite: int = 0  # Joint states seen then that had a number that is none
    rows: list[Row] = field(default_factory=list)  # In the order of time
    # Of each program, after its last start and at the end
    memory_mb: dict[str, tuple[float, float]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)  # Programs that were there after the end

    def add_undisturbed(self, largest: Step, not_finite: int) -> None:
        """Take what was seen in a time without faults."""
        self.undisturbed = max(self.undisturbed, largest)
        self.undisturbed_not_finite += not_finite

    def misses(self) -> list[str]:
        """Return all that was missed."""
        found = [] if self.rows else ['no fault was caused']
        if self.undisturbed.ratio > 1.0:
            found.append(f'without faults: jump: {self.undisturbed.text}')
        if self.undisturbed_not_finite:
            found.append(f'without faults: {self.undisturbed_not_finite} joint states not finite')
        found += [
            f'{row.begin_s:.0f} s, {row.kind} {row.target}: {text}'.replace(' :', ':')
            for row in self.rows
            for text in row.misses()
        ]
        found += [f'left running: {name}' for name in self.left]
        for name, (first, last) in self.memory_mb.items():
            if last - first > MAX_GROWTH_MB:  # false if it is down when the run is ended
                found.append(f'{name}: memory grew from {first:.0f} to {last:.0f} MB')
        return found

    def as_json(self) -> Figures:
        """Return everything as plain data; times that never came are None."""
        rows = []
        for row in self.rows:
            plain = asdict(row)
            plain['recovery'] = row.recovery and row.recovery._asdict()
            plain['largest'] = row.largest._asdict()
            plain['named'] = row.is_named
            plain['since_begin_s'] = row.since_begin_s if row.recovery else None
            rows.append(plain | {'misses': row.misses()})
        return {
            **self.settings,
            'undisturbed': self.undisturbed._asdict(),
            'undisturbed_not_finite': self.undisturbed_not_finite,
            'faults': rows,
            'memory_mb': self.memory_mb,
            'left': self.left,
            'misses': self.misses(),
        }


def table(run: Run) -> list[str]:
    """Return the run as lines for people, one a cause."""
    lines = [
        'joint states at rate again: after the end of the cause (killed: after the new start), '
        'after its begin; eased until',
        f'{"cause":29} {"n":>3} {"lasted":>7} {"end, median":>12} {"max":>6} {"begin, max":>11} '
        f'{"eased, max":>11} {"gap, max":>9} {"lost":>5} {"step":>6}',
    ]
    for kind, target in sorted({(row.kind, row.target) for row in run.rows}):
        rows = [r for r in run.rows if (r.kind, r.target) == (kind, target)]
        lines += _cause(f'{kind} {target}'.rstrip(), rows)
    lines += [
        'times in seconds; lost: frames of the tracker without joint states; step: largest of the '
        'joint states, above 1 it is a jump',
        f'largest step without faults: {run.undisturbed.ratio:.2f} ({run.undisturbed.text})',
    ]
    for name, (first, last) in run.memory_mb.items():
        lines.append(f'memory of {name}: {first:.0f} MB, at the end {last:.0f} MB')
    lines.append(f'left running: {", ".join(run.left) or "nothing"}')
    lines += [f'missed: {text}' for text in run.misses()] or ['all aims met']
    return lines


def _cause(name: str, rows: Sequence[Row]) -> list[str]:
    found = [row.recovery or NEVER for row in rows]
    flowing = [recovery.flowing_s for recovery in found]
    line = (
        f'{name:29} {len(rows):3} {np.median([row.lasted_s for row in rows]):7.2f} '
        f'{np.median(flowing):12.2f} {max(flowing):6.2f} '
        f'{max(row.since_begin_s for row in rows):11.2f} '
        f'{max(recovery.settled_s for recovery in found):11.2f} '
        f'{max(recovery.gap_s for recovery in found):9.2f} {sum(row.lost for row in rows):5} '
        f'{max(row.largest.ratio for row in rows):6.2f}'
    )
    said = dict.fromkeys(text for row in rows for text in _telling(row))
    return [line, *(f'    {text[:SAID_WIDTH]}' for text in list(said)[:SAID_SHOWN])]


def _telling(row: Row) -> list[str]:
    """Return what was said, first what names the cause."""
    return sorted(row.said, key=lambda text: not names(row.kind, row.target, text))
