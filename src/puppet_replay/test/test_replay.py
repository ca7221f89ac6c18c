# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The deterministic replay: the same every time, from every entry, and what it refuses."""

from functools import partial
from pathlib import Path

from bag_samples import edited, messages_of
import numpy as np
from puppet_core.io import ConfigError, InputFileError
from puppet_msgs.msg import RetargetStatus, TrackerFrame
from puppet_replay import replay as replay_command
from puppet_replay.compare import compare_bags
from puppet_replay.compare.tolerances import Tolerances
from puppet_replay.pipeline import read_settings
from puppet_replay.replay import replay
from puppet_replay.topics import ENTRIES
from puppet_ros.bags import BagReader
from puppet_ros.interface_table import (
    FILTERED,
    IMPORTANCE,
    JOINTS,
    POSTURE,
    PUPPET,
    RAW,
    STATUS,
    TF_STATIC,
)
from puppet_ros.messages.cdr import decoded, encoded
from puppet_ros.messages.raw_header import stamp_ns
import pytest
from rclpy.serialization import deserialize_message

pytestmark = pytest.mark.ros

N_FRAMES = 360


def test_two_runs_give_the_same_bytes(sensors_bag, replayed_bag, tmp_path):
    replay(sensors_bag, tmp_path / 'again.mcap', read_settings())
    assert (tmp_path / 'again.mcap').read_bytes() == replayed_bag.read_bytes()


def test_every_frame_comes_out_with_its_stamp(sensors_bag, replayed_bag):
    with BagReader(replayed_bag) as reader:
        counts = reader.counts
    assert counts[RAW] == counts[FILTERED] == N_FRAMES
    assert counts[POSTURE] == counts[IMPORTANCE] == counts[JOINTS] == counts[PUPPET] > 200
    raw = {stamp_ns(m.data): m.log_ns for m in messages_of(sensors_bag, [RAW])}
    for message in messages_of(replayed_bag, [JOINTS, PUPPET, STATUS]):
        assert raw[stamp_ns(message.data)] == message.log_ns
    status = deserialize_message(messages_of(replayed_bag, [STATUS])[-1].data, RetargetStatus)
    assert status.solve_time_us == 0.0 and status.frames_solved == counts[JOINTS]


@pytest.mark.parametrize('entry', ENTRIES[1:])
def test_a_later_entry_gives_the_same_from_there_on(replayed_bag, tmp_path, entry):
    """What was recorded between two nodes is all that the later one knows."""
    path = tmp_path / 'later.mcap'
    report = replay(replayed_bag, path, read_settings(), entry)
    assert report.entry == entry
    topics = [JOINTS, PUPPET, STATUS]
    assert messages_of(path, topics) == messages_of(replayed_bag, topics)


def test_parameters_reach_the_nodes(sensors_bag, tmp_path):
    (tmp_path / 'own.yaml').write_text(
        'retarget:\n  ros__parameters:\n    character: sally\n    solver: position\n'
    )
    settings = read_settings(
        tmp_path / 'own.yaml', ['importance.prediction_s=0.1'], {'solver': 'elbow_circle'}
    )
    replay(sensors_bag, tmp_path / 'a.mcap', settings)
    status = deserialize_message(
        messages_of(tmp_path / 'a.mcap', [STATUS])[-1].data, RetargetStatus
    )
    assert (status.character, status.solver) == ('sally', 'elbow_circle')
    assert settings.importance.tuning.prediction_s == 0.1


def test_parameters_are_those_of_the_bag_and_differences_are_told(sensors_bag, tmp_path, capsys):
    a, b, c = (str(tmp_path / f'{name}.mcap') for name in 'abc')
    options = '--character sally --environment demo --set importance.smoothing_s=0.1'.split()
    assert replay_command.main([str(sensors_bag), a, *options]) == 0
    assert replay_command.main([a, b]) == 0
    assert 'in the bag' not in capsys.readouterr().err
    assert Path(a).read_bytes() == Path(b).read_bytes()
    assert replay_command.main([a, c, '--character', 'blubby']) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if 'in the bag' in line]
    assert told == ["puppet replay: retarget.character is 'blubby' and was 'sally' in the bag"]


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (['importance.none=1'], 'importance: none: expected a known parameter'),
        (['importance.prediction_s=-1'], 'prediction_s: expected 0.0 <= value'),
        (['camera.x=1'], 'set: expected NODE.PARAMETER=VALUE'),
        (['retarget.solver=ik'], 'retarget: solver: expected one of'),
        (['importance.smoothing_s=2001-99-99'], 'set: expected a YAML value for importance'),
        (['importance.smoothing_s=' + '[' * 9999], 'set: expected a YAML value for importance'),
    ],
)
def test_settings_that_do_not_fit_are_named(words, says, tmp_path):
    with pytest.raises(ConfigError, match=says):
        read_settings(values=words)
    (tmp_path / 'own.yaml').write_text('/robot1/retarget: {ros__parameters: {solver: position}}')
    with pytest.raises(InputFileError, match='retarget, without a namespace, got none'):
        read_settings(tmp_path / 'own.yaml')


def changed_stamps(messages):
    raw = [m for m in messages if m.topic == RAW]
    kept = raw[:150] + raw[270:]
    mixed = [message.data for message in kept]
    for i in range(0, len(kept) - 1, 20):
        mixed[i : i + 2] = mixed[i + 1], mixed[i]
    frames = [m._replace(data=data) for m, data in zip(kept, mixed)]
    return [m for m in messages if m.topic != RAW] + [*frames, frames[-1]]


def test_gaps_and_stamps_out_of_order_are_reported_and_do_no_harm(sensors_bag, tmp_path):
    path = edited(sensors_bag, tmp_path / 'odd.mcap', changed_stamps)
    report = replay(path, tmp_path / 'out.mcap', read_settings())
    text = '; '.join(report.warnings)
    assert 'stamps go back in time' in text and 'gaps, the longest of 1.0 s' in text
    assert '1 stamps repeat' in text
    assert report.drops['pose_filter: stamp'] > 10
    assert report.counts[JOINTS] > 50


def test_an_object_without_its_sensor_is_reported(sensors_bag, tmp_path):
    settings = read_settings(short={'environment': 'carry'})
    (warning,) = replay(sensors_bag, tmp_path / 'out.mcap', settings).warnings
    assert warning.startswith('importance: ') and 'box' in warning


@pytest.mark.parametrize(
    ('left_out', 'cause'),
    [
        ([TF_STATIC], "no transform of 'transmitter' in /tf_static"),
        ([], 'a still T-pose of the layout'),
    ],
)
def test_why_nothing_came_is_reported(sensors_bag, tmp_path, left_out, cause, capsys):
    """The place of the tracker is missing, or the T-pose."""

    def late(messages):
        messages = [m for m in messages if m.topic not in left_out]
        return messages if left_out else messages[:20]

    path = edited(sensors_bag, tmp_path / 'odd.mcap', late)
    assert replay_command.main([str(path), str(tmp_path / 'out.mcap')]) == 1
    told = capsys.readouterr().err
    assert cause in told
    last = told.splitlines()[-1]
    assert ('T-pose' in last) == (not left_out)
    assert ('expected where the tracker stands, in /tf_static' in last) == bool(left_out)


def test_other_versions_are_refused_and_no_version_is_reported(sensors_bag, tmp_path, capsys):
    """By their fields, or by another hash alone; comments make no difference."""

    def about(topic, old, type_hash):
        definition = topic.definition.replace(*old) if old else ''
        return topic._replace(definition=definition, type_hash=type_hash)

    other, field = 'RIHS01_' + '0' * 64, 'float64[] ages_s'
    for old, type_hash in (((field, 'float32[] ages'), ''), ((), other), ((field, 'nothing'), '')):
        path = edited(
            sensors_bag, tmp_path / 'old.mcap', about=partial(about, old=old, type_hash=type_hash)
        )
        assert replay_command.main([str(path), str(tmp_path / 'out.mcap')]) == 2
        error = capsys.readouterr().err
        assert 'TrackerFrame as installed here, got that of an older version' in error
        assert 'record it anew' in error and error.count('\n') < 3
    assert not (tmp_path / 'out.mcap').exists()
    commented = partial(about, old=(field, f'# a comment\n{field}'), type_hash='')
    path = edited(sensors_bag, tmp_path / 'commented.mcap', about=commented)
    assert not replay(path, tmp_path / 'out.mcap', read_settings()).warnings
    bare = partial(about, old=(), type_hash='')
    path = edited(sensors_bag, tmp_path / 'bare.mcap', about=bare)
    report = replay(path, tmp_path / 'out.mcap', read_settings())
    assert f'{RAW}: no definition of puppet_msgs/msg/TrackerFrame' in report.warnings[0]


def test_unknown_types_and_broken_messages_beside_do_no_harm(sensors_bag, tmp_path):
    def change(messages):
        return [
            m._replace(data=m.data[:60]) if m.topic == RAW and i % 50 == 0 else m
            for i, m in enumerate(messages)
        ]

    path = edited(sensors_bag, tmp_path / 'odd.mcap', change)
    report = replay(path, tmp_path / 'out.mcap', read_settings())
    assert report.drops[f'{RAW}: bad input'] == N_FRAMES // 50
    assert report.counts[JOINTS] > 200


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (['--entry', POSTURE], f'expected messages on {POSTURE}, got those on {RAW}'),
        (['--character', 'nobody'], 'character: expected one of'),
        (['--set', 'x'], 'set: expected NODE.PARAMETER=VALUE'),
        (['--params', '/no.yaml'], '/no.yaml: expected a readable file'),
        (
            ['--calibration', '/no/such.yaml', '--set', 'performer.auto_calibrate=false'],
            'the performer was never calibrated',
        ),
    ],
)
def test_bad_arguments_are_one_line(sensors_bag, tmp_path, words, says, capsys):
    code = replay_command.main([str(sensors_bag), str(tmp_path / 'o.mcap'), *words])
    error = capsys.readouterr().err
    assert code == (1 if 'never' in says else 2)
    assert says in error and 'Traceback' not in error


def test_a_frame_that_is_latched_late_counts_from_the_start(sensors_bag, replayed_bag, tmp_path):
    """A recorder that hears of the tracker's place after the first frames changes nothing."""

    def late(messages):
        ns = 2_500_000_000
        return [m._replace(log_ns=ns) if m.topic == TF_STATIC else m for m in messages]

    path = edited(sensors_bag, tmp_path / 'late.mcap', late)
    replay(path, tmp_path / 'out.mcap', read_settings())
    assert messages_of(tmp_path / 'out.mcap') == messages_of(replayed_bag)
    assert deserialize_message(messages_of(path, [RAW])[0].data, TrackerFrame).frame_index == 0


def negated(messages):
    changed = []
    for message in messages:
        if message.topic == RAW:
            msg = decoded(message.data, TrackerFrame)
            np.frombuffer(msg.orientations).reshape(-1, 4)[3] *= -1.0
            message = message._replace(data=encoded(msg))
        changed.append(message)
    return changed


def test_the_other_sign_of_a_rotation_changes_nothing(sensors_bag, replayed_bag, tmp_path):
    bag = edited(sensors_bag, tmp_path / 'negated.mcap', negated)
    replay(bag, tmp_path / 'out.mcap', read_settings())
    assert (tmp_path / 'out.mcap').read_bytes() != replayed_bag.read_bytes()
    assert compare_bags(replayed_bag, tmp_path / 'out.mcap', Tolerances()).within


def test_a_parameter_of_a_node_before_the_entry_is_said_to_change_nothing(
    replayed_bag, tmp_path, capsys
):
    words = ['--set=performer.enhance_weight=0.97', '--set=retarget.ease_s=0.4']
    output = str(tmp_path / 'out.mcap')
    assert replay_command.main([str(replayed_bag), output, '--entry', POSTURE, *words]) == 0
    (line,) = (x for x in capsys.readouterr().err.splitlines() if 'warning' in x)
    assert 'performer.enhance_weight=0.97 changes nothing' in line and POSTURE in line


def test_a_parameter_that_changed_is_named(sensors_bag, replayed_bag, tmp_path):
    """A sixth of the distance of influence: importance differs, and nothing before it."""
    out = tmp_path / 'out.mcap'
    replay(sensors_bag, out, read_settings(values=['importance.influence_distance_m=0.1']))
    found = compare_bags(replayed_bag, out, Tolerances())
    assert found.origin() == found.worst().topic == IMPORTANCE and not found.worst().within
    assert {RAW, FILTERED, POSTURE} <= {t.topic for t in found.topics if t.within}
