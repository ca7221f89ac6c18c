# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The table: the same programs for launch and puppet_up, arguments where they belong."""

from pathlib import Path

from puppet_bringup import process_table
from puppet_bringup.process_table import (
    ARGUMENTS,
    arguments_of,
    HARDWARE,
    PIPELINE,
    prepared,
    Process,
    processes,
    REPLAY,
    rviz_choice,
    SIM,
    TOPICS,
    VARIANTS,
)
from puppet_core.io import ConfigError
from puppet_core.procedural import SCRIPTS
from puppet_driver.devices import DEVICES
from puppet_driver.emulator.cli import parser as emulator_parser
from puppet_driver.parameters import DEFAULT_SENSORS
from puppet_performer.sensor_layout import load_layout
from puppet_retarget.parameters import RETARGET_ROWS
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
NODES = ['tracker_driver', 'pose_filter', 'performer', 'importance', 'retarget', 'visualization']
SIM_GIVEN = {'ports_dir': '/tmp/ports'}


def _given(variant, **more):
    return {**(SIM_GIVEN if variant == SIM else {}), **more}


def _named(listed, name):
    return next(p for p in listed if p.name == name)


def test_nodes_stand_in_the_order_of_the_data():
    assert [p.name for p in processes(SIM, SIM_GIVEN)] == ['tracker_emulator', *NODES]
    assert [p.name for p in processes(HARDWARE, {})] == NODES
    assert [p.name for p in processes(TOPICS, {})] == ['pose_topics', *NODES[1:]]
    assert [p.name for p in processes(REPLAY, {})] == NODES[1:]


@pytest.mark.parametrize('variant', VARIANTS)
def test_every_node_has_a_parameter_file_of_its_own_name(variant):
    for process in processes(variant, _given(variant)):
        if process.is_node:
            path = ROOT / 'config' / process.parameter_file
            assert process.name == path.stem
            assert list(yaml.safe_load(path.read_text())) == ['/**']  # in any namespace


@pytest.mark.parametrize('variant', VARIANTS)
def test_programs_are_declared_by_their_packages(variant):
    for process in processes(variant, _given(variant, view='true')):
        setup = (ROOT / 'src' / process.package / 'setup.cfg').read_text()
        graph = setup.partition('\npuppet_graph =')[2].partition('_commands')[0]
        assert f'{process.executable} = {process.package}.' in graph


def test_solvers_and_commands_are_those_of_the_node():
    choices = {argument.name: argument.choices for argument in ARGUMENTS}
    rows = {row.name: row.choices for row in RETARGET_ROWS}
    assert choices['solver'] == rows['solver']
    assert set(choices['command_type']) == set(rows['command_type'])


def test_character_reaches_every_node_that_needs_it():
    listed = processes(HARDWARE, {'character': 'sally'})
    assert _named(listed, 'retarget').parameters['character'] == 'sally'
    assert _named(listed, 'visualization').parameters['character'] == 'sally'
    assert 'character' not in _named(listed, 'performer').parameters
    both = processes(HARDWARE, {'character': 'sally,frog', 'command_type': 'positions'})
    assert _named(both, 'retarget').parameters['command_type'] == 'positions'
    assert 'command_type' not in _named(both, 'retarget_2').parameters
    shown = _named(both, 'visualization').parameters
    assert shown == {
        'character': 'sally',
        'further_characters': 'frog',
        'display_offset_m': [0.0, 0.0, 0.0],  # a commanded robot stands where it is
    }
    # an empty one leaves the parameter file
    assert all(not p.parameters for p in processes(HARDWARE, {'character': ''}))


@pytest.mark.parametrize('composed', ['false', 'true'])
def test_a_namespace_is_that_of_all_programs(composed):
    given = {'namespace': 'robot1', 'rviz': 'x', 'view': 'true', 'composed': composed}
    listed = processes(REPLAY, {**given, 'bag': 'walk', 'character': 'sally,frog'})
    assert {process.namespace for process in listed} == {'/robot1'}
    for process in listed:
        words = [*process.arguments, *process.ros_arguments(Path('/etc'))]
        assert words.count('__ns:=/robot1') == max(len(process.nodes), 1), process.name
        clocks = words.count('/clock:=/robot1/clock')  # each with a time of its own
        assert clocks == max(len(process.nodes), 1)
        if process.name in ('rviz2', 'puppet_view', 'bag'):
            assert '/tf:=/robot1/tf' in words and '/tracker/raw:=/robot1/tracker/raw' in words


def test_the_page_has_the_cues_of_a_show():
    cues = Path(__file__).resolve().parents[1] / 'config' / 'cues' / 'demo.yaml'
    page = _named(processes(HARDWARE, {'view': 'true', 'cues': str(cues)}), 'puppet_view')
    assert page.arguments == ('--cues', str(cues))


def test_rviz_has_a_model_for_each_puppet(tmp_path):
    given = {**SIM_GIVEN, 'character': 'blubby,sally,frog', 'rviz': 'true', 'namespace': 'robot1'}
    rviz = _named(prepared(SIM, given, tmp_path), 'rviz2')
    config = yaml.safe_load(Path(rviz.arguments[1]).read_text())
    (bodies,) = (
        group['Displays']
        for group in config['Visualization Manager']['Displays']
        if group['Name'] == 'Bodies'
    )
    models = {d['TF Prefix']: d['Description Topic']['Value'] for d in bodies if 'TF Prefix' in d}
    assert list(models) == ['performer', 'puppet', 'puppet_2', 'puppet_3']
    assert models['puppet_3'] == '/robot1/puppet_3/robot_description'


def test_transforms_of_every_frame_in_one_process():
    def shown(**given):
        given |= {**SIM_GIVEN, 'composed': 'true', 'display_offset_m': '0,1.5,0'}
        (pipeline,) = (p for p in processes(SIM, given) if p.name == PIPELINE)
        return _named(pipeline.nodes, 'visualization').parameters

    assert shown()['tf_rate_hz'] >= 144.0 and shown()['display_offset_m'] == [0.0, 1.5, 0.0]
    assert shown(tf_rate_hz='0')['tf_rate_hz'] == 0.0


def test_emulator_and_driver_agree_on_ports_and_rate():
    listed = processes(SIM, {**SIM_GIVEN, 'rate_hz': '100'})
    emulator, driver = _named(listed, 'tracker_emulator'), _named(listed, 'tracker_driver')
    assert driver.parameters['ports'] == [f'/tmp/ports/line{i}' for i in range(3)]
    assert driver.parameters['rate_hz'] == 100.0
    assert ('--lines', '3') == emulator.arguments[2:4]
    assert ('--rate-hz', '100.0') == emulator.arguments[-2:]


@pytest.mark.parametrize(
    ('given', 'environment'),
    [
        ({}, 'demo'),  # the built-in performance reaches for its table
        ({'clip': 'walk.bvh', 'up_axis': '-y'}, None),
        ({'script': 'range'}, 'floor'),
        ({'script': 'carry'}, 'carry'),
    ],
)
def test_the_emulator_performs_with_a_table_or_without(given, environment):
    listed = processes(SIM, {**SIM_GIVEN, **given})
    options = vars(emulator_parser().parse_args(_named(listed, 'tracker_emulator').arguments))
    assert {name: str(options[name]) for name in given} == given
    assert _named(listed, 'importance').parameters.get('environment') == environment


def test_a_performance_with_props_has_sensors_on_them():
    listed = processes(SIM, {**SIM_GIVEN, 'script': 'carry'})
    layout = load_layout(ROOT / 'data' / 'layouts' / 'carry.yaml')
    assert layout.props == SCRIPTS['carry'].props
    sensors = _named(listed, 'tracker_driver').parameters['sensors']
    assert tuple(sensors) == (*layout.sensors, *layout.props) == (*DEFAULT_SENSORS, *layout.props)
    assert _named(listed, 'performer').parameters['layout'] == 'carry'


def test_each_device_of_the_driver_can_be_named():
    assert process_table.DEVICES == tuple(DEVICES)
    driver = _named(processes(HARDWARE, {'device': 'liberty'}), 'tracker_driver')
    assert driver.parameters['device'] == 'liberty'


def test_bag_is_played_last():
    last = processes(REPLAY, {'bag': 'walk'})[-1]
    assert (last.package, last.executable) == ('puppet_replay', 'play')
    assert last.arguments[:5] == ('walk', '--rate', '1.0', '--clock', '--wait-for')
    assert set(last.arguments[5:]) == {process.name for process in processes(REPLAY, {})}
    last = processes(REPLAY, {'bag': 'walk', 'rviz': 'x.rviz'})[-1]  # does not wait for RViz
    assert 'rviz2' not in last.arguments and 'tracker_markers' in last.arguments


def test_recording_may_enter_later_and_the_nodes_before_are_left_out():
    names = [process.name for process in processes(REPLAY, {'entry': '/performer/posture'})]
    assert names == ['importance', 'retarget', 'visualization']


def test_ros_arguments_keep_types_apart():
    own = {'a': 1.0, 'b': 'true', 'c': ['u', 'v'], 'd': True}
    process = Process(*'npx', parameter_file='n.yaml', parameters=own, remappings=(('/a', '/b'),))
    words = process.ros_arguments(Path('/etc'))
    assert words[:5] == ['--ros-args', '-r', '__node:=n', '--params-file', '/etc/n.yaml']
    given = [w for w in words if w[0] in 'abcd' and ':=' in w]
    assert given == ['a:=1.0', 'b:="true"', 'c:=["u", "v"]', 'd:=true']
    assert words[-2:] == ['-r', '/a:=/b']


@pytest.mark.parametrize(
    ('variant', 'given', 'message'),
    [
        ('moon', {}, 'expected one of sim, hardware, topics, replay'),
        (HARDWARE, {'clip': 'x.bvh'}, 'clip: expected an argument of hardware'),
        (HARDWARE, {'rate_hz': 'fast'}, "rate_hz: expected a number, got 'fast'"),
        (HARDWARE, {'view': 'maybe'}, "view: expected true or false, got 'maybe'"),
        (HARDWARE, {'pin': 'all'}, 'pin: expected numbers of processors'),
        (REPLAY, {'entry': '/joint_states'}, 'entry: expected one of /tracker/raw'),
        (SIM, {'namespace': 'robot-1'}, "namespace: .* such as robot1 .* got 'robot-1'"),
        (SIM, {}, 'ports_dir: expected a folder'),
        (SIM, {**SIM_GIVEN, 'clip': 'a.bvh', 'script': 'carry'}, 'script: expected none beside'),
    ],
    ids=['variant', 'argument', 'number', 'truth', 'pin', 'entry', 'space', 'ports', 'both'],
)
def test_mistakes_are_named(variant, given, message):
    with pytest.raises(ConfigError, match=message):
        processes(variant, given)


def test_ports_topics_and_rate_reach_their_nodes():
    driver = _named(processes(HARDWARE, {'ports': '/dev/a, /dev/b'}), 'tracker_driver')
    assert driver.parameters['ports'] == ['/dev/a', '/dev/b']
    listed = processes(TOPICS, {'topics': '/a, /b[1]', 'rate_hz': '100'})
    source = _named(listed, 'pose_topics')
    assert source.parameters == {'topics': ['/a', '/b[1]'], 'rate_hz': 100.0}
    assert _named(listed, 'pose_filter').parameters['expected_rate_hz'] == 100.0


@pytest.mark.parametrize('variant', VARIANTS)
def test_arguments_have_a_description_and_a_unique_name(variant):
    arguments = arguments_of(variant)
    assert all(a.description.endswith('.') for a in arguments)
    assert len({a.name for a in arguments}) == len(arguments)


@pytest.mark.parametrize('variant', VARIANTS)
def test_rviz_comes_with_the_node_that_only_it_needs(variant):
    assert 'rviz2' not in [p.name for p in processes(variant, _given(variant, rviz='false'))]
    listed = processes(variant, _given(variant, rviz='/etc/mine.rviz'))
    rviz = _named(listed, 'rviz2')
    assert (rviz.package, rviz.executable) == ('', 'rviz2')
    assert rviz.arguments == ('-d', '/etc/mine.rviz')
    words = rviz.ros_arguments(Path('/etc'))
    assert words[:3] == ['--ros-args', '-r', '__node:=rviz2']
    assert ('use_sim_time:=true' in words) == (variant == REPLAY)
    markers = _named(listed, 'tracker_markers')
    assert markers.package == 'puppet_filter'
    assert (ROOT / 'config' / markers.parameter_file).is_file()


@pytest.mark.parametrize(
    ('text', 'choice'),
    [('', ''), ('No', ''), ('true', 'puppet'), ('ON', 'puppet'), ('/a/b.rviz', '/a/b.rviz')],
)
def test_rviz_is_a_truth_a_name_or_a_path(text, choice):
    assert rviz_choice(text) == choice


@pytest.mark.parametrize('composed', ['false', 'true'])
def test_only_what_frames_go_through_is_scheduled(composed):
    given = _given(SIM, realtime='true', pin='0, 1', composed=composed, rviz='true')
    for process in processes(SIM, given):
        is_on_the_way = process.name in (*NODES[:-1], PIPELINE)
        assert ('--realtime' in process.arguments) == is_on_the_way, process.name
        pinned = [word for word in process.arguments if word.startswith('--pin=')]
        assert len(pinned) == is_on_the_way
    plain = [word for p in processes(SIM, SIM_GIVEN) for word in p.arguments]
    assert not any(word.startswith(('--realtime', '--pin')) for word in plain)


def test_nodes_have_the_processors_in_turns_along_the_way():
    given = _given(SIM, pin='4,2', character='sally,blubby')
    listed = processes(SIM, given)
    on_the_way = (*NODES[:-1], 'retarget_2')
    own = [_named(listed, name).arguments for name in on_the_way]
    assert own == [('--pin=4',), ('--pin=2',)] * 3
    given = _given(SIM, pin='4,2', composed='true')
    assert _named(processes(SIM, given), PIPELINE).arguments == ('--pin=4,2',)
