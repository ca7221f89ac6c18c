# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The fields of the suite's own messages, with the names of segments, sensors and end-effectors.

The layouts are those of the .msg files. A body that is rigid has one field more, `skeleton`: the
place of each joint and interaction point in the frame of what carries it. A character whose
description was changed is told apart by it from one that moves differently.

"""

import numpy as np
from numpy.typing import NDArray
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.quaternion_batch import conjugate, multiply, rotate
from puppet_core.skeleton import (
    END_EFFECTORS,
    GENERAL_END_EFFECTORS,
    LIMB_SEGMENTS,
    PARENTS,
    SEGMENTS,
)
from puppet_replay.compare_channels import (
    Channel,
    Decoded,
    DEG_PER_RAD,
    EQUAL,
    Fields,
    interprets,
    MM_PER_M,
    MS_PER_S,
    NUMBER,
    ROTATION,
    SKIPPED,
    texts_of,
    VECTOR,
    ZERO,
)

RIGID_M = 1e-6  # the skeleton of a rigid body varies by rounding alone
FEWEST_FRAMES = 8  # in which a body shows whether it is rigid
SKELETON = 'skeleton'
_AXES = ('x', 'y', 'z', 'rx', 'ry', 'rz')
_WXYZ = [3, 0, 1, 2]
_POINT_LABELS = tuple(f'{name} point' for name in END_EFFECTORS)


def _equal(fields: Fields, name: str, labels: tuple[str, ...] = ('',)) -> Channel:
    return Channel(fields.row(name), EQUAL, 'count', labels, ('',))


def _length(values: Floats, labels: tuple[str, ...] = ('',)) -> Channel:
    return Channel(MM_PER_M * values, VECTOR, 'mm', labels, ('',) * values.shape[-1])


def _sensor_poses(fields: Fields, names: tuple[str, ...]) -> dict[str, Channel]:
    poses = fields.numbers('poses', len(names), 7)
    return {
        'frame_index': _equal(fields, 'frame_index'),
        'position': Channel(MM_PER_M * poses[..., :3], VECTOR, 'mm', names),
        'orientation': Channel(poses[..., 3:], ROTATION, 'deg', names),
        'status': _equal(fields, 'status', names),
    }


@interprets('puppet_msgs/msg/TrackerFrame')
def _tracker_frame(fields: Fields) -> Decoded:
    names = fields.words('sensors')
    channels = _sensor_poses(fields, names)
    ages = MS_PER_S * fields.numbers('ages_s', len(names), 1)
    channels['age'] = Channel(ages, VECTOR, 'ms', names, ('',))
    return Decoded(channels, texts_of(fields, ('sensors',)))


@interprets('puppet_msgs/msg/PoseFrame')
def _pose_frame(fields: Fields) -> Decoded:
    names = fields.words('sensors')
    channels = _sensor_poses(fields, names)
    twists = fields.numbers('twists', len(names), 6)
    channels['linear_velocity'] = Channel(MM_PER_M * twists[..., :3], VECTOR, 'mm_s', names)
    turning = DEG_PER_RAD * twists[..., 3:]
    channels['angular_velocity'] = Channel(turning, VECTOR, 'deg_s', names)
    for name in ('covariances', 'twist_covariances'):
        if fields.size(name):
            channels |= _covariance(name, fields.numbers(name, len(names), 36), names)
    return Decoded(channels, texts_of(fields, ('sensors',)))


def _covariance(name: str, values: Floats, sensors: tuple[str, ...]) -> dict[str, Channel]:
    """
    Return standard deviations and correlations: position or linear, then rotation or angular.

    Of the deviations their logarithm, so that a difference is a share of the value.

    """
    matrices = values.reshape(*values.shape[:2], 6, 6)
    with np.errstate(invalid='ignore', divide='ignore'):
        sigma = np.sqrt(values[..., ::7])
        log_sigma = np.log(sigma)
        scale = sigma[..., :, None] * sigma[..., None, :]
    correlations = matrices / np.where(scale > 0.0, scale, 1.0)
    correlations[..., range(6), range(6)] = 0.0
    pairs = tuple(f'{row} {column}' for row in _AXES for column in _AXES)
    return {
        name: Channel(log_sigma, VECTOR, 'ratio', sensors, _AXES),
        name.replace('covariances', 'correlations'): Channel(
            correlations.reshape(values.shape), VECTOR, 'ratio', sensors, pairs
        ),
    }


@interprets('puppet_msgs/msg/Posture')
def _posture(fields: Fields) -> Decoded:
    root = fields.numbers('root', 1, 7)
    rotations = fields.numbers('rotations', 16, 4)
    segments = fields.numbers('segments', 16, 3)
    points = fields.numbers('end_effectors', 8, 3)
    velocities = fields.numbers('end_effector_velocities', 8, 3)
    channels = {
        'frame_index': _equal(fields, 'frame_index'),
        'root_position': Channel(MM_PER_M * root[..., :3], VECTOR, 'mm', ('pelvis',)),
        'root_orientation': Channel(root[..., 3:], ROTATION, 'deg', ('pelvis',)),
        'rotations': Channel(rotations, ROTATION, 'deg', SEGMENTS),
        'segments': Channel(MM_PER_M * segments, VECTOR, 'mm', SEGMENTS),
        'end_effectors': Channel(MM_PER_M * points, VECTOR, 'mm', GENERAL_END_EFFECTORS),
        'end_effector_velocities': Channel(
            MM_PER_M * velocities, VECTOR, 'mm_s', GENERAL_END_EFFECTORS
        ),
        'status': _equal(fields, 'status', SEGMENTS),
        'leg_length': _length(fields.row('leg_length')),
    }
    carried = skeleton_of(rotations[..., _WXYZ], segments, points[:, :4])
    if len(carried) >= FEWEST_FRAMES and np.all(np.ptp(carried, axis=0) < RIGID_M):
        labels = SEGMENTS[1:] + _POINT_LABELS
        channels[SKELETON] = Channel(
            MM_PER_M * carried, VECTOR, 'mm', labels, if_absent=SKIPPED
        )
    return Decoded(channels, texts_of(fields))


def skeleton_of(rotations: Quats, segments: Vec3s, points: Vec3s) -> Vec3s:
    """
    Return joints and interaction points in the frames of what carries them.

    Parameters
    ----------
    rotations : ndarray, shape (n, 16, 4)
        Joint rotations (w, x, y, z), the first that of the pelvis in world.
    segments : ndarray, shape (n, 16, 3)
        Joints in world [m].
    points : ndarray, shape (n, 4, 3)
        Interaction points of hands and feet in world [m].

    Returns
    -------
    carried : ndarray, shape (n, 19, 3)
        Of segments 1 to 15 in their parents' frames, of the points in those of hands and feet
        [m].

    """
    q_world = np.empty_like(rotations)
    q_world[:, 0] = rotations[:, 0]
    for segment in range(1, len(SEGMENTS)):
        q_world[:, segment] = multiply(q_world[:, PARENTS[segment]], rotations[:, segment])
    parents = PARENTS[1:]
    ends = LIMB_SEGMENTS[:, 2]
    offsets = rotate(conjugate(q_world[:, parents]), segments[:, 1:] - segments[:, parents])
    carried = rotate(conjugate(q_world[:, ends]), points - segments[:, ends])
    return np.concatenate((offsets, carried), axis=1)


@interprets('puppet_msgs/msg/Importance')
def _importance(fields: Fields) -> Decoded:
    rows = fields.numbers('end_effectors', 4, 8)
    channels = {
        'frame_index': _equal(fields, 'frame_index'),
        'importance': Channel(rows[..., :1], NUMBER, 'ratio', END_EFFECTORS, ('',)),
        'distance': _length(rows[..., 1:2], END_EFFECTORS),
        'distance_rate': Channel(
            MM_PER_M * rows[..., 2:3], VECTOR, 'mm_s', END_EFFECTORS, ('',)
        ),
        'influence_distance': _length(rows[..., 3:4], END_EFFECTORS),
        'goal': Channel(MM_PER_M * rows[..., 4:7], VECTOR, 'mm', END_EFFECTORS),
        'object': Channel(rows[..., 7:], EQUAL, 'count', END_EFFECTORS, ('',)),
    }
    if fields.size('self_interaction'):
        channels |= _self_interaction(fields.numbers('self_interaction', 8, 197))
    return Decoded(channels, texts_of(fields))


def _self_interaction(rows: Floats) -> dict[str, Channel]:
    names = GENERAL_END_EFFECTORS
    channels = {
        'self_importance': Channel(rows[..., :1], NUMBER, 'ratio', names, ('',)),
        'self_distance': _length(rows[..., 1:2], names),
        'self_distance_rate': Channel(MM_PER_M * rows[..., 2:3], VECTOR, 'mm_s', names, ('',)),
        'self_depth': _length(rows[..., 3:4], names),
        'self_place': Channel(rows[..., 4:5], NUMBER, 'ratio', names, ('',)),
    }
    channels = {name: c._replace(if_absent=ZERO) for name, c in channels.items()}
    contacts = rows[..., 5:].reshape(*rows.shape[:2], 32, 6)
    used = contacts[..., 1] != 0.0
    return channels | _contacts(contacts, used) if np.any(used) else channels


def _contacts(contacts: Floats, used: NDArray[np.bool_]) -> dict[str, Channel]:
    """Return the contacts in use, which stand in any place: the greatest sample first."""
    samples = np.where(used, contacts[..., 0] + 1.0, 0.0)  # 0: not in use
    order = np.argsort(-samples, axis=-1, kind='stable')
    samples = np.take_along_axis(samples, order, axis=-1).reshape(len(samples), -1, 1)
    rows = np.take_along_axis(np.where(used[..., None], contacts, 0.0), order[..., None], 2)
    rows = rows.reshape(len(rows), -1, 6)
    labels = tuple(name for name in GENERAL_END_EFFECTORS for _ in range(contacts.shape[2]))
    return {
        'contact_samples': Channel(samples, EQUAL, 'count', labels, ('',), ZERO),
        'contact_weights': Channel(rows[..., 1:2], NUMBER, 'ratio', labels, ('',), ZERO),
        'contact_displacements': Channel(
            MM_PER_M * rows[..., 2:5], VECTOR, 'mm', labels, if_absent=ZERO
        ),
        'contact_shares': Channel(rows[..., 5:], NUMBER, 'ratio', labels, ('',), ZERO),
    }


@interprets('puppet_msgs/msg/RetargetStatus')
def _retarget_status(fields: Fields) -> Decoded:
    offset = MM_PER_M * fields.numbers('root_offset', 1, 3)
    channels = {
        'root_offset': Channel(offset, VECTOR, 'mm', ('pelvis',)),
        'goal_errors': _length(fields.numbers('goal_errors', 4, 1), END_EFFECTORS),
        'penetrations': _length(fields.numbers('penetrations', 4, 1), END_EFFECTORS),
        'self_penetrations': _length(
            fields.numbers('self_penetrations', 8, 1), GENERAL_END_EFFECTORS
        ),
        'solve_time': Channel(1e-3 * fields.row('solve_time_us'), VECTOR, 'ms', ('',), ('',)),
    }
    for name in (
        'frame_index', 'body_iterations', 'reachable', 'easing', 'frames_solved', 'frames_dropped',
    ):  # fmt: skip
        channels[name] = _equal(fields, name)
    return Decoded(channels, texts_of(fields))
