# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Importance message <-> the rows that estimator and solvers share.

A row of the environment is importance, distance, its rate, influence distance, goal x y z, object
(of elbows and knees without distance, rate and object);
one of the own body is importance and distance, then 32 contacts of five numbers: number of the
sample point, weight, displacement x y z. A row of what else is at objects is object (-1 from the
first row that is not in use on), segment, importance, gap.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from puppet_core.body import N_SAMPLES, N_SEGMENTS, NO_PROPS, Props
from puppet_core.math import Floats
from puppet_msgs.msg import Importance
from puppet_ros.messages import flat_array
from puppet_ros.messages.cdr import Fields, StreamReader, StreamWriter
from puppet_ros.messages.posture_msg import WORLD

N_ENDS, ROW_WIDTH = 4, 8  # hands and feet
N_ROWS = 8  # hands, feet, elbows, knees
FIRST_CONTACT, MAX_CONTACTS, CONTACT_WIDTH = 2, 32, 5
CONTACT_FIELDS = {
    'contact_end_effectors': 1,
    'contact_segments': 1,
    'contact_samples': 1,
    'contact_weights': 1,
    'contact_displacements': 3,
}
"""Numbers of a contact in each field, in their order."""
SELF_ROW_WIDTH = FIRST_CONTACT + MAX_CONTACTS * CONTACT_WIDTH
MAX_RESTS = 64
REST_FIELDS = 'rest_objects', 'rest_segments', 'rest_importances', 'rest_gaps'
"""Those of a row of what else is at objects, in its order."""


NO_RESTS = np.tile([-1.0, 0.0, 0.0, 0.0], (MAX_RESTS, 1))


class ImportanceRecord(NamedTuple):
    """How much the place of each end-effector matters, and where it should be."""

    stamp_ns: int  # stamp of the posture this belongs to [ns]
    frame_index: int  # index of that posture's frame
    rows: Floats  # of the environment, shape (8, 8), or (4, 8) for hands and feet alone
    self_rows: Floats  # of the own body, shape (8, SELF_ROW_WIDTH); zeros: nothing is near
    objects: tuple[str, ...]  # names of the environment's objects
    frame_id: str = WORLD  # of that posture's header
    moving: Props = NO_PROPS  # the performer's objects that move
    rests: Floats = NO_RESTS  # what else of the body is at objects, shape (64, 4)


def from_msg(msg: Importance) -> ImportanceRecord:
    """Return the rows of one message; raise MessageError if its contacts or rests are none."""
    rows = np.zeros((N_ROWS, ROW_WIDTH))
    ends, joints = rows[:N_ENDS], rows[N_ENDS:]
    ends[:, 0], ends[:, 1], ends[:, 2] = msg.importance, msg.distance, msg.distance_rate
    ends[:, 3], ends[:, 7] = msg.influence_distance, msg.object
    ends[:, 4:7] = np.asarray(msg.goals).reshape(N_ENDS, 3)
    joints[:, 0], joints[:, 3] = msg.joint_importance, msg.joint_influence_distance
    joints[:, 4:7] = np.asarray(msg.joint_goals).reshape(N_ENDS, 3)
    joints[:, 7] = -1.0
    of_frame = flat_array.stamp_ns(msg.header.stamp), msg.frame_index
    places = msg.moving_positions, msg.moving_orientations
    moving = flat_array.props('moving', msg.moving_objects, *places)
    objects, frame_id = tuple(msg.objects), msg.header.frame_id
    record = ImportanceRecord(*of_frame, rows, _self_rows(msg), objects, frame_id, moving)
    return record._replace(rests=_rests(msg))


def _rests(msg: Importance) -> Floats:
    rests, n, objects = NO_RESTS.copy(), len(msg.rest_objects), len(msg.objects)
    are_there = all(0 <= j < objects for j in msg.rest_objects)
    if n > MAX_RESTS or not are_there or not all(s < N_SEGMENTS for s in msg.rest_segments):
        wanted = f'up to {MAX_RESTS} of {N_SEGMENTS} segments on {objects} objects'
        raise flat_array.MessageError(f'rests: expected {wanted}, got others')
    for column, name in zip(rests.T, REST_FIELDS):
        column[:n] = flat_array.float_rows(name, getattr(msg, name), n, 1)[:, 0]
    return rests


def _self_rows(msg: Importance) -> Floats:
    own = np.zeros((N_ROWS, SELF_ROW_WIDTH))
    own[:, 0], own[:, 1] = msg.self_importance, msg.self_distance
    contacts = own[:, FIRST_CONTACT:].reshape(N_ROWS, MAX_CONTACTS, CONTACT_WIDTH)
    contacts[..., 0] = -1.0
    n = len(msg.contact_end_effectors)
    ends, segments, samples, *others = (
        flat_array.float_rows(name, getattr(msg, name), n, width)
        for name, width in CONTACT_FIELDS.items()
    )
    order = np.argsort(ends[:, 0], kind='stable')
    ends = ends[order, 0].astype(np.intp)
    found = np.concatenate((N_SAMPLES * segments + samples, *others), axis=1)
    try:
        contacts[ends, np.arange(n) - np.searchsorted(ends, ends)] = found[order]
    except IndexError as err:
        wanted = f'up to {MAX_CONTACTS} of each of {N_ROWS} end-effectors'
        raise flat_array.MessageError(f'contacts: expected {wanted}, got others') from err
    return own


def _fields(record: ImportanceRecord) -> tuple[int, Fields]:
    rows, joints, own = record.rows[:N_ENDS], np.zeros((N_ENDS, ROW_WIDTH)), record.self_rows
    joints[: len(record.rows) - N_ENDS] = record.rows[N_ENDS:]
    contacts = own[:, FIRST_CONTACT:].reshape(N_ROWS, MAX_CONTACTS, CONTACT_WIDTH)
    ends, places = np.nonzero(contacts[..., 1])
    found = contacts[ends, places]
    parts = (ends, *np.divmod(found[:, 0], N_SAMPLES), found[:, 1], found[:, 2:])
    rests = record.rests[record.rests[:, 0] >= 0.0]
    return record.stamp_ns, {
        'frame_id': record.frame_id,
        'frame_index': record.frame_index,
        'importance': rows[:, 0],
        'distance': rows[:, 1],
        'distance_rate': rows[:, 2],
        'influence_distance': rows[:, 3],
        'goals': rows[:, 4:7],
        'object': rows[:, 7],
        'joint_importance': joints[:, 0],
        'joint_influence_distance': joints[:, 3],
        'joint_goals': joints[:, 4:7],
        'objects': record.objects,
        'moving_objects': record.moving.names,
        'moving_positions': record.moving.positions,
        'moving_orientations': flat_array.xyzw(record.moving.orientations),
        'self_importance': own[:, 0],
        'self_distance': own[:, 1],
        **dict(zip(CONTACT_FIELDS, parts)),
        **dict(zip(REST_FIELDS, rests.T)),
    }


ImportanceWriter = partial(StreamWriter, Importance, WORLD, _fields)
ImportanceReader = partial(StreamReader[ImportanceRecord], Importance, from_msg)
