# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters as data: one row each, checked the same way by nodes and by offline commands."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
import math
from pathlib import Path
from typing import Any, cast, TypeVar

from puppet_core.io.errors import brief, ConfigError, InputFileError
from puppet_core.io.files import check_name
from puppet_core.io.yaml_file import load_plain_yaml, read_utf8, yaml_errors

Scalar = bool | int | float | str
Config = TypeVar('Config')
_KINDS = {bool: 'true or false', int: 'a whole number', float: 'a number', str: 'a text'}


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter. The type is that of the default; a tuple default makes it a list."""

    name: str  # Snake case, nested by dots, unit suffix
    # Value if none is given; a list needs at least one element here
    default: Scalar | tuple[Scalar, ...]
    unit: str = '-'  # Unit for people, '-' if none
    low: float | None = None  # Least value allowed, of each element for a list; None is unbounded
    high: float | None = None  # Greatest value allowed
    live: bool = False  # Whether it may change while the node runs
    description: str = ''  # One sentence for `ros2 param describe` and --help
    choices: tuple[str, ...] = ()  # The words allowed, for text rows
    low_open: bool = False  # Whether the value must be above `low` rather than at least `low`
    length: int | None = None  # Exact number of elements of a list; None is any number
    may_be_empty: bool = False  # Whether a list without a length may have no element

    def __post_init__(self) -> None:
        if self.is_list and not self.default:
            raise ConfigError(f'{self.name}: expected a default with an element, got none')
        object.__setattr__(self, 'default', self.check(self.default))

    @property
    def is_list(self) -> bool:
        return isinstance(self.default, tuple)

    @property
    def element_type(self) -> type:
        return type(self.default[0] if isinstance(self.default, tuple) else self.default)

    def check(self, value: Any) -> Any:
        """Return `value` as this row's type, a list as a tuple; ConfigError names the row."""
        if not self.is_list:
            return self._check_element(value)
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ConfigError(f'{self.name}: expected a list, got {value!r}')
        elements = tuple(self._check_element(element) for element in value)
        least = 0 if self.may_be_empty else 1
        wanted = self.length if self.length is not None else max(len(elements), least)
        if len(elements) != wanted:
            count = f'{wanted}' if self.length is not None else 'at least one'
            raise ConfigError(f'{self.name}: expected {count} element(s), got {len(elements)}')
        return elements

    def range_text(self) -> str:
        """Return the allowed values in words, '' if any will do."""
        if self.choices:
            return 'one of ' + ', '.join(self.choices)
        text = 'value'
        if self.low is not None:
            text = f'{self._number(self.low)} {"<" if self.low_open else "<="} {text}'
        if self.high is not None:
            text = f'{text} <= {self._number(self.high)}'
        return '' if text == 'value' else text

    def _number(self, value: float) -> str:
        return str(self.element_type(value))

    def _check_element(self, value: Any) -> Scalar:
        kind = self.element_type
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        given = type(value)
        if given is not kind:
            raise ConfigError(f'{self.name}: expected {_KINDS[kind]}, got {value!r}')
        if kind is str:
            check_name(self.name, value)
        if kind is float and not math.isfinite(value):
            raise ConfigError(f'{self.name}: expected a finite number, got {value}')
        if self.choices and value not in self.choices:
            raise ConfigError(f'{self.name}: expected {self.range_text()}, got {value!r}')
        low, high = self.low, self.high
        is_low = low is not None and (value < low or (self.low_open and value == low))
        if is_low or (high is not None and value > high):
            raise ConfigError(f'{self.name}: expected {self.range_text()}, got {value}')
        return value


def setting(
    default: Scalar | tuple[Scalar, ...],
    unit: str = '-',
    low: float | None = None,
    high: float | None = None,
    description: str = '',
    live: bool = True,
    **more: Any,
) -> Any:
    """Return a dataclass field that `rows_of` makes a parameter of; see `Row` for its parts."""
    parts = {'unit': unit, 'low': low, 'high': high, 'description': description, 'live': live}
    return field(default=default, metadata=parts | more)


def rows_of(kind: Any, prefix: str = '', groups: Sequence[str] = ()) -> tuple[Row, ...]:
    """Return a row for each `setting`; with a group `gate`, `gate_limit` is `gate.limit`."""

    def name(field_name: str) -> str:
        group, _, rest = field_name.partition('_')
        return f'{prefix}{group}.{rest}' if group in groups else prefix + field_name

    return tuple(
        Row(name(f.name), cast(Scalar, f.default), **f.metadata)
        for f in fields(kind)
        if f.metadata
    )


def defaults(rows: Sequence[Row]) -> dict[str, Any]:
    return {row.name: row.default for row in rows}


def check_values(rows: Sequence[Row], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return name -> value of all rows, the given ones checked; ConfigError names the row."""
    values = defaults(rows)
    by_name = {row.name: row for row in rows}
    for name, value in given.items():
        if name not in by_name:
            known = ', '.join(sorted(by_name))
            raise ConfigError(
                f'{name}: expected a known parameter, got an unknown one; known: {known}'
            )
        values[name] = by_name[name].check(value)
    return values


def build_config(kind: type[Config], values: Mapping[str, Any]) -> Config:
    """
    Return the dataclass `kind` filled from parameter values.

    The parameter `gate.mahalanobis_limit` fills the field `gate_mahalanobis_limit`. Fields
    without a parameter keep their default; a parameter without a field is our own mistake.
    """
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    named = {name.replace('.', '_'): value for name, value in values.items()}
    stray = sorted(set(named) - known)
    assert not stray, f'{kind.__name__} has no field for {stray}'
    return kind(**named)


def read_parameter_file(path: str | Path, node_name: str) -> dict[str, Any]:
    """Return a node's parameters in a ROS file, `node_name` over `/**`, dotted; InputFileError."""
    return parse_parameters(read_utf8(path), path, node_name)


def parse_parameters(text: str, path: str | Path, node_name: str) -> dict[str, Any]:
    """Return what the text of a parameter file gives to one node; see `read_parameter_file`."""
    with yaml_errors(path, text):
        tree = load_plain_yaml(text)
    if not isinstance(tree, dict):
        raise InputFileError(path, f'{node_name}: ros__parameters: ..', brief(tree))
    values: dict[str, Any] = {}
    for section in ('/**', node_name, f'/{node_name}'):
        if section not in tree:
            continue
        body = tree[section]
        inner = body.get('ros__parameters') if isinstance(body, dict) else None
        if not isinstance(inner, dict):
            raise InputFileError(path, 'ros__parameters below it', brief(body), field=section)
        values.update(_flatten(inner))
    return values


def _flatten(tree: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(_flatten(value, f'{prefix}{key}.'))
        else:
            flat[f'{prefix}{key}'] = value
    return flat
