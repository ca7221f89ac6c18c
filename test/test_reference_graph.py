# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The running graph is as doc/reference/ and the access policy say."""

import difflib
import re

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_bringup import process_table  # noqa: E402,I100
from puppet_ros.interface_table import BY_NAME, FRAMES, SERVICES, TOPICS  # noqa: E402
from source_tree import ROOT  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from tools.reference import FOLDER, POLICY, policy_text, profile_text, rows_of, running_nodes  # noqa: E402

pytestmark = pytest.mark.ros

NODES, TOPICS_PAGE = (ROOT / FOLDER / f'{name}.md' for name in ('nodes', 'topics'))
# of every node, by ROS itself
OF_ROBOTS = {  # test_tf_tree.py and test_robot_commands.py run one
    ('/joint_trajectory_controller/joint_trajectory', 'retarget'),
    ('/forward_position_controller/commands', 'retarget'),
}
OWN_TOPICS = ('/rosout', '/parameter_events')
OWN_TOPIC_END = '/transition_event'
OWN_SERVICES = ('rcl_interfaces/', 'lifecycle_msgs/', 'type_description_interfaces/')
OWN_PARAMETERS = ('use_sim_time', 'start_type_description_service')
CASES = sorted(process_table.NODES)


@pytest.fixture(scope='module')
def graph():
    with running_nodes() as running:
        yield running


def type_of(kind):
    package, folder = kind.__module__.split('.')[:2]
    return f'{package}/{folder}/{kind.__name__}'


def published(lab):
    return {
        name: types
        for name, types in lab.get_topic_names_and_types()
        if name not in OWN_TOPICS
        and not name.endswith(OWN_TOPIC_END)
        and lab.count_publishers(name)
    }


def section(title, page=TOPICS_PAGE):
    text = page.read_text(encoding='utf-8')
    start = text.index(f'\n{title}\n')
    depth = len(title.split()[0])
    end = re.compile(rf'\n#{{1,{depth}}} ').search(text, start + len(title))
    return text[start : None if end is None else end.start()]


def strangers(lab):
    rows = section('## Topics')
    return [
        name
        for name, types in published(lab).items()
        if not any(f'\n| `{name}` | `{kind}` |' in rows for kind in types)
    ]


def test_every_topic_is_in_the_reference(graph):
    """A new one needs a row in puppet_ros.interface_table; one without is found here."""
    assert strangers(graph.lab) == []
    surprise = graph.lab.create_publisher(String, '/surprise', 10)
    assert strangers(graph.lab) == ['/surprise']
    graph.lab.destroy_publisher(surprise)


def test_every_row_of_a_node_is_on_the_graph(graph):
    """No topic is left in the table that its publishers do not have."""
    for topic in TOPICS:
        for name in set(topic.publishers) & set(graph.nodes):
            if (topic.name, name) in OF_ROBOTS:
                continue
            assert topic.name in {p.topic_name for p in graph.nodes[name].publishers}, name


@pytest.mark.parametrize('name', CASES)
def test_publishers_types_and_qos_are_as_said(name, graph):
    seen = 0
    for publisher in graph.nodes[name].publishers:
        if publisher.topic_name in OWN_TOPICS:
            continue
        topic = BY_NAME[publisher.topic_name]
        assert name in topic.publishers, f'{topic.name} is published by {name} too'
        assert type_of(publisher.msg_type) == topic.type
        assert profile_text(publisher.qos_profile) == profile_text(topic.profile), topic.name
        seen += 1
    assert seen >= 2


def test_every_service_is_in_the_reference(graph):
    there = {
        name: types[0]
        for name, types in graph.lab.get_service_names_and_types()
        if not types[0].startswith(OWN_SERVICES)
    }
    assert there == {service.name: service.type for service in SERVICES}
    rows = section('## Services')
    for service in SERVICES:
        assert f'\n| `{service.name}` | `{service.type}` | `{service.node}` |' in rows


@pytest.mark.parametrize('name', CASES)
def test_every_parameter_is_in_the_reference(name, graph):
    """Name, default, and whether it may be changed, as the node itself describes it."""
    node = graph.nodes[name]
    names = [n for n in node.list_parameters([], 0).names if n not in OWN_PARAMETERS]
    assert sorted(names) == sorted(row.name for row in rows_of(name))
    rows = {
        line.split('`')[1]: line
        for line in section(f'## {name}', NODES).splitlines()
        if line.startswith('| `')
    }
    assert set(rows) == set(names)
    for descriptor in node.describe_parameters(names):
        changes = 'read-only' if descriptor.read_only else 'live'
        assert f'| {changes} |' in rows[descriptor.name]


def test_the_access_policy_is_the_graph(graph):
    """A topic or service that a node gains or loses; if so: ./puppet dev reference --write."""
    assert (ROOT / POLICY).read_text(encoding='utf-8') == policy_text(graph)
    surprise = graph.nodes['importance'].create_publisher(String, '/surprise', 10)
    changed = difference(policy_text(graph), (ROOT / POLICY).read_text(encoding='utf-8'))
    graph.nodes['importance'].destroy_publisher(surprise)
    assert [line.strip() for line in changed] == ['<topic>surprise</topic>']


def difference(text, written):
    lines = written.splitlines()
    changes = difflib.ndiff(lines, text.splitlines())
    return [line[2:] for line in changes if line.startswith('+ ')]


def test_frames_of_the_bodies_are_those_of_the_visualization(graph):
    """Each pair that the node can publish is one of the table's kinds."""
    kinds = [(_pattern(frame.parent), _pattern(frame.child)) for frame in FRAMES]
    node = graph.nodes['visualization']
    views = node._performer, *(puppet.view for puppet in node._puppets)
    pairs = [pair for view in views for pair in view._segments.frames]
    assert len(pairs) > 90
    for parent, child in pairs:
        assert any(p(parent) and c(child) for p, c in kinds), (parent, child)
    assert any(not c('elsewhere/pelvis') for _, c in kinds)


def _pattern(text):
    words = text.replace('<body>', '(performer|<puppet>)').replace('<segment>', r'\w+')
    words = words.replace('<parent segment>', r'\w+').replace('<parent link>', r'\w+')
    words = words.replace('<puppet>', r'puppet(_\d+)?')
    return re.compile(words.replace('<link>', r'\w+').replace('<sensor>', r'\w+')).fullmatch
