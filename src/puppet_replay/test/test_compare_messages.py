# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fields of our messages are compared for what they mean, not for how they are written."""

from array import array
from collections.abc import Callable
from pathlib import Path

from graph_messages import Item, items_of, Moment, moments, write_items
import numpy as np
from puppet_msgs.msg import Importance, PoseFrame
from puppet_replay.compare import compare_bags, FieldResult
from puppet_replay.compare.channels import skeleton_of
from puppet_replay.compare.tolerances import EXACT, Tolerances
import pytest
from rclpy.serialization import deserialize_message, serialize_message

FRAMES = moments(12)
SELF_WIDTH, CONTACT = 197, 6
Change = Callable[[np.ndarray], np.ndarray]


def importance_with(change: Change) -> list[Item]:
    items = []
    for item in (item for moment in FRAMES for item in items_of(moment)):
        if item.topic == '/importance':
            msg = deserialize_message(item.data, Importance)
            rows = np.array(msg.self_interaction).reshape(8, SELF_WIDTH)
            msg.self_interaction = array('d', change(rows).reshape(-1))
            items.append(item._replace(data=serialize_message(msg)))
    return items


def compared(folder: Path, a: list[Item], b: list[Item]) -> dict[str, FieldResult]:
    paths = write_items(folder / 'a.mcap', a), write_items(folder / 'b.mcap', b)
    found = compare_bags(*paths, Tolerances(EXACT))
    return {field.name: field for field in found.fields() if not field.within}


def shuffled(rows: np.ndarray) -> np.ndarray:
    """Return the contacts in other places, as the message allows."""
    order = np.random.default_rng(1).permutation(32)
    contacts = rows[:, 5:].reshape(8, 32, CONTACT)[:, order]
    return np.concatenate((rows[:, :5], contacts.reshape(8, -1)), axis=1)


def test_contacts_may_stand_in_any_place(tmp_path: Path) -> None:
    before = importance_with(lambda rows: rows)
    assert not compared(tmp_path, before, importance_with(shuffled))

    def heavier(rows: np.ndarray) -> np.ndarray:
        rows[0, 6] += 0.25
        return shuffled(rows)

    found = compared(tmp_path, before, importance_with(heavier))
    assert set(found) == {'contact_weights'}
    assert found['contact_weights'].worst.component == 'left_hand'
    assert found['contact_weights'].peak == pytest.approx(0.25 / 1.25)


def test_no_self_interaction_is_the_same_as_zeros(tmp_path: Path) -> None:
    """The message may leave it out; contacts without weight are not in use."""
    nothing = importance_with(lambda rows: rows[:0])
    zeros = importance_with(lambda rows: 0.0 * rows)
    assert not compared(tmp_path, nothing, zeros)
    found = compared(tmp_path, nothing, importance_with(lambda rows: rows))
    assert {'contact_samples', 'contact_weights'} <= set(found)


def test_covariances_are_compared_as_standard_deviations(tmp_path: Path) -> None:
    """A factor of 4 on one axis is ln 2 of its deviation, whatever its size."""
    a, b = [], []
    for item in (item for moment in FRAMES for item in items_of(moment)):
        if item.topic == '/tracker/filtered':
            msg = deserialize_message(item.data, PoseFrame)
            msg.covariances[36 * 2 + 7] *= 4.0
            a.append(item)
            b.append(item._replace(data=serialize_message(msg)))
    found = compared(tmp_path, a, b)
    assert set(found) == {'covariances'}
    assert found['covariances'].worst.component == 'left_hand y'
    assert found['covariances'].peak == pytest.approx(np.log(2.0))


def test_only_rigid_bodies_have_a_skeleton(tmp_path: Path) -> None:
    """A performer's joints come from measured positions: they are no measure of a body."""

    def measured(moment: Moment) -> Moment:
        noise = 1e-3 * np.random.default_rng(moment.index).normal(size=(16, 3))
        posture = moment.posture
        return moment._replace(posture=posture._replace(segments=posture.segments + noise))

    items = [item for moment in FRAMES for item in items_of(measured(moment))]
    path = write_items(tmp_path / 'a.mcap', items)
    names = {field.name for field in compare_bags(path, path, Tolerances()).fields()}
    assert 'segments' in names and 'skeleton' not in names


def test_skeleton_is_that_of_the_body() -> None:
    """Found again from positions and rotations, to rounding."""
    from graph_messages import a_skeleton

    posture = FRAMES[7].posture
    found = skeleton_of(
        posture.posture.rotations[None],
        posture.segments[None],
        posture.posture.end_effectors[None, :4],
    )[0]
    body = a_skeleton()
    expected = np.concatenate((body.offsets[1:], body.interaction_points))
    assert found == pytest.approx(expected, abs=1e-12)
