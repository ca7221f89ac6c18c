# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Several nodes in one process: the command line, the table's part, and locked callbacks."""

from dataclasses import replace
from pathlib import Path
import threading

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_bringup.pipeline import CLASSES, hold_during_callbacks, main, read_words  # noqa: E402,I100
from puppet_bringup.process_table import EVERY_FRAME_HZ, HARDWARE, PIPELINE, processes, VARIANTS  # noqa: E402
from puppet_core.io import ConfigError  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
import rclpy  # noqa: E402

pytestmark = pytest.mark.ros


def test_words_are_dealt_to_their_nodes():
    words = ['--node', 'performer', '--ros-args', '-p', 'a:=1', '--node', 'retarget']
    assert read_words(words) == [('performer', ('--ros-args', '-p', 'a:=1')), ('retarget', ())]


@pytest.mark.parametrize(
    'words', [[], ['performer'], ['--node'], ['--node', 'nobody'], ['x', '--node', 'retarget']]
)
def test_other_words_are_refused(words, capsys):
    with pytest.raises(ConfigError, match='--node: expected'):
        read_words(words)
    assert main(words) == 2
    assert capsys.readouterr().err.startswith('puppet_pipeline: --node: expected')


@pytest.mark.parametrize('variant', VARIANTS)
def test_composed_nodes_have_the_arguments_of_separate_ones(variant):
    given = {'ports_dir': '/tmp/ports'} if variant == 'sim' else {}
    folder = Path('config')
    apart = [p for p in processes(variant, given) if p.is_node]
    own = {**apart[-1].parameters, 'tf_rate_hz': EVERY_FRAME_HZ}
    apart[-1] = replace(apart[-1], parameters=own)  # visualization
    *_, shared = processes(variant, {**given, 'composed': 'true'})
    assert shared.executable == PIPELINE
    assert list(shared.nodes) == apart
    found = read_words(shared.ros_arguments(folder))
    assert [list(node.arguments) for node in found] == [p.ros_arguments(folder) for p in apart]
    assert {node.kind for node in found} <= set(CLASSES)


def test_further_characters_get_nodes_and_topics_of_their_own():
    listed = processes(HARDWARE, {'character': 'sally, blubby,frog'})
    nodes = {p.name: p for p in listed if p.executable == 'retarget'}
    assert {name: p.parameters['character'] for name, p in nodes.items()} == {
        'retarget': 'sally',
        'retarget_2': 'blubby',
        'retarget_3': 'frog',
    }
    outputs = [new for p in nodes.values() for _, new in p.remappings]
    assert len(set(outputs)) == len(outputs) == 2 * len(nodes['retarget_2'].remappings)
    shown = next(p for p in listed if p.name == 'visualization')
    assert shown.parameters['character'] == 'sally'


def test_callbacks_wait_for_the_lock():
    with isolated_context() as context:
        node, executor = rclpy.create_node('held', context=context), make_executor(context)
        executor.add_node(node)
        ticks = []
        node.create_timer(0.001, lambda: ticks.append(1))
        lock = threading.RLock()
        hold_during_callbacks(node, lock)
        assert spin_until(executor, lambda: bool(ticks))
        spinner = threading.Thread(target=executor.spin_once, kwargs={'timeout_sec': 5.0})
        with lock:
            ticks.clear()
            spinner.start()
            spinner.join(timeout=0.2)  # a timer of 1 ms would have ticked
            assert spinner.is_alive() and not ticks
        spinner.join(timeout=10.0)
        assert ticks
