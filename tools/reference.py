# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet dev reference`: doc/reference/ from the code, and the access policy from its nodes.

The access policy is one enclave of SROS 2 for each node, with what the running nodes have on the
graph and no more, in version 0.2.0 of the policy schema.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from configparser import ConfigParser
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import EntryPoint
from itertools import count
from pathlib import Path
import re
import sys
from types import ModuleType
from typing import Any, NamedTuple
from xml.etree import ElementTree as Xml

import numpy as np
from puppet_bringup.process_table import ARGUMENTS, NODES, VARIANTS
from puppet_core.io import (
    CommandParser,
    ConfigError,
    EXIT_OK,
    Row,
    run_command,
    SetLevel,
    write_text,
)
from puppet_core.sensor_frames import SensorFrame
from puppet_msgs.msg import TrackerFrame
from puppet_ros import program_start
from puppet_ros.interface_table import (
    BY_NAME,
    CLOCK,
    FILTERED_POSES,
    FRAMES,
    JOINTS,
    RAW,
    SERVICES,
    TOPICS,
)
from puppet_ros.messages import TrackerFrameWriter
from puppet_ros.node import qos
from puppet_ros.program_start import GROUPS
from puppet_ros.testing import isolated_context, spin_until
from puppet_setup.commands import BUILT_IN, COMMANDS, FAMILIES
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

_BOUNDS = re.compile(r'(\S+) <=? value <= (\S+)')
_REPEATED_DEFAULT = re.compile(r'(?:^|[;,] |, which is )default (?:is )?\S+$')

LAB = 'lab'
STEP_NS = 10_000_000

ROOT = Path(__file__).resolve().parents[1]
POLICY = Path('config') / 'security' / 'puppet.policy.xml'
VERSION = '0.2.0'
ENCLAVES = '/puppet'
OF_EVERY_NODE = ('/rosout', '/parameter_events')
ROS_TYPES = ('rcl_interfaces/', 'lifecycle_msgs/', 'type_description_interfaces/')
POLICY_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- Written from the nodes by ./puppet dev reference; doc/ros2.md says how to use it. -->
"""
# what nodes have where a parameter asks for it, besides simulated time: a puppet that is a robot
OPTIONAL = {('visualization', 'subscribe'): (JOINTS,)}

FOLDER = Path('doc') / 'reference'
MESSAGES, KINDS = Path('src') / 'puppet_msgs', ('msg', 'srv')
EXAMPLE = 'example: ./puppet dev reference --write && git diff --exit-code doc config'
HEAD = """\
Written from the code by `./puppet dev reference --write`; a test fails where it differs, or where
the running nodes have a topic, service or parameter that is not in it."""
PARAMETERS_HEAD = """\
Files in `config/` set them, one for each node. *Live* ones may be changed with `ros2 param set`.
Every node has `use_sim_time` besides."""
SHARED_HEAD = 'Options that mean the same in several commands; *also* names them there.'
Part = tuple[str, str, list[str]]  # title, introduction and lines of a section
SHARED_BY = 3  # commands or more
SERVICES_HEAD = """\
Every node has ROS's services for parameters besides, and `tracker_driver` those of a lifecycle
node."""
FRAMES_HEAD = 'All frames follow REP-103. `<segment>` is one of the names in the message Posture.'
LAUNCH_HEAD = """\
`./puppet up DESCRIPTION NAME:=VALUE ..`, or `ros2 launch puppet_bringup DESCRIPTION.launch.py`.
Without a default, the parameter file's value stays."""


def cell(text: str) -> str:
    """Return a text on one line in which nothing is taken for a tag or the end of a cell."""
    parts = ' '.join(text.split()).replace('|', '\\|').split('`')
    # what stands between backquotes is shown as it is
    return '`'.join(
        part if i % 2 else part.replace('<', '&lt;').replace('*', '\\*')
        for i, part in enumerate(parts)
    )


def code(text: str) -> str:
    """Return a text as code; nothing for an empty one."""
    return f'`{text}`' if text else ''


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [list(heads), ['---'] * len(heads), *map(list, rows)]
    return [f'| {" | ".join(line)} |' for line in lines] + ['']


def module_of(package: str, program: str) -> ModuleType:
    """Return the module of a program; ConfigError if no package declares it."""
    for entry in _entries():
        if entry.name == program and entry.module.split('.')[0] == package:
            return import_module(entry.module)
    raise ConfigError(f'{package} {program}: expected a program of the suite, found none')


def programs() -> list[tuple[str, str]]:
    """Return package and name of every program of the suite, sorted."""
    return sorted({(entry.module.split('.')[0], entry.name) for entry in _entries()})


def _entries() -> list[EntryPoint]:
    """Return the programs that the packages of the checkout declare."""
    found = []
    for path in sorted(ROOT.glob('src/*/setup.cfg')):
        config = ConfigParser()
        config.read(path, encoding='utf-8')
        for group in GROUPS:
            lines = config.get('options.entry_points', group, fallback='').split('\n')
            pairs = (line.split(' = ') for line in lines if line)
            found += [EntryPoint(name, value, group) for name, value in pairs]
    return [entry for entry in found if entry.module != program_start.__name__]


def parsers_of(module: ModuleType) -> list[argparse.ArgumentParser]:
    """Return the parsers of a program, also MORE_PARSERS; none for a node with ROS's arguments."""
    make = getattr(module, 'parser', None)
    return [make() for make in (make, *getattr(module, 'MORE_PARSERS', ())) if make]


def command_lines() -> Iterator[Part]:
    """Yield the sections of all commands."""
    every = dict(COMMANDS)
    rows = {name: command.summary for name, command in every.items()} | BUILT_IN
    for family, (_, inner, built_in) in FAMILIES.items():
        every |= {f'{family} {name}': command for name, command in inner.items()}
        rows |= {f'{family} {name}': command.summary for name, command in inner.items()}
        rows |= {f'{family} {name}': summary for name, summary in built_in.items()}
    heads = ['command', 'does']
    yield 'Commands', '', table(heads, ([f'`./puppet {n}`', cell(t)] for n, t in rows.items()))
    sections: list[tuple[str, argparse.ArgumentParser]] = []
    for name, command in every.items():
        if command.package:
            module = module_of(command.package, command.program)
        else:
            module = import_module(command.program)
        parsers = parsers_of(module)
        if not parsers:
            raise ConfigError(f'{module.__name__}: expected parser(), got none')
        for word in command.leading:
            parsers = [_subparsers(parser)[word] for parser in parsers]
        sections += _titled(f'./puppet {name}', parsers)
    shown = {(command.package, command.program) for command in every.values()}
    for package, program in programs():
        parsers = parsers_of(module_of(package, program))
        if parsers and (package, program) not in shown:
            sections += _titled(f'./puppet run {package} {program}', parsers)
    heads = ['argument', 'default', 'meaning']
    counts = Counter(row for _, parser in sections for row in _rows(parser))
    shared = [row for row, count in counts.items() if count >= SHARED_BY]
    yield 'Shared options', SHARED_HEAD, table(heads, shared)
    lines: list[str] = []
    for title, parser in sections:
        listed = list(_rows(parser))
        own = [row for row in listed if row not in shared]
        names = [re.findall(r'[\w-]+', row[0])[0] for row in listed if row in shared]
        also = ', '.join(map(code, names))
        lines += [f'### {title}', '', cell((parser.description or '').split('\n\n')[0]), '']
        lines += (table(heads, own) if own else []) + ([f'Also {also}.', ''] if also else [])
    yield 'Arguments', '', lines


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    actions = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return {name: inner for action in actions for name, inner in action.choices.items()}


def _titled(
    title: str, parsers: Iterable[argparse.ArgumentParser]
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the parsers of a program and those behind its subcommands, each with its title."""
    for parser in parsers:
        yield title, parser
        for name, inner in _subparsers(parser).items():
            yield from _titled(f'{title} {name}', [inner])


def _rows(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, str]]:
    # argparse's own, which fills %(default)s in
    formatter = parser._get_formatter()
    for action in parser._actions:
        is_everywhere = isinstance(action, (argparse._HelpAction, SetLevel))
        if is_everywhere or action.help == argparse.SUPPRESS:
            continue
        meaning = formatter._expand_help(action) if action.help else ''
        default = _default(action)
        if default.startswith('`'):
            meaning = _REPEATED_DEFAULT.sub('', meaning)
        yield _words(action), default, cell(meaning)


def _words(action: argparse.Action) -> str:
    """Return the option with its value, or the name of a positional."""
    metavar = action.metavar
    value = ' '.join(metavar) if isinstance(metavar, tuple) else metavar
    if value is None and action.choices is not None:
        value = '{' + ','.join(map(str, action.choices)) + '}'
    if value is None:
        value = action.dest.upper()
    if action.nargs in ('+', '*') and not isinstance(metavar, tuple):
        value = f'{value} ..'
    if not action.option_strings:
        is_optional = action.nargs in ('?', '*')
        return code(f'[{value}]' if is_optional else value)
    name = ', '.join(action.option_strings)
    return code(name if action.nargs == 0 else f'{name} {value}'.replace('|', ' '))


def _default(action: argparse.Action) -> str:
    value = action.default
    if value is None or value is False or value == argparse.SUPPRESS or value in ('', (), []):
        return 'required' if action.required and action.option_strings else ''
    if isinstance(value, (tuple, list)):
        return code(' '.join(map(str, value)))
    if isinstance(value, float) and value in (float('inf'), float('-inf')):
        return ''
    return code(f'{value:g}' if isinstance(value, float) else str(value))


def message_lines(path: Path) -> list[str]:
    """Return the section of a message or service file: what `ros2 interface show` prints."""
    title = f'### {path.parts[-3]}/{path.parts[-2]}/{path.stem}'
    return [title, '', '```text', *path.read_text(encoding='utf-8').strip().split('\n'), '```', '']


def rows_of(name: str) -> tuple[Row, ...]:
    """Return the parameters of a node: the one tuple ..ROWS of its module."""
    (rows,) = (value for key, value in vars(_node_module(name)).items() if key.endswith('ROWS'))
    return tuple(rows)


def _node_module(name: str) -> ModuleType:
    return import_module(NODES[name][0])


def profile_text(profile: QoSProfile) -> str:
    is_reliable = profile.reliability == ReliabilityPolicy.RELIABLE
    is_latched = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    kept = ', transient local' if is_latched else ''
    return f'{"reliable" if is_reliable else "best effort"}{kept}, last {profile.depth}'


def interface_lines() -> Iterator[Part]:
    """Yield title, introduction and lines of the sections on the graph."""
    topics = (
        [
            code(topic.name),
            code(topic.type),
            ', '.join(map(code, topic.publishers)),
            profile_text(topic.profile),
            cell(topic.rate),
            cell(topic.meaning),
        ]
        for topic in TOPICS
    )
    heads = ['topic', 'type', 'publisher', 'QoS', 'rate', 'meaning']
    yield 'Topics', '', table(heads, topics)
    services = ([code(s.name), code(s.type), code(s.node), cell(s.meaning)] for s in SERVICES)
    yield 'Services', SERVICES_HEAD, table(['service', 'type', 'node', 'does'], services)
    frames = (
        [
            code(frame.child),
            code(frame.parent),
            code(frame.topic),
            ', '.join(map(code, frame.publishers)),
            cell(frame.meaning),
        ]
        for frame in FRAMES
    )
    heads = ['frame', 'below', 'on', 'publisher', 'meaning']
    yield 'Frames', FRAMES_HEAD, table(heads, frames)


def parameter_lines() -> Iterator[Part]:
    heads = ['parameter', 'default', 'range', 'changes', 'meaning']
    head = PARAMETERS_HEAD
    for name in NODES:
        yield name, head, table(heads, (_parameter(name, row) for row in rows_of(name)))
        head = ''


def launch_lines() -> list[str]:
    descriptions = ([code(name), cell(text)] for name, text in VARIANTS.items())
    arguments = (
        [
            code(a.name),
            code(a.default),
            'all' if set(a.variants) == set(VARIANTS) else ', '.join(map(code, a.variants)),
            cell(a.description),
        ]
        for a in ARGUMENTS
    )
    return table(['description', 'starts'], descriptions) + table(
        ['argument', 'default', 'of', 'meaning'], arguments
    )


def _parameter(node: str, row: Row) -> list[str]:
    default = row.default if isinstance(row.default, tuple) else (row.default,)
    shown = ', '.join(_value(value) for value in default)
    ranged = _BOUNDS.sub(r'\1 … \2', row.range_text()).replace('value', 'x')
    return [
        f'`{row.name}` <a id="{node}.{row.name}"></a>',
        code(f'[{shown}]' if row.is_list else shown),
        cell(ranged if row.unit == '-' else f'{ranged} {row.unit}'),
        'live' if row.live else 'read-only',
        cell(row.description),
    ]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else repr(value)


class Graph(NamedTuple):
    nodes: dict[str, Any]  # those that run, by name
    lab: Node  # which inspects them


@contextmanager
def running_nodes() -> Iterator[Graph]:
    """Run all nodes of the descriptions with all their topics; ConfigError after a minute."""
    with isolated_context() as context:
        lab = Node(LAB, context=context)
        nodes = {name: _make(name, context) for name in sorted(NODES)}
        nodes['tracker_driver'].trigger_configure()
        publisher = lab.create_publisher(TrackerFrame, RAW, qos.STREAM)
        executor = SingleThreadedExecutor(context=context)
        for node in nodes.values():
            executor.add_node(node)
        writer, stamps = TrackerFrameWriter('transmitter'), count(STEP_NS, STEP_NS)
        place, turn = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]])
        fields = place, turn, np.zeros(1), np.zeros(1, np.uint8)

        def publish() -> None:
            publisher.publish(writer.fill(SensorFrame(next(stamps), 0, ('head',), *fields)))
            nodes['pose_topics']._pose_array.open('all')

        def is_whole() -> bool:
            there = dict(lab.get_topic_names_and_types())
            return all(lab.count_publishers(name) for name in there if name in BY_NAME) and (
                FILTERED_POSES in there and lab.count_publishers(FILTERED_POSES) > 0
            )

        try:
            if not spin_until(executor, is_whole, before=publish):
                raise ConfigError('nodes: expected all topics on the graph after a minute')
            lab.destroy_publisher(publisher)
            yield Graph(nodes, lab)
        finally:
            executor.shutdown()


def _make(name: str, context: Any) -> Any:
    """Return a node, its PoseArray asked for where it has one."""
    wishes = {'pose_array': 'all', 'autostart': False}
    there = {row.name for row in rows_of(name)}
    given = [Parameter(key, value=value) for key, value in wishes.items() if key in there]
    return getattr(_node_module(name), NODES[name][1])(context=context, parameter_overrides=given)


def policy_text(graph: Graph) -> str:
    """Return the policy of the running nodes, which are in the root namespace."""
    asked = {
        'publish': graph.lab.get_publisher_names_and_types_by_node,
        'subscribe': graph.lab.get_subscriber_names_and_types_by_node,
        'reply': graph.lab.get_service_names_and_types_by_node,
        'request': graph.lab.get_client_names_and_types_by_node,
    }
    root = Xml.Element('policy', version=VERSION)
    enclaves = Xml.SubElement(root, 'enclaves')
    for node in sorted(graph.nodes):
        enclave = Xml.SubElement(enclaves, 'enclave', path=f'{ENCLAVES}/{node}')
        profiles = Xml.SubElement(enclave, 'profiles')
        profile = Xml.SubElement(profiles, 'profile', ns='/', node=node)
        of_ros = []  # what every node has: after the node's own
        for way, ask in asked.items():
            found = ask(node, '/')
            ros = {n for n, types in found if n in OF_EVERY_NODE or types[0].startswith(ROS_TYPES)}
            of_ros.append((way, ros, True))
            own = {name for name, _ in found} - ros | {*OPTIONAL.get((node, way), ())}
            _allow(profile, node, way, own | ({CLOCK} if way == 'subscribe' else set()), False)
        for way, names, is_ros in of_ros:
            _allow(profile, node, way, names, is_ros)
    Xml.indent(root)
    return POLICY_HEAD + Xml.tostring(root, 'unicode') + '\n'


def _allow(profile: Any, node: str, way: str, names: set[str], is_ros: bool) -> None:
    """Add what a node may do with some names: those of the node are written by ~."""
    kind = 'topic' if way in ('publish', 'subscribe') else 'service'
    if names:
        group = Xml.SubElement(profile, f'{kind}s', {way: 'ALLOW'})
        for name in sorted(names):
            if (is_ros or kind == 'service') and name.startswith(f'/{node}/'):
                text = f'~/{name[len(node) + 2 :]}'
            else:
                text = name.lstrip('/')
            Xml.SubElement(group, kind).text = text


def current_policy() -> str:
    """Return the policy of the suite's nodes, which are run for it."""
    with running_nodes() as graph:
        return policy_text(graph)


def parser() -> argparse.ArgumentParser:
    p = CommandParser(
        prog='puppet dev reference',
        description=f'Write {FOLDER} of this checkout from the code, and\n'
        f'{POLICY}, for which all nodes run for some seconds.\n'
        'Exit code 0: done; 2: bad input.',
        epilog=EXAMPLE,
    )
    p.add_argument('--write', action='store_true', required=True, help='write both')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    return run_command('puppet dev reference', lambda: _run(argv))


def _run(argv: Sequence[str] | None) -> int:
    parser().parse_args(argv)
    for path, text in {**reference_pages(), POLICY: current_policy()}.items():
        write_text(ROOT / path, text)
    return EXIT_OK


def reference_pages() -> dict[Path, str]:
    """Return the pages; ConfigError for a program that is missing or does not describe itself."""
    messages = [path for kind in KINDS for path in sorted((ROOT / MESSAGES / kind).iterdir())]
    shown = [line for path in messages for line in message_lines(path)]
    launches = 'Launch arguments', LAUNCH_HEAD, launch_lines()
    pages: dict[str, tuple[str, Iterable[Part]]] = {
        'nodes': ('Parameters of the nodes', parameter_lines()),
        'topics': ('Topics and messages', [*interface_lines(), ('Messages', '', shown)]),
        'commands': ('Commands', [launches, *command_lines()]),
    }
    texts = {}
    for name, (title, parts) in pages.items():
        lines = [f'# {title}', '', HEAD, '']
        for part, head, body in parts:
            lines += [f'## {part}', '', *([head, ''] if head else []), *body]
        texts[FOLDER / f'{name}.md'] = '\n'.join(lines).rstrip('\n') + '\n'
    return texts


if __name__ == '__main__':
    sys.exit(main())
