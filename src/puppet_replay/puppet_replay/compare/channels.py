# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the fields of messages mean: numbers with a unit, rotations, flags, texts, bodies."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import (
    carried_places,
    END_EFFECTORS,
    GENERAL_END_EFFECTORS,
    N_SAMPLES,
    SEGMENTS,
)
from puppet_core.math import Floats
from puppet_replay.compare.reading import Field, Fields, frame_pairs, TF_STAMPS, TF_TYPE
from puppet_retarget.importance import REST_INFLUENCE_M, REST_MARGIN_M, RESTING

VECTOR, ROTATION, NUMBER, EQUAL = 'vector', 'rotation', 'number', 'equal'
STAMPS = 'stamps'  # of the transforms of a message, since its first one
XYZ, NONE = ('x', 'y', 'z'), ('',)
SCALES = {'mm': 1e3, 'mm_s': 1e3, 'ms': 1e3, 'deg_s': 180.0 / np.pi}  # from SI units
METRICS = {'deg': ROTATION, 'ratio': NUMBER, 'count': EQUAL}
RIGID_M = 1e-6  # the skeleton of a rigid body varies by rounding alone
FEWEST_FRAMES = 8  # in which a body shows whether it is rigid
SKELETON = 'skeleton'
MAX_CONTACTS, MAX_SAMPLE = 32, 1 << 16
FARTHEST_REST_MM = 1e3 * (REST_INFLUENCE_M + REST_MARGIN_M)  # gap at which it begins to count
_AXES = ('x', 'y', 'z', 'rx', 'ry', 'rz')
_WXYZ = [3, 0, 1, 2]

# Lists that name rows; their order has no meaning.
NAMES = ('sensors', 'name')


class Channel(NamedTuple):
    """One field of n messages of equal shape."""

    values: NDArray[Any]  # shape (n, rows, width); a rotation is 4 wide, in any order of its parts
    metric: str  # how two values are compared: VECTOR, ROTATION, NUMBER or EQUAL
    unit: str  # of the difference: a key of tolerances.UNITS
    labels: tuple[str, ...]  # name of each row; empty: rows have numbers
    axes: tuple[str, ...] = XYZ  # name of each of the numbers of a row


class Decoded(NamedTuple):
    """All fields of n messages of equal shape and texts."""

    channels: dict[str, Channel]  # by name of the field
    texts: dict[str, tuple[str, ...]]  # texts, the same in all the messages


class Column(NamedTuple):
    """A quantity in the lists of numbers of a message."""

    unit: str  # of differences
    rows: tuple[str, ...] | str = NONE  # name of each row, or the list of texts that has the names
    width: int = 1  # numbers in a row: 3 of a vector, 4 of a rotation, else 1
    source: str = ''  # name of the list; '' if it is that of the quantity
    scale: float = 0.0  # from the message's unit; 0: from SI units


JOINT_ENDS = GENERAL_END_EFFECTORS[len(END_EFFECTORS) :]  # elbows and knees
INDEX = {'frame_index': Column('count')}
_SENSORS = {
    **INDEX,
    'positions': Column('mm', 'sensors', 3),
    'orientations': Column('deg', 'sensors', 4),
    'status': Column('count', 'sensors'),
}
MESSAGES: dict[str, dict[str, Column]] = {
    'puppet_msgs/msg/TrackerFrame': {**_SENSORS, 'age': Column('ms', 'sensors', source='ages_s')},
    'puppet_msgs/msg/PoseFrame': {
        **_SENSORS,
        'linear_velocities': Column('mm_s', 'sensors', 3),
        'angular_velocities': Column('deg_s', 'sensors', 3),
    },
    'puppet_msgs/msg/Posture': {
        **INDEX,
        'root_position': Column('mm', ('pelvis',), 3),
        'rotations': Column('deg', SEGMENTS, 4),
        'segment_positions': Column('mm', SEGMENTS, 3),
        'end_effector_positions': Column('mm', GENERAL_END_EFFECTORS, 3),
        'end_effector_velocities': Column('mm_s', GENERAL_END_EFFECTORS, 3),
        'status': Column('count', SEGMENTS),
        'leg_length': Column('mm'),
    },
    'puppet_msgs/msg/Importance': {
        **INDEX,
        'importance': Column('ratio', END_EFFECTORS),
        'distance': Column('mm', END_EFFECTORS),
        'distance_rate': Column('mm_s', END_EFFECTORS),
        'influence_distance': Column('mm', END_EFFECTORS),
        'goals': Column('mm', END_EFFECTORS, 3),
        'object': Column('count', END_EFFECTORS),
        'joint_importance': Column('ratio', JOINT_ENDS),
        'joint_influence_distance': Column('mm', JOINT_ENDS),
        'joint_goals': Column('mm', JOINT_ENDS, 3),
        'self_importance': Column('ratio', GENERAL_END_EFFECTORS),
        'self_distance': Column('mm', GENERAL_END_EFFECTORS),
    },
    'puppet_msgs/msg/RetargetStatus': {
        **INDEX,
        'root_offset': Column('mm', ('pelvis',), 3),
        'goal_errors': Column('mm', END_EFFECTORS),
        'penetrations': Column('mm', END_EFFECTORS),
        'self_penetrations': Column('mm', GENERAL_END_EFFECTORS),
        'solve_time': Column('ms', source='solve_time_us', scale=1e-3),
        'body_iterations': Column('count'),
        'reachable': Column('count'),
        'easing': Column('count'),
        'frames_solved': Column('count'),
        'frames_dropped': Column('count'),
        'whips': Column('count'),
    },
    'sensor_msgs/msg/JointState': {
        'position': Column('rad', 'name'),
        'velocity': Column('ratio', 'name'),
        'effort': Column('ratio', 'name'),
    },
}


def decode(msgtype: str, fields: Fields) -> Decoded:
    """Return the fields of n stacked messages, of another version by the types of their parts."""
    if msgtype == TF_TYPE and frame_pairs(fields):
        return _transforms(fields)
    if msgtype in MESSAGES:
        try:
            return _by_table(msgtype, fields)
        except (LookupError, ValueError):
            pass
    channels = {
        name: _by_type(name, field)
        for name, field in fields.numbers.items()
        if name != 'header.stamp'  # what messages are joined by
    }
    return Decoded(channels, fields.texts)


def numbers(fields: Fields, name: str, width: int) -> Floats:
    """Return a flat list as (n, rows, width); raise KeyError or ValueError if it is another."""
    values = fields.numbers[name].values.astype(np.float64)
    return values.reshape(len(values), values[0].size // width, width)


def _by_table(msgtype: str, fields: Fields) -> Decoded:
    channels = {}
    for name, column in MESSAGES[msgtype].items():
        source = column.source or name
        values = fields.numbers[source].values
        if not values[0].size:
            continue
        if column.unit != 'count':
            scale = column.scale or SCALES.get(column.unit, 1.0)
            values = scale * numbers(fields, source, column.width)
        labels = fields.texts[column.rows] if isinstance(column.rows, str) else column.rows
        if values.shape[1] != len(labels):
            raise ValueError(name)
        axes = XYZ if column.width > 1 else NONE
        metric = METRICS.get(column.unit, VECTOR)
        channels[name] = Channel(values, metric, column.unit, labels, axes)
    for more in MORE.get(msgtype, ()):
        channels |= more(fields)
    texts = {
        name: tuple(sorted(words)) if name in NAMES else words
        for name, words in fields.texts.items()
    }
    return Decoded(channels, texts)


def _by_type(name: str, field: Field) -> Channel:
    owner, values = field.owner.rsplit('/', 1)[-1], field.values
    if owner in ('Time', 'Duration'):
        ms = 1e3 * values[..., :1] + 1e-6 * values[..., 1:]
        return Channel(ms, VECTOR, 'ms', (), NONE)
    if owner == 'Quaternion':
        return Channel(values, ROTATION, 'deg', ())
    ends = ('translation', 'mm'), ('linear', 'mm_s'), ('angular', 'deg_s')
    unit = next((unit for end, unit in ends if name.endswith(end)), '')
    if owner == 'Point':
        unit = 'mm'
    if unit and owner:
        return Channel(SCALES[unit] * values, VECTOR, unit, ())
    if values.dtype.kind in 'iub':
        return Channel(values, EQUAL, 'count', (), NONE)
    return Channel(values.astype(np.float64), NUMBER, 'ratio', (), XYZ if owner else NONE)


def _transforms(fields: Fields) -> Decoded:
    """Return translations and rotations by pair of frames."""
    pairs = frame_pairs(fields)
    found = {
        name: _by_type(source, fields.numbers[source])._replace(labels=pairs)
        for name, source in (
            (STAMPS, TF_STAMPS),
            ('translation', 'transforms[].transform.translation'),
            ('rotation', 'transforms[].transform.rotation'),
        )
        if source in fields.numbers
    }
    if STAMPS in found:
        values = found[STAMPS].values
        found[STAMPS] = found[STAMPS]._replace(values=values - values[:, :1])
    return Decoded(found, {'frames': tuple(sorted(pairs))})


def _covariances(fields: Fields) -> dict[str, Channel]:
    """Return logarithms of standard deviations, and correlations: position, then rotation."""
    sensors, found = fields.texts['sensors'], {}
    for name in ('pose_covariances', 'twist_covariances'):
        values = numbers(fields, name, 36)
        if not values.size:
            continue
        matrices = values.reshape(*values.shape[:2], 6, 6)
        with np.errstate(invalid='ignore', divide='ignore'):
            sigma = np.sqrt(values[..., ::7])
            log_sigma = np.log(sigma)
            scale = sigma[..., :, None] * sigma[..., None, :]
        correlations = matrices / np.where(scale > 0.0, scale, 1.0)
        correlations[..., range(6), range(6)] = 0.0
        pairs = tuple(f'{row} {column}' for row in _AXES for column in _AXES)
        found[name] = Channel(log_sigma, VECTOR, 'ratio', sensors, _AXES)
        found[name.replace('covariances', 'correlations')] = Channel(
            correlations.reshape(values.shape), VECTOR, 'ratio', sensors, pairs
        )
    return found


def _skeleton(fields: Fields) -> dict[str, Channel]:
    carried = carried_places(
        numbers(fields, 'rotations', 4)[..., _WXYZ],
        numbers(fields, 'segment_positions', 3),
        numbers(fields, 'end_effector_positions', 3)[:, :4],
    )
    if len(carried) < FEWEST_FRAMES or not np.all(np.ptp(carried, axis=0) < RIGID_M):
        return {}
    labels = (*SEGMENTS[1:], *(f'{name} point' for name in END_EFFECTORS))
    return {SKELETON: Channel(1e3 * carried, VECTOR, 'mm', labels)}


def _contacts(fields: Fields) -> dict[str, Channel]:
    """Return the self-contacts, which stand in any place, by end-effector and sample point."""
    names = ('end_effectors', 'segments', 'samples')
    ends, segments, samples = (
        fields.numbers[f'contact_{name}'].values[..., 0].astype(int) for name in names
    )
    n, count = ends.shape
    samples = N_SAMPLES * segments + samples + 1  # 0: not in use
    order = np.argsort(ends * MAX_SAMPLE + samples, axis=1)
    each = np.arange(n)[:, None]
    ends = ends[each, order]
    slots = np.arange(count) - (ends[:, :, None] > ends[:, None, :]).sum(axis=2)
    labels = tuple(name for name in GENERAL_END_EFFECTORS for _ in range(MAX_CONTACTS))

    def channel(values: Floats, metric: str, unit: str, axes: tuple[str, ...] = NONE) -> Channel:
        rows = np.zeros((n, len(GENERAL_END_EFFECTORS), MAX_CONTACTS, values.shape[-1]))
        rows[each, ends, slots] = values[each, order]
        return Channel(rows.reshape(n, len(labels), -1), metric, unit, labels, axes)

    weights = numbers(fields, 'contact_weights', 1)
    displacements = 1e3 * numbers(fields, 'contact_displacements', 3)
    return {
        'contact_samples': channel(samples[..., None], EQUAL, 'count'),
        'contact_weights': channel(weights, NUMBER, 'ratio'),
        'contact_displacements': channel(displacements, VECTOR, 'mm', XYZ),
    }


def _rests(fields: Fields) -> dict[str, Channel]:
    """Return what is at objects, in any order, by segment and object; else as if out of reach."""
    names = fields.texts['objects']
    if not names or 'rest_segments' not in fields.numbers:  # as in messages of before
        return {}
    labels = tuple(f'{segment} on {name}' for segment in SEGMENTS for name in names)
    segments, objects = (
        fields.numbers[f'rest_{name}'].values[..., 0].astype(int)
        for name in ('segments', 'objects')
    )
    each = np.arange(len(segments))[:, None]

    def channel(name: str, metric: str, unit: str, absent: Floats) -> Channel:
        rows = np.tile(absent[:, None, None], (len(segments), 1, len(names), 1))
        rows[each, segments, objects] = SCALES.get(unit, 1.0) * numbers(fields, name, 1)
        return Channel(rows.reshape(len(rows), len(labels), 1), metric, unit, labels, NONE)

    none, farthest = np.zeros(len(SEGMENTS)), np.zeros(len(SEGMENTS))
    farthest[list(RESTING)] = FARTHEST_REST_MM  # others are listed in solids only
    return {
        'rest_importances': channel('rest_importances', NUMBER, 'ratio', none),
        'rest_gaps': channel('rest_gaps', VECTOR, 'mm', farthest),
    }


# What the tables do not cover.
MORE = {
    'puppet_msgs/msg/PoseFrame': (_covariances,),
    'puppet_msgs/msg/Posture': (_skeleton,),
    'puppet_msgs/msg/Importance': (_contacts, _rests),
}


def aligned(a: Channel | None, b: Channel | None) -> tuple[Channel, Channel] | None:
    """Return both with the rows that have a name in both, in the order of A; None if unlike."""
    if a is None or b is None or (a.metric, a.unit) != (b.metric, b.unit):
        return None
    if a.labels != b.labels:
        places: dict[str, list[int]] = {}
        for row, label in enumerate(b.labels):
            places.setdefault(label, []).append(row)
        rows = [(i, places[name].pop(0)) for i, name in enumerate(a.labels) if places.get(name)]
        mine, other = [row for row, _ in rows], [row for _, row in rows]
        labels = tuple(a.labels[row] for row in mine)
        a = a._replace(values=a.values[:, mine], labels=labels)
        b = b._replace(values=b.values[:, other], labels=labels)
    return (a, b) if a.values.shape == b.values.shape else None
