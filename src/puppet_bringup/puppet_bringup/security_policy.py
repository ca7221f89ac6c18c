# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The access policy of SROS 2 for the nodes of the suite: one enclave a node, what it has, no more.

The file is written from the graph of running nodes, in version 0.2.0 of sros2's policy schema;
`ros2 security create_permission` makes signed permissions of it.

"""

from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as Xml

from puppet_bringup.reference_graph import Graph, running_nodes
from puppet_ros.interface_table import CLOCK, JOINTS, TF_STATIC

POLICY = Path('config') / 'security' / 'puppet.policy.xml'
VERSION = '0.2.0'
ENCLAVES = '/puppet'
OF_EVERY_NODE = ('/rosout', '/parameter_events')
ROS_TYPES = ('rcl_interfaces/', 'lifecycle_msgs/', 'type_description_interfaces/')
HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- Written from the nodes by ./puppet dev reference; doc/security.md says how to use it. -->
"""
PUBLISH, SUBSCRIBE, REPLY, REQUEST = 'publish', 'subscribe', 'reply', 'request'
KINDS = {PUBLISH: 'topic', SUBSCRIBE: 'topic', REPLY: 'service', REQUEST: 'service'}
# what nodes have besides where a parameter asks for it: simulated time, a puppet that is a robot
OF_EVERY_OPTION = {SUBSCRIBE: (CLOCK,)}
OF_OPTIONS = {'visualization': {PUBLISH: (TF_STATIC,), SUBSCRIBE: (JOINTS,)}}


class Rule(NamedTuple):
    """Names that a node may use in one way."""

    way: str
    """One of KINDS."""

    is_ros: bool
    """Whether they are ROS's own, which every node has."""

    names: tuple[str, ...]
    """From the root, as on the graph."""


def rules_of(name: str, looker: Any) -> list[Rule]:
    """Return what a node of the root namespace may do, as another one, `looker`, sees it."""
    asked = {
        PUBLISH: looker.get_publisher_names_and_types_by_node,
        SUBSCRIBE: looker.get_subscriber_names_and_types_by_node,
        REPLY: looker.get_service_names_and_types_by_node,
        REQUEST: looker.get_client_names_and_types_by_node,
    }
    own, of_ros = [], []
    for way, ask in asked.items():
        found = ask(name, '/')
        ros = {n for n, types in found if n in OF_EVERY_NODE or types[0].startswith(ROS_TYPES)}
        optional = (*OF_EVERY_OPTION.get(way, ()), *OF_OPTIONS.get(name, {}).get(way, ()))
        own.append(Rule(way, False, tuple(sorted({n for n, _ in found} - ros | {*optional}))))
        of_ros.append(Rule(way, True, tuple(sorted(ros))))
    return [rule for rule in (*own, *of_ros) if rule.names]


def policy_text(graph: Graph) -> str:
    """Return the policy of the running nodes."""
    root = Xml.Element('policy', version=VERSION)
    enclaves = Xml.SubElement(root, 'enclaves')
    for name in sorted(graph.nodes):
        enclave = Xml.SubElement(enclaves, 'enclave', path=f'{ENCLAVES}/{name}')
        profiles = Xml.SubElement(enclave, 'profiles')
        profile = Xml.SubElement(profiles, 'profile', ns='/', node=name)
        for rule in rules_of(name, graph.lab):
            kind = KINDS[rule.way]
            group = Xml.SubElement(profile, f'{kind}s', {rule.way: 'ALLOW'})
            for found in rule.names:
                is_private = rule.is_ros or kind == 'service'
                Xml.SubElement(group, kind).text = _relative(found, name if is_private else '')
    Xml.indent(root)
    return HEAD + Xml.tostring(root, 'unicode') + '\n'


def current_policy() -> str:
    """Return the policy of the suite's nodes, which are run for it."""
    with running_nodes() as graph:
        return policy_text(graph)


def _relative(name: str, node: str) -> str:
    """Return a name as policies write it: those of the node by ~, others from the namespace."""
    private = f'/{node}/'
    return f'~/{name[len(private):]}' if name.startswith(private) else name.lstrip('/')
