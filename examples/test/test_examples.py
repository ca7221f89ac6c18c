# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Every example runs, prints what it says, and keeps what it promises."""

import json
from pathlib import Path
import re
import runpy
import subprocess
import sys

import numpy as np
import puppet
import pytest

EXAMPLES = Path(__file__).resolve().parents[1]
N_FRAMES = 90
SCRIPTS = {
    'bag_to_numpy',
    'clean_feet',
    'compare_filters',
    'edit_by_constraints',
    'live_to_numpy',
    'own_method',
    'own_solver',
    'own_tracker',
    'retarget_folder',
    'robot_npz',
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Make a folder with a short clip the current one."""
    monkeypatch.chdir(tmp_path)
    walk = puppet.load_clip('walk')
    frames = slice(0, N_FRAMES)
    roots, rotations = walk.root_positions[frames], walk.rotations[frames]
    short = puppet.Motion.from_rotations(walk.skeleton, walk.rate_hz, roots, rotations)
    Path('clips').mkdir()
    puppet.save_clip(short, 'clips/short.bvh')
    return tmp_path


@pytest.fixture
def run(monkeypatch, capsys):
    """Run an example as `python NAME.py ARGUMENTS` does; return what it printed."""

    def program(name, *arguments):
        monkeypatch.setattr(sys, 'argv', [f'{name}.py', *arguments])
        runpy.run_path(str(EXAMPLES / f'{name}.py'), run_name='__main__')
        return capsys.readouterr().out

    return program


def numbers(text):
    return [float(word) for word in re.findall(r'-?\d+\.\d+', text)]


def test_each_script_is_tried_here_and_says_how_it_is_run():
    assert {path.stem for path in EXAMPLES.glob('*.py')} == SCRIPTS
    for name in SCRIPTS:
        text = (EXAMPLES / f'{name}.py').read_text()
        assert f'python {name}.py' in text and re.search(r'\b[Ii]t\b[^.]* prints', text), name


def test_folder_of_clips_goes_on_after_a_bad_one(run):
    Path('clips/bad.bvh').write_text('nothing')
    lines = run('retarget_folder', 'clips', 'out').splitlines()
    assert 'bad.bvh' in lines[1] and lines[2].split()[:2] == ['short', str(N_FRAMES)]
    assert puppet.load_clip('out/short.bvh').n_frames == N_FRAMES
    with pytest.raises(SystemExit, match='expected .bvh files'):
        run('retarget_folder', 'out/nowhere', 'out')


def test_solver_of_ones_own_keeps_hands_where_they_are_wished(run):
    usual, own = (numbers(line)[0] for line in run('own_solver', 'clips/short.bvh').splitlines())
    assert usual > 20.0 and own < 1.0


def test_tracker_of_ones_own_loses_only_the_damaged_record(run):
    told = run('own_tracker')
    rms_mm, worst_mm = numbers(told)
    assert '479 of 480' in told and rms_mm < 1.0 and worst_mm < 5.0


def test_filters_are_compared(run):
    lines = run('compare_filters', 'clips/short.bvh').splitlines()[1:]
    errors_mm = {line[:16].strip(): float(line.split()[-2]) for line in lines}
    assert errors_mm.pop('Kalman') < min(errors_mm.values())


def test_sliding_feet_are_cleaned(run):
    before, after = numbers(run('clean_feet'))
    assert before > 50.0 and after < 5.0
    assert puppet.load_clip('clean.bvh').n_frames == 846


def test_robot_is_saved_for_a_trainer(run):
    assert 'joint_pos' in run('robot_npz', str(robot_file()), 'clips/short.bvh')
    with np.load('robot.npz') as data:
        assert data['joint_pos'].shape == (N_FRAMES, len(data['joint_names']))


def robot_file():
    return EXAMPLES.parent / 'src' / 'puppet_core' / 'test' / 'humanoid.urdf'


def test_constraints_in_python_are_met(run):
    moved_cm, worst_mm = numbers(run('edit_by_constraints', 'clips/short.bvh'))
    assert moved_cm == 15.0 and worst_mm < 0.1


def test_method_of_ones_own_stands_beside_ours(run):
    lines = run('own_method', 'clips/short.bvh').splitlines()[1:]
    assert [line.split()[0] for line in lines] == ['copy_angles', 'joint_angles', 'whole_body']
    own, _, ours = (float(line.split()[2]) for line in lines)
    assert ours < own


def test_bag_becomes_arrays(run):
    pytest.importorskip('rosbags')
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import get_typestore, Stores

    types = get_typestore(Stores.ROS2_JAZZY)
    kinds = types.types
    with Writer(Path('bag'), version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        kind = 'sensor_msgs/msg/JointState'
        connection = writer.add_connection('/joint_states', kind, typestore=types)
        for i in range(5):
            stamp = kinds['builtin_interfaces/msg/Time'](i, 0)
            header = kinds['std_msgs/msg/Header'](stamp, '')
            none = np.zeros(0)
            message = kinds[kind](header, ['a', 'b'], np.array([i, 0.5]), none, none)
            writer.write(connection, i, types.serialize_cdr(message, kind))
    assert 'position' in run('bag_to_numpy', 'bag')
    with np.load('bag.npz') as data:
        np.testing.assert_array_equal(data['position'][:, 0], range(5))
        np.testing.assert_array_equal(data['header.stamp.sec'], range(5))
    with pytest.raises(SystemExit, match='/nothing: expected a topic'):
        run('bag_to_numpy', 'bag', '/nothing')


@pytest.mark.ros
def test_stream_becomes_arrays(monkeypatch):
    pytest.importorskip('rclpy')
    from puppet_ros.testing import isolated_context, spin_until
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    with isolated_context() as context:
        node = Node('arm', context=context)
        publisher = node.create_publisher(JointState, '/joint_states', qos_profile_sensor_data)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        command = [sys.executable, str(EXAMPLES / 'live_to_numpy.py'), '5', '60']
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:

            def publish():
                message = JointState(name=['a', 'b'], position=[-0.25, 0.5])
                message.header.stamp = node.get_clock().now().to_msg()
                publisher.publish(message)

            try:
                assert spin_until(executor, lambda: program.poll() is not None, before=publish)
                told = program.stdout.read()
            finally:
                program.kill()
        executor.shutdown()
    assert told.startswith('5 frames of 2 joints') and 'from -0.25 to 0.50 rad' in told


def test_no_ros_is_told_in_a_line(run, monkeypatch):
    monkeypatch.setitem(sys.modules, 'rclpy', None)
    with pytest.raises(SystemExit, match='rclpy: expected ROS 2'):
        run('live_to_numpy')


def test_cells_of_the_notebook_run_in_order_and_print_what_they_show(capsys):
    notebook = json.loads((EXAMPLES / 'retarget.ipynb').read_text())
    assert notebook['nbformat'] == 4
    names = {}
    for cell in notebook['cells']:
        if cell['cell_type'] == 'code':
            exec(compile(''.join(cell['source']), cell['id'], 'exec'), names)
            shown = ''.join(line for out in cell['outputs'] for line in out['text'])
            printed = capsys.readouterr().out
            blank = re.sub(r' *\d+\.\d+', '#', printed)
            assert blank == re.sub(r' *\d+\.\d+', '#', shown)
            np.testing.assert_allclose(numbers(printed), numbers(shown), atol=0.11)
    assert Path('sally.bvh').is_file() and Path('blubby.bvh').is_file()
