# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Topics, services, frames, parameters and launch arguments as tables, from the code's own."""

from types import ModuleType

from puppet_bringup.launch_arguments import ARGUMENTS, VARIANTS
from puppet_bringup.process_table import processes, SIM
from puppet_bringup.reference_commands import module_of
from puppet_bringup.reference_markdown import cell, code, table
from puppet_core.errors import ConfigError
from puppet_core.parameter_rows import Row
from puppet_ros.interface_table import FRAMES, SERVICES, TOPICS
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

ROWS = 'ROWS'  # ends the name of a node's rows


def node_programs() -> dict[str, str]:
    """Return the package of every node that a launch description can start, in their order."""
    found: dict[str, str] = {}
    for variant in VARIANTS:
        given = {'rviz': 'true'} | ({'ports_dir': '-'} if variant == SIM else {})
        for process in processes(variant, given):
            if process.is_node and process.package:  # RViz is none of the suite's
                found.setdefault(process.name, process.package)
    return found


def node_module(name: str) -> ModuleType:
    """Return the module of a node's program."""
    return module_of(node_programs()[name], name)


def rows_of(name: str) -> tuple[Row, ...]:
    """
    Return the parameters of a node: the one tuple of rows that its module knows by name.

    Raises
    ------
    ConfigError : if there is none, or more than one.

    """
    module = node_module(name)
    found = {
        id(value): value for key, value in vars(module).items()
        if key.endswith(ROWS) and all(isinstance(row, Row) for row in value)
    }  # fmt: skip
    if len(found) != 1:
        raise ConfigError(
            f'{module.__name__}: expected one name that ends in {ROWS}, got {len(found)}'
        )
    return tuple(next(iter(found.values())))


def profile_text(profile: QoSProfile) -> str:
    """Return a QoS profile in words."""
    is_reliable = profile.reliability == ReliabilityPolicy.RELIABLE
    is_latched = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    kept = ', transient local' if is_latched else ''
    return f'{"reliable" if is_reliable else "best effort"}{kept}, last {profile.depth}'


def topic_lines() -> list[str]:
    """Return the table of topics."""
    return table(['topic', 'type', 'publisher', 'QoS', 'rate', 'meaning'], (
        [code(topic.name), code(topic.type), ', '.join(map(code, topic.publishers)),
         profile_text(topic.profile), cell(topic.rate), cell(topic.meaning)]
        for topic in TOPICS
    ))  # fmt: skip


def service_lines() -> list[str]:
    """Return the table of services."""
    return table(['service', 'type', 'node', 'does'], (
        [code(service.name), code(service.type), code(service.node), cell(service.meaning)]
        for service in SERVICES
    ))  # fmt: skip


def frame_lines() -> list[str]:
    """Return the table of frames."""
    return table(['frame', 'below', 'on', 'publisher', 'meaning'], (
        [code(frame.child), code(frame.parent), code(frame.topic),
         ', '.join(map(code, frame.publishers)), cell(frame.meaning)]
        for frame in FRAMES
    ))  # fmt: skip


def parameter_lines() -> list[str]:
    """Return a table of parameters for each node."""
    lines = []
    for name in node_programs():
        lines += [f'### {name}', '']
        lines += table(
            ['parameter', 'type', 'default', 'unit', 'range', 'changes', 'meaning'],
            [_parameter(row) for row in rows_of(name)],
        )
    return lines


def launch_lines() -> list[str]:
    """Return the launch descriptions and the table of their arguments."""
    lines = table(['description', 'starts'], ([code(n), cell(t)] for n, t in VARIANTS.items()))
    return lines + table(['argument', 'default', 'of', 'meaning'], (
        [code(a.name), code(a.default), 'all' if set(a.variants) == set(VARIANTS)
         else ', '.join(map(code, a.variants)), cell(a.description)]
        for a in ARGUMENTS
    ))  # fmt: skip


def _parameter(row: Row) -> list[str]:
    kind = {bool: 'bool', int: 'int', float: 'double', str: 'string'}[row.element_type]
    length = '' if row.length is None else str(row.length)
    default = row.default if isinstance(row.default, tuple) else (row.default,)
    shown = ', '.join(_value(value) for value in default)
    return [
        code(row.name), f'{kind}[{length}]' if row.is_list else kind,
        code(f'[{shown}]' if row.is_list else shown), cell('' if row.unit == '-' else row.unit),
        cell(row.range_text().replace('value', 'x')), 'live' if row.live else 'read-only',
        cell(row.description),
    ]  # fmt: skip


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else repr(value)
