# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Plots of bags that another program wrote, in the forms of `ros2 bag record`."""

import json
from pathlib import Path

from bag_edit import messages_of
from puppet_replay.plots import command as plot_command
from puppet_ros.bags import definition_of
import pytest
from rosbags import rosbag2
from rosbags.rosbag2 import StoragePlugin
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

TOPICS = ('/tracker/raw', '/tracker/filtered', '/performer/posture', '/importance')


def copied(source: Path, target: Path, plugin: StoragePlugin) -> Path:
    store = get_typestore(Stores.ROS2_JAZZY)
    writer = rosbag2.Writer(target, version=9, storage_plugin=plugin)
    writer.open()
    connections = {}
    for message in messages_of(source, TOPICS):
        if message.type not in store.fielddefs:
            store.register(get_types_from_msg(definition_of(message.type), message.type))
        if message.topic not in connections:
            connections[message.topic] = writer.add_connection(
                message.topic, message.type, typestore=store
            )
        writer.write(connections[message.topic], message.log_ns, message.data)
    writer.close()
    return target


@pytest.mark.parametrize('plugin', list(StoragePlugin), ids=lambda plugin: plugin.name.lower())
def test_folders_of_both_kinds_give_the_same_plots(
    plugin: StoragePlugin, replayed_bag: Path, tmp_path: Path
) -> None:
    bag = copied(replayed_bag, tmp_path / 'folder', plugin)
    assert (bag / 'metadata.yaml').is_file()
    plots = []
    for path in (replayed_bag, bag):
        report = tmp_path / 'report.json'
        words = ['--what', 'importance,filter', '--json', str(report), str(tmp_path / 'a.png')]
        assert plot_command.main([str(path), *words]) == 0
        plots.append(json.loads(report.read_text())['plots'])
    assert plots[0] == plots[1] and plots[0]['importance']['series'][0]['count'] > 100
