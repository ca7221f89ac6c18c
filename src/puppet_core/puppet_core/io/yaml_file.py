# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""YAML files read with their line numbers, so that every complaint names file, line and key."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import math
from pathlib import Path
import re
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from puppet_core.io.errors import brief, cut, InputFileError, listed
from puppet_core.io.files import require_file
import yaml

_MISSING = object()
_PROBLEM_LENGTH = 200  # characters of a message of the YAML reader
_REASON_LENGTH = 60  # characters of a text that are quoted
MAX_FILE_BYTES = 1_000_000  # far above any sensible configuration; takes 4 s to read
_SCALAR_TAGS = tuple(f'tag:yaml.org,2002:{kind}' for kind in ('bool', 'int', 'float', 'null'))
_PLAIN_TAGS = _SCALAR_TAGS + tuple(f'tag:yaml.org,2002:{kind}' for kind in ('str', 'seq', 'map'))


class PlainLoader(yaml.SafeLoader):
    """A loader of plain data in which each value is written where it stands."""

    def get_single_data(self) -> Any:
        """Return the one value; what the scanner cannot take is a YAML error, too."""
        try:
            return super().get_single_data()
        except (ArithmeticError, ValueError) as err:  # such as an escape beyond Unicode
            raise yaml.scanner.ScannerError(
                None, None, f'an unreadable text ({err!s:.{_REASON_LENGTH}})', self.get_mark()
            ) from err

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node; an alias is an error with its line."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(
                None,
                None,
                f'the alias *{event.anchor:.20}; write the value itself there',
                event.start_mark,
            )
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of a node; any failure is a YAML error that knows its line."""
        try:
            return super().construct_object(node, deep)
        # what PyYAML raises for !!bool x, !!timestamp x, an empty !!int, the 99th of a month
        except (ArithmeticError, AttributeError, LookupError, ValueError) as err:
            raise yaml.constructor.ConstructorError(
                None, None, f'an unreadable value ({err!s:.{_REASON_LENGTH}})', node.start_mark
            ) from err


class _LineLoader(PlainLoader):
    """
    A loader of plain data whose mappings carry the line of each key and repeat none.

    Only truth values, numbers and null are special: a date or `<<` is text. Tags are refused.
    """

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag in _SCALAR_TAGS]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of a node; any other tag than a plain one is an error."""
        if node.tag not in _PLAIN_TAGS:
            raise yaml.constructor.ConstructorError(
                None, None, f'a value with the tag {node.tag}', node.start_mark
            )
        return super().construct_object(node, deep)


class _LinedDict(dict):
    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, int] = {}


def _construct_mapping(loader: _LineLoader, node: yaml.MappingNode) -> Iterator[_LinedDict]:
    mapping = _LinedDict()
    yield mapping
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str) or key in mapping:
            raise yaml.constructor.ConstructorError(
                None, None, f'the key {brief(key)}, repeated or no text', key_node.start_mark
            )
        mapping[key] = loader.construct_object(value_node, deep=True)
        mapping.lines[key] = key_node.start_mark.line + 1


_LineLoader.add_constructor('tag:yaml.org,2002:map', _construct_mapping)


class _Dumper(yaml.SafeDumper):
    """SafeDumper of what the loader reads: texts like numbers in quotes, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(_LinedDict, yaml.SafeDumper.represent_dict)

for _kind in (_LineLoader, _Dumper):
    # YAML 1.2 reads 1e-3 as a number, PyYAML's 1.1 as text
    _kind.add_implicit_resolver(
        'tag:yaml.org,2002:float',
        re.compile(r'[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$'),
        list('-+0123456789'),
    )


def dump_yaml(tree: dict[str, Any]) -> str:
    """Return plain values as YAML text that `load_yaml` reads back to the same values."""
    return yaml.dump(
        tree,
        Dumper=_Dumper,
        sort_keys=False,
        default_flow_style=None,
        width=99,
        allow_unicode=True,
    )


def load_plain_yaml(text: str) -> Any:
    """
    Return the one value that a text holds, of a size that the text bounds.

    Raise yaml.YAMLError for an alias or no such YAML, RecursionError if nested very deeply.
    """
    return yaml.load(text, Loader=PlainLoader)


class Section:
    """One mapping of a YAML file, with typed, range-checked access by key."""

    def __init__(self, path: Path, mapping: _LinedDict, name: str = '', line: int = 1) -> None:
        self.path = path
        self.name = name
        self.line = line
        self._mapping = mapping
        self._asked: set[str] = set()
        self._known: set[str] = set()  # asked for or asked about, for hints

    def __contains__(self, key: str) -> bool:
        self._known.add(key)
        return key in self._mapping

    def keys(self) -> tuple[str, ...]:
        return tuple(self._mapping)

    def error(self, key: str, expected: str, got: object, hint: str = '') -> InputFileError:
        """Return the error that names this file, the key's line and the key."""
        line = self._mapping.lines.get(key, self.line)
        return InputFileError(self.path, expected, str(got), line, self._full(key), hint)

    def raw(self, key: str, default: Any = _MISSING) -> Any:
        """Return the value as YAML has it; raise if it is absent and has no default."""
        self._asked.add(key)
        if key in self._mapping:
            return self._mapping[key]
        if default is _MISSING:
            known = listed(self._mapping) or 'none'
            raise self.error(key, 'this key', 'no such key', f'keys here: {known}')
        return default

    def text(self, key: str, default: Any = _MISSING, choices: Sequence[str] | None = None) -> str:
        """Return a text value, one of `choices` where given."""
        value = self.raw(key, default)
        if not isinstance(value, str):
            raise self.error(key, 'a text', brief(value))
        if choices is not None and value not in choices:
            raise self.error(key, 'one of ' + ', '.join(choices), brief(value))
        return value

    def number(
        self,
        key: str,
        default: Any = _MISSING,
        low: float = -math.inf,
        high: float = math.inf,
        above: float | None = None,
    ) -> float:
        """Return a finite float with low <= value <= high, and above < value where given."""
        value = self.raw(key, default)
        wanted = _range_text(low, high, above)
        fits = _is_finite_number(value) and low <= value <= high
        if not fits or (above is not None and value <= above):
            raise self.error(key, wanted, brief(value))
        return float(value)

    def flag(self, key: str, default: Any = _MISSING) -> bool:
        value = self.raw(key, default)
        if not isinstance(value, bool):
            raise self.error(key, 'true or false', brief(value))
        return value

    def numbers(self, key: str, count: int, default: Any = _MISSING) -> NDArray[np.float64]:
        """Return `count` finite floats as an array."""
        value = self.raw(key, default)
        if isinstance(value, np.ndarray):
            return value
        good = isinstance(value, (list, tuple)) and len(value) == count
        if not good or not all(_is_finite_number(v) for v in value):
            raise self.error(key, f'{count} finite numbers', brief(value))
        return np.array(value, dtype=np.float64)

    def section(self, key: str, optional: bool = False) -> 'Section':
        """Return the mapping under `key`; an empty one if it is absent and optional."""
        value = self.raw(key, _LinedDict() if optional else _MISSING)
        if not isinstance(value, _LinedDict):
            raise self.error(key, 'named keys', brief(value))
        line = self._mapping.lines.get(key, self.line)
        return Section(self.path, value, self._full(key), line)

    def sections(self, key: str) -> tuple['Section', ...]:
        """Return the list of mappings under `key`."""
        value = self.raw(key)
        if not isinstance(value, list) or not all(isinstance(v, _LinedDict) for v in value):
            raise self.error(key, 'a list of entries with named keys', brief(value))
        return tuple(
            Section(
                self.path, v, f'{self._full(key)}[{i}]', min(v.lines.values(), default=self.line)
            )
            for i, v in enumerate(value)
        )

    def finish(self) -> None:
        """Refuse the keys that no getter asked for."""
        for key in self._mapping:
            if key not in self._asked:
                known = listed(sorted(self._asked | self._known))
                raise self.error(key, 'a known key', 'an unknown one', f'known here: {known}')

    def _full(self, key: str) -> str:
        key = cut(key)
        return f'{self.name}.{key}' if self.name else key


def load_yaml(path: str | Path, file_format: str) -> Section:
    """Return a YAML file whose first key is `format: <file_format>`; or InputFileError."""
    return parse_yaml(read_utf8(path), path, file_format)


def read_utf8(path: str | Path, max_bytes: int = MAX_FILE_BYTES) -> str:
    """Return the text of a file of sensible size; or InputFileError."""
    path = Path(path)
    try:
        require_file(path)
        with open(path, 'rb') as file:
            data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise InputFileError(path, f'at most {max_bytes} bytes', 'more')
        return data.decode('utf-8')
    except OSError as err:
        raise InputFileError(path, 'a readable file', err.strerror or str(err)) from err
    except UnicodeDecodeError as err:
        line = data[: err.start].count(b'\n') + 1
        raise InputFileError(path, 'UTF-8 text', f'byte 0x{data[err.start]:02x}', line) from err


def parse_yaml(text: str, path: str | Path, file_format: str) -> Section:
    """Return the text of a file; see `load_yaml`. The path is only named in errors."""
    path = Path(path)
    with yaml_errors(path, text):
        tree = yaml.load(text, Loader=_LineLoader)
    if not isinstance(tree, _LinedDict):
        got = 'nothing' if tree is None else brief(tree)
        raise InputFileError(path, f'named keys, the first format: {file_format}', got, 1)
    section = Section(path, tree)
    section.text('format', choices=[file_format])
    return section


@contextmanager
def yaml_errors(path: str | Path, text: str) -> Iterator[None]:
    """Raise InputFileError, naming the line of a text, for what a loader says about it."""
    try:
        yield
    except yaml.reader.ReaderError as err:
        line = text[: err.position].count('\n') + 1
        raise InputFileError(path, 'printable text', f'{err.character:#x}', line) from err
    except yaml.YAMLError as err:
        mark = getattr(err, 'problem_mark', None)
        problem = getattr(err, 'problem', None) or str(err).partition('\n')[0]
        place = mark.line + 1 if mark else None
        raise InputFileError(path, 'valid YAML', cut(problem, _PROBLEM_LENGTH), place) from err
    except RecursionError as err:
        raise InputFileError(path, 'shallow YAML', 'very deep nesting') from err


def _is_finite_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    # an integer may be too large for a float
    return abs(value) <= sys.float_info.max


def _range_text(low: float, high: float, above: float | None) -> str:
    if above is not None:
        return f'a number > {above:g}' + (f' and <= {high:g}' if high < math.inf else '')
    if low == -math.inf and high == math.inf:
        return 'a finite number'
    return f'a number in {low:g} .. {high:g}'
