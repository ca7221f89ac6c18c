# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the fields of messages mean: numbers with unit, rotations, flags, texts.

Types that are not ours are read by the types of their parts: points and poses in mm and
degrees, stamps in ms, whole numbers and truth values must be equal, other numbers are compared
relative to their size.

"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.arrays import Floats
from puppet_replay.compare_layout import Group, Layout, Part

VECTOR, ROTATION, NUMBER, EQUAL = 'vector', 'rotation', 'number', 'equal'
DIFFERS, ZERO, SKIPPED = 'differs', 'zero', 'skipped'
STAMPS = 'stamps'  # of the transforms of a message, since its first one
XYZ = ('x', 'y', 'z')
MM_PER_M, MS_PER_S, DEG_PER_RAD = 1000.0, 1000.0, 180.0 / np.pi
TF_TYPE = 'tf2_msgs/msg/TFMessage'
JOINT_STATE_TYPE = 'sensor_msgs/msg/JointState'


class Channel(NamedTuple):
    """One field of n messages of equal layout."""

    values: NDArray[Any]
    """Shape (n, rows, width); a rotation is 4 wide, in any order of its parts."""

    metric: str
    """How two values are compared: VECTOR, ROTATION, NUMBER or EQUAL."""

    unit: str
    """Of the difference: a key of compare_units.UNITS."""

    labels: tuple[str, ...]
    """Name of each row; empty: rows have numbers."""

    axes: tuple[str, ...] = XYZ
    """Name of each of the numbers of a row."""

    if_absent: str = DIFFERS
    """What it is if only one of two messages has the field: DIFFERS, ZERO or SKIPPED."""


class Decoded(NamedTuple):
    """All fields of n messages of equal layout and texts."""

    channels: dict[str, Channel]
    """By name of the field."""

    texts: dict[str, tuple[str, ...]]
    """Texts, the same in all the messages."""


class Fields:
    """Access to the parts of a group by name."""

    def __init__(self, group: Group) -> None:
        self._matrix = group.matrix
        self._layout: Layout = group.layout
        self._parts = group.layout.fields()

    def numbers(self, name: str, rows: int, width: int) -> Floats:
        """
        Return a flat list of numbers as (n, rows, width).

        Raises
        ------
        KeyError : if there is no such field.
        ValueError : if it has another length.

        """
        flat = self._layout.numbers(self._matrix, self._parts[name]).astype(np.float64)
        return flat.reshape(len(flat), rows, width)

    def row(self, name: str) -> Floats:
        """Return a flat list of numbers as (n, length, 1); raise as `numbers` does."""
        return self.numbers(name, -1, 1) if self.size(name) else self.numbers(name, 0, 1)

    def size(self, name: str) -> int:
        """Return the length of a list; raise KeyError if there is no such field."""
        return sum(part.size for part in self._parts[name])

    def words(self, name: str) -> tuple[str, ...]:
        """Return the texts of a field."""
        first = self._matrix[0]
        return tuple(self._layout.text(first, part) for part in self._parts.get(name, ()))

    def parts(self) -> dict[str, list[Part]]:
        """Return every part."""
        return self._parts

    def raw(self, parts: list[Part]) -> NDArray[Any]:
        """Return the numbers of parts of equal length as (n, parts, width)."""
        return self._layout.numbers(self._matrix, parts)


Interpreter = Callable[[Fields], Decoded]
_KNOWN: dict[str, Interpreter] = {}


def interprets(type_name: str) -> Callable[[Interpreter], Interpreter]:
    """Return a decorator that makes a function the reader of a type."""

    def register(function: Interpreter) -> Interpreter:
        _KNOWN[type_name] = function
        return function

    return register


def decode(type_name: str, group: Group) -> Decoded:
    """Return the fields of messages; a known type of another form is read as an unknown one."""
    fields = Fields(group)
    if type_name in _KNOWN:
        try:
            return _KNOWN[type_name](fields)
        except (KeyError, ValueError):
            pass
    return generic(fields)


def texts_of(fields: Fields, names: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """Return all texts; lists that name rows are sorted, because their order says nothing."""
    found = {
        name: fields.words(name)
        for name, parts in fields.parts().items()
        if parts[0].kind == 'string'
    }
    for name in names:
        found[name] = tuple(sorted(found.get(name, ())))
    return found


def generic(fields: Fields) -> Decoded:
    """Return the fields of any type, by the types of their parts."""
    channels = {}
    for name, parts in fields.parts().items():
        # the stamp of the header is what messages are joined by
        if parts[0].kind == 'string' or name == 'header.stamp':
            continue
        labels: tuple[str, ...] = ()
        if len({part.size for part in parts}) > 1:  # lists of lists
            values = np.concatenate([fields.raw([p]).swapaxes(1, 2) for p in parts], axis=1)
            channels[name] = _by_type(name, parts[0], values, labels)
            continue
        values = fields.raw(parts)
        if not parts[0].owner:  # a list of numbers has a row for each
            values = values.reshape(len(values), len(parts) * parts[0].size, 1)
        channels[name] = _by_type(name, parts[0], values, labels)
    return Decoded(channels, texts_of(fields))


def _by_type(
    name: str, part: Part, values: NDArray[Any], labels: tuple[str, ...]
) -> Channel:  # fmt: skip
    owner = part.owner.rsplit('/', 1)[-1]
    if owner in ('Time', 'Duration'):
        seconds = values[..., :1].astype(np.uint32).view(np.int32).astype(np.float64)
        ms = MS_PER_S * (seconds + 1e-9 * values[..., 1:])
        return Channel(ms, VECTOR, 'ms', labels, ('',))
    if owner == 'Quaternion':
        return Channel(values, ROTATION, 'deg', labels)
    if owner == 'Point' or name.endswith('translation'):
        return Channel(MM_PER_M * values, VECTOR, 'mm', labels)
    if name.endswith('linear'):
        return Channel(MM_PER_M * values, VECTOR, 'mm_s', labels)
    if name.endswith('angular'):
        return Channel(DEG_PER_RAD * values, VECTOR, 'deg_s', labels)
    if values.dtype.kind in 'iub':
        return Channel(values, EQUAL, 'count', labels, ('',))
    axes = XYZ if owner else ('',)
    return Channel(values.astype(np.float64), NUMBER, 'ratio', labels, axes)


@interprets(TF_TYPE)
def _transforms(fields: Fields) -> Decoded:
    """Return translations and rotations by pair of frames."""
    pairs = tuple(
        f'{parent} -> {child}'
        for parent, child in zip(
            fields.words('transforms[].header.frame_id'),
            fields.words('transforms[].child_frame_id'),
        )
    )
    if not pairs:
        return Decoded({}, {})
    parts = fields.parts()
    place = fields.raw(parts['transforms[].transform.translation'])
    turn = fields.raw(parts['transforms[].transform.rotation'])
    said = parts['transforms[].header.stamp']
    stamps = _by_type(STAMPS, said[0], fields.raw(said), pairs)
    channels = {
        STAMPS: stamps._replace(values=stamps.values - stamps.values[:, :1]),
        'translation': Channel(MM_PER_M * place, VECTOR, 'mm', pairs),
        'rotation': Channel(turn, ROTATION, 'deg', pairs),
    }
    return Decoded(channels, {'frames': tuple(sorted(pairs))})


@interprets(JOINT_STATE_TYPE)
def _joint_state(fields: Fields) -> Decoded:
    """Return the joints by name."""
    names = fields.words('name')
    channels = {}
    for name, unit in (('position', 'rad'), ('velocity', 'ratio'), ('effort', 'ratio')):
        if fields.size(name):
            metric = VECTOR if unit == 'rad' else NUMBER
            values = fields.numbers(name, len(names), 1)
            channels[name] = Channel(values, metric, unit, names, ('',))
    return Decoded(channels, texts_of(fields, ('name',)))


def aligned(a: Channel, b: Channel) -> tuple[Channel, Channel]:
    """Return both with the rows that have a name in both, in the order of A."""
    places: dict[str, list[int]] = {}
    for row, label in enumerate(b.labels):
        places.setdefault(label, []).append(row)
    rows = [(row, places[name].pop(0)) for row, name in enumerate(a.labels) if places.get(name)]
    mine, other = [row for row, _ in rows], [row for _, row in rows]
    labels = tuple(a.labels[row] for row in mine)
    return (
        a._replace(values=a.values[:, mine], labels=labels),
        b._replace(values=b.values[:, other], labels=labels),
    )
