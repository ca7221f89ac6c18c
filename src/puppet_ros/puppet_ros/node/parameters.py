# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameter rows declared on a node, and the frozen config that is always consistent with them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from puppet_core.io import check_values, ConfigError, Row
from puppet_ros.node import qos
from puppet_ros.process import claim
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String
import yaml

Config = TypeVar('Config')
PARAMETERS_TOPIC = 'puppet/parameters'  # relative to the node's namespace

# Pass these to Node.__init__: only then does rclpy report which parameters the user set, and the
# table can refuse the names that no row has.
NODE_OPTIONS: Mapping[str, Any] = {'automatically_declare_parameters_from_overrides': True}

# Declared by rclpy itself, in every node.
_RCLPY_NAMES = ('use_sim_time', 'start_type_description_service')
_RCLPY_PREFIXES = ('qos_overrides.',)

# Descriptor bounds for rows open at one end, which tools show as the slider's ends, and the
# descriptor's field for them.
_BOUNDS: Mapping[type, tuple[Any, str, Any]] = {
    float: (1e300, 'floating_point_range', FloatingPointRange),
    int: (2**62, 'integer_range', IntegerRange),
}

_ARRAYS: Mapping[type, Parameter.Type] = {
    bool: Parameter.Type.BOOL_ARRAY,
    int: Parameter.Type.INTEGER_ARRAY,
    float: Parameter.Type.DOUBLE_ARRAY,
    str: Parameter.Type.STRING_ARRAY,
}


class ParameterTable(Generic[Config]):
    """
    Rows -> declared parameters -> frozen config of a node that is made with NODE_OPTIONS.

    `build` makes the config from name -> value, `on_change` is called with a new one. Raises
    ConfigError for an unknown name, a wrong value or combination, or if another process has a node
    of this name.
    """

    def __init__(
        self,
        node: Node,
        rows: Sequence[Row],
        build: Callable[[Mapping[str, Any]], Config],
        on_change: Callable[[Config], None] | None = None,
    ) -> None:
        self._rows = {row.name: row for row in rows}
        self._build = build
        self._on_change = on_change
        self._refusal = ''
        claim(node)
        self._values = check_values(rows, _take_overrides(node))
        self._config = build(self._values)
        self._next: tuple[dict[str, Any], Config] | None = None
        node.declare_parameters(
            '',
            [(row.name, _plain(self._values[row.name]), _descriptor(row)) for row in rows],
            ignore_override=True,
        )
        self._name = node.get_name()
        self._publisher = node.create_publisher(String, PARAMETERS_TOPIC, qos.LATCHED)
        self._publisher.publish(parameters_msg(self._name, self._values))
        node.add_pre_set_parameters_callback(self._before_set)
        node.add_on_set_parameters_callback(self._on_set)
        node.add_post_set_parameters_callback(self._after_set)

    @property
    def config(self) -> Config:
        return self._config

    def _before_set(self, parameters: list[Parameter]) -> list[Parameter]:
        """
        Check the proposed values before rclpy does, whose refusals do not name the parameter.

        This callback cannot refuse: it hands on the old value and leaves the text for `_on_set`.
        """
        self._refusal = ''
        checked = []
        for parameter in parameters:
            row = self._rows.get(parameter.name)
            if row is None:
                checked.append(parameter)
                continue
            value = self._values[row.name]
            try:
                value = row.check(parameter.value)
            except ConfigError as err:
                self._refusal = self._refusal or str(err)
            checked.append(_parameter(row, value))
        return checked

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        reason, self._refusal = self._refusal, ''
        values = dict(self._values)
        try:
            for parameter in parameters:
                if parameter.name in self._rows:
                    values[parameter.name] = self._rows[parameter.name].check(parameter.value)
            if not reason:
                self._next = (values, self._build(values))
        except ConfigError as err:
            reason = reason or str(err)
        return SetParametersResult(successful=not reason, reason=reason)

    def _after_set(self, parameters: list[Parameter]) -> None:
        if self._next is None or not any(p.name in self._rows for p in parameters):
            return
        (self._values, self._config), self._next = self._next, None
        self._publisher.publish(parameters_msg(self._name, self._values))
        if self._on_change is not None:
            self._on_change(self._config)


def parameters_msg(node_name: str, values: Mapping[str, Any]) -> String:
    """Return the parameters of a node as a ROS parameter file."""
    plain = {name: _plain(value) for name, value in values.items()}
    return String(data=yaml.safe_dump({node_name: {'ros__parameters': plain}}, sort_keys=False))


def _take_overrides(node: Node) -> dict[str, Any]:
    """Return what the user set, and undeclare it so that the rows can be declared."""
    overrides: dict[str, Any] = {}
    for name in node.list_parameters([], 0).names:
        if name in _RCLPY_NAMES or name.startswith(_RCLPY_PREFIXES):
            continue
        overrides[name] = node.get_parameter(name).value
        node.undeclare_parameter(name)
    return overrides


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _parameter(row: Row, value: Any) -> Parameter:
    """Return a parameter of the row's type, which an empty list does not tell."""
    if row.is_list:
        return Parameter(row.name, _ARRAYS[row.element_type], list(value))
    return Parameter(row.name, value=value)


def _descriptor(row: Row) -> ParameterDescriptor:
    unit = f' [{row.unit}]' if row.unit not in ('', '-') else ''
    descriptor = ParameterDescriptor(
        name=row.name,
        description=row.description + unit,
        additional_constraints=row.range_text(),
        read_only=not row.live,
    )
    if (row.low is None and row.high is None) or row.element_type not in _BOUNDS:
        return descriptor
    bound, name, kind = _BOUNDS[row.element_type]
    low = -bound if row.low is None else row.element_type(row.low)
    high = bound if row.high is None else row.element_type(row.high)
    setattr(descriptor, name, [kind(from_value=low, to_value=high)])
    return descriptor
