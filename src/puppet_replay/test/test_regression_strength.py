# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Changes of the real graph are caught, with the right field named as the worst."""

from dataclasses import replace
from pathlib import Path

from bag_samples import recorded
import numpy as np
from puppet_core.body.character import load_character, save_character
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_msgs.msg import TrackerFrame
from puppet_replay.compare import compare_bags, Comparison
from puppet_replay.compare.tolerances import Tolerances
from puppet_replay.pipeline import read_settings
from puppet_replay.replay import replay
from puppet_ros import share
from puppet_ros.bags import BagReader, BagWriter
from puppet_ros.messages.cdr import decoded, encoded
import pytest


@pytest.fixture(scope='module')
def walk(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp('walk') / 'walk.mcap', 2.2)


def replayed(bag: Path, target: Path, *values: str, character: str = 'sally') -> Path:
    replay(bag, target, read_settings(values=values, short={'character': character}))
    return target


def compared(a: Path, b: Path, preset: str = 'default') -> Comparison:
    return compare_bags(a, b, Tolerances(preset))


def test_prediction_that_changed_is_named(walk, tmp_path):
    a = replayed(walk, tmp_path / 'a.mcap', 'importance.prediction_s=0.15')
    b = replayed(walk, tmp_path / 'b.mcap', 'importance.prediction_s=0.10')
    found = compared(a, b)
    worst = found.worst()
    assert not worst.within
    assert (worst.topic, worst.name) == ('/importance', 'importance')
    assert worst.worst.component in ('left_foot', 'right_foot')
    assert found.origin() == '/importance'
    same = {topic.topic for topic in found.topics if topic.within}
    assert {'/tracker/raw', '/tracker/filtered', '/performer/posture'} <= same


@pytest.mark.parametrize(('segment', 'axis'), [('left_hand', 1), ('right_shank', 2)])
def test_five_millimetres_in_a_character_are_named(walk, tmp_path, segment, axis):
    sally = load_character(share.character_file('sally'))
    offsets = sally.skeleton.offsets.copy()
    offsets[SEGMENT_INDEX[segment], axis] += 0.005
    changed = replace(sally, skeleton=replace(sally.skeleton, offsets=offsets))
    path = tmp_path / 'sally.yaml'
    save_character(changed, path)
    a = replayed(walk, tmp_path / 'a.mcap')
    b = replayed(walk, tmp_path / 'b.mcap', character=str(path))
    found = compared(a, b)
    worst = found.worst()
    assert (worst.topic, worst.name) == ('/puppet/posture', 'skeleton')
    assert worst.worst.component == f'{segment} {"xyz"[axis]}'
    assert worst.peak == pytest.approx(5.0, abs=1e-6)
    assert found.origin() == '/puppet/robot_description'
    same = {topic.topic for topic in found.topics if topic.within}
    assert {'/tracker/raw', '/performer/posture', '/importance'} <= same


def with_signs(bag: Path, target: Path, signs: np.ndarray) -> Path:
    """Write the recording with the parts (x, y, z, w) of one sensor's quaternion changed."""
    with BagReader(bag) as reader, BagWriter(target) as writer:
        for message in reader.messages():
            data = message.data
            if message.topic == '/tracker/raw':
                msg = decoded(data, TrackerFrame)
                poses = np.frombuffer(msg.poses).reshape(-1, 7)
                poses[3, 3:] *= signs
                data = encoded(msg)
            writer.write(message.topic, message.type, message.log_ns, data)
    return target


def test_the_other_sign_of_a_rotation_changes_nothing(walk, tmp_path):
    negated = with_signs(walk, tmp_path / 'negated.mcap', -np.ones(4))
    a = replayed(walk, tmp_path / 'a.mcap')
    b = replayed(negated, tmp_path / 'b.mcap')
    assert a.read_bytes() != b.read_bytes()
    assert compared(a, b).within
