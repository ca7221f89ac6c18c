# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The files of RViz name only displays, keys, topics, frames and namespaces that exist."""

import io
import struct
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

import numpy as np  # noqa: E402,I100
from puppet_core.body.character import load_character  # noqa: E402
from puppet_core.body.skeleton import LIMBS  # noqa: E402
from puppet_core.procedural.performer import procedural_motion  # noqa: E402
from puppet_driver.parameters import DEFAULT_SENSORS  # noqa: E402
from puppet_driver.tracker_driver_node import TrackerDriverNode  # noqa: E402
from puppet_filter import tracker_markers_node
from puppet_filter import tracker_markers_node as tracker_markers
from puppet_filter.pose_filter_node import PoseFilterNode  # noqa: E402
from puppet_filter.tracker_markers_node import TrackerMarkersNode  # noqa: E402
from puppet_performer.performer_node import PerformerNode  # noqa: E402
from puppet_retarget.retarget_node import RetargetNode  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from puppet_view.rviz import markers, visualization_node  # noqa: E402
from puppet_view.rviz.frames import LinkFrames  # noqa: E402
from puppet_view.rviz.visualization_node import VisualizationNode  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy  # noqa: E402
from rviz_check import complaints, displays, Graph, Offer, shown_frames  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402
from source_tree import ROOT  # noqa: E402
import yaml  # noqa: E402

pytestmark = pytest.mark.ros

RVIZ = ROOT / 'config' / 'rviz'
CHARACTER = str(ROOT / 'data/characters/blubby.yaml')
PERFORMER = str(ROOT / 'data/characters/performer.yaml')
FLOOR = str(ROOT / 'data/environments/floor.yaml')
LAYOUT = str(ROOT / 'data/layouts/default14.yaml')
FILES = ('puppet', 'tracker')
NAMESPACES = {
    f'/{visualization_node.MARKERS_TOPIC}': frozenset(markers.NAMESPACES),
    f'/{visualization_node.BODY_MARKERS_TOPIC}': frozenset(LIMBS),
    f'/{tracker_markers_node.MARKERS_TOPIC}': frozenset(tracker_markers.NAMESPACES),
}
SHOWN = [
    f'{body}/{name}'
    for body in ('performer', 'puppet')
    for name in ('pelvis', 'chest', 'head', 'left_hand', 'right_hand', 'left_foot', 'right_foot')
]


@pytest.fixture(scope='module')
def graph():
    """Yield the topics of real nodes, and the frames that they publish."""
    put = {'pose_array': 'all'}
    given: dict[Any, dict[str, Any]] = {
        TrackerDriverNode: {**put, 'autostart': False},
        PoseFilterNode: put,
        PerformerNode: {'performer': PERFORMER, 'layout': LAYOUT},
        RetargetNode: {'character': CHARACTER, 'environment': FLOOR},
        VisualizationNode: {'character': CHARACTER, 'environment': FLOOR},
        TrackerMarkersNode: {},
    }
    with isolated_context() as context:
        nodes = {
            kind: kind(
                context=context,
                parameter_overrides=[
                    Parameter(name, value=value) for name, value in values.items()
                ],
            )
            for kind, values in given.items()
        }
        nodes[TrackerDriverNode].trigger_configure()
        # only exists once a frame was published
        nodes[PoseFilterNode]._pose_array.open('all')
        other = Node('other', context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(other)
        wanted = {'/tracker/raw_poses', '/tracker/filtered_poses', *NAMESPACES}

        def offers() -> dict[str, Offer]:
            found = {}
            for topic, (kind, *_) in other.get_topic_names_and_types():
                for info in other.get_publishers_info_by_topic(topic):
                    found[topic] = Offer(
                        kind,
                        info.qos_profile.reliability == ReliabilityPolicy.RELIABLE,
                        info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL,
                    )
            return found

        assert spin_until(executor, lambda: wanted <= set(offers()))
        frames = {'world', 'transmitter', *(f'tracker/{name}' for name in DEFAULT_SENSORS)}
        for body in ('performer/', 'puppet/'):
            frames |= {child for _, child in LinkFrames(body).frames}
        yield Graph(offers(), frozenset(frames), NAMESPACES)
        executor.shutdown()


def config_of(name: str) -> dict[str, Any]:
    """Return a file's tree."""
    return yaml.safe_load((RVIZ / f'{name}.rviz').read_text())


def test_these_files_are_shipped():
    assert sorted(path.name for path in RVIZ.iterdir()) == [f'{name}.rviz' for name in FILES]


@pytest.mark.parametrize('name', FILES)
def test_everything_named_is_there(graph, name):
    assert complaints(config_of(name), graph) == []


@pytest.mark.parametrize('name', FILES)
def test_displays_stand_in_groups_with_names_of_their_own(name):
    config = config_of(name)
    tops = config['Visualization Manager']['Displays']
    assert {display['Class'] for display in tops} == {'rviz_common/Group'}
    for group in tops:
        names = [display['Name'] for display in group['Displays']]
        assert names and len(set(names)) == len(names)


@pytest.mark.parametrize('name', FILES)
def test_no_group_of_markers_is_drawn_twice(name):
    """Every namespace is ticked in exactly one display of its topic, if any shows the topic."""
    ticked: dict[tuple[str, str], int] = {}
    for display in displays(config_of(name)):
        for space, is_on in display.get('Namespaces', {}).items():
            key = (display['Topic']['Value'], space)
            ticked[key] = ticked.get(key, 0) + is_on
    assert ticked and set(ticked.values()) == {1}


def test_operator_sees_both_models_and_tidy_frames(graph):
    shown = {display['Name']: display for display in displays(config_of('puppet'))}
    models = {
        (d['TF Prefix'], d['Description Topic']['Value'])
        for d in shown.values()
        if d['Class'].endswith('/RobotModel') and d['Enabled']
    }
    assert models == {
        ('performer', '/performer/robot_description'),
        ('puppet', '/robot_description'),
    }
    frames = shown_frames(shown['Bodies and transmitter'], graph.frames)
    assert frames == {'world', 'transmitter', *SHOWN}


def test_lab_needs_nothing_of_the_puppet(graph):
    for display in displays(config_of('tracker')):
        topic = display.get('Topic', {}).get('Value', '/tracker/')
        assert topic.startswith('/tracker/')
        if display['Class'].endswith('/TF'):
            frames = shown_frames(display, graph.frames)
            assert not any(frame.startswith(('performer', 'puppet')) for frame in frames)


@pytest.mark.parametrize(
    ('right', 'wrong', 'complaint'),
    [
        ('rviz_default_plugins/RobotModel', 'rviz_default_plugins/RobotModels', 'class'),
        ('Value: /puppet/markers', 'Value: /puppet/marker', 'topic /puppet/marker'),
        ('Value: /markers', 'Value: /tf', 'topic /tf is of type'),
        ('Fixed Frame: world', 'Fixed Frame: map', 'frame map'),
        ('TF Prefix: puppet', 'TF Prefix: /puppet', 'frame /puppet/pelvis'),
        ('Target Frame: puppet/pelvis', 'Target Frame: puppet/hips', 'frame puppet/hips'),
        ('"^tracker/"', '"^trackers/"', 'no one passes the filters'),
        ('range_balls: true', 'range_ball: true', 'namespace range_ball'),
        ('left_arm: true', 'left_arms: true', 'namespace left_arm'),
        ('Visual Enabled: true', 'Visuals Enabled: true', 'key Visual'),
        ('All Links Enabled', 'All Links', 'key Links'),
        ('Durability Policy: Transient Local', 'Durability Policy: Volatile', 'latched is True'),
        ('rviz_common/Time', 'rviz_common/Clock', 'panel'),
        ('rviz_default_plugins/Measure', 'rviz_default_plugins/Ruler', 'tool'),
        ('rviz_default_plugins/Orbit', 'rviz_default_plugins/Orbits', 'view'),
        ('/World1', '/Worlds1', 'expanded'),
    ],
)
def test_wrong_name_is_found(graph, right, wrong, complaint):
    text = (RVIZ / 'puppet.rviz').read_text()
    assert right in text
    found = complaints(yaml.safe_load(text.replace(right, wrong)), graph)
    assert any(complaint in line for line in found), found


def test_reliable_display_of_a_stream_is_found(graph):
    text = (RVIZ / 'tracker.rviz').read_text().replace('Best Effort', 'Reliable')
    found = complaints(yaml.safe_load(text), graph)
    assert 'Raw poses: topic /tracker/raw_poses is best effort' in found


def test_default_view_holds_performer_and_puppet_of_the_whole_performance():
    """In the picture of a window of 1280 x 800, seen at RViz' 45 degrees from top to bottom."""
    view = config_of('puppet')['Visualization Manager']['Views']['Current']
    motion = procedural_motion(load_character(PERFORMER), 120.0)
    joints = motion.world_segments()[1][::30].reshape(-1, 3)
    offset = visualization_node.VisualizationConfig().display_offset_m
    sizes = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (-0.1, 0.3)])
    points = (np.concatenate((joints, joints + offset)) + sizes[:, None]).reshape(-1, 3)
    out = Rotation.from_euler('ZY', [view['Yaw'], -view['Pitch']]).as_matrix()
    focus = [view['Focal Point'][axis] for axis in 'XYZ']
    towards, aside, above = ((points - focus) @ out).T
    half = np.tan(np.radians(22.5)) * (view['Distance'] - towards)
    assert np.all(np.abs(above) < half) and np.all(np.abs(aside) < 1.4 * half)
    # from further away everything would fit, too small
    assert max(np.max(np.abs(above) / half), np.max(np.abs(aside) / half) / 1.4) > 0.7


LEFT, RIGHT, BOTTOM = 0, 1, 3


def docks(state: bytes) -> dict[int, tuple[int, int, dict[str, bool]]]:
    """Return width, height and panels of each dock area of a QMainWindow, and which are open."""
    data = io.BytesIO(state)

    def read(form: str) -> tuple[int, ...]:
        return struct.unpack(f'>{form}', data.read(struct.calcsize(f'>{form}')))

    assert read('IIB') == (0xFF, 0, 0xFD)
    found = {}
    for _ in range(*read('I')):
        area, width, height, sequence, _, count = read('IIIBBI')
        assert sequence == 0xFC
        panels = {}
        for _ in range(count):
            assert read('B') == (0xFB,)
            name = data.read(*read('I')).decode('utf-16-be')
            (flags,) = read('B')
            panels[name] = bool(flags & 1)
            read('4i')  # place and size
        found[area] = width, height, panels
    return found


@pytest.mark.parametrize('name', FILES)
def test_the_picture_has_most_of_the_window(name):
    window = config_of(name)['Window Geometry']
    found = docks(bytes.fromhex(window['QMainWindow State']))
    assert {area: panels for area, (_, _, panels) in found.items()} == {
        LEFT: {'Displays': True},
        RIGHT: {'Views': False},
        BOTTOM: {'Time': True},
    }
    assert 250 <= found[LEFT][0] <= 350 and found[BOTTOM][1] <= 80
    panels = {panel['Name'] for panel in config_of(name)['Panels']}
    assert panels == {'Displays', 'Views', 'Time'}
