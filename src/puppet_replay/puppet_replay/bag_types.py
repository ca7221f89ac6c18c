# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the messages of a bag are those that are installed here."""

from collections.abc import Iterable

from puppet_core.errors import InputFileError
from puppet_ros.bag_reader import BagReader
from puppet_ros.message_definition import definition_of, fields_of, type_hash_of

Fields = dict[str, list[tuple[str, str]]]


def require_same_types(reader: BagReader, topics: Iterable[str]) -> list[str]:
    """
    Refuse messages of another version; return a warning for each type that tells no version.

    Raises
    ------
    InputFileError : naming the type and the first difference.
    ConfigError : if a type is not installed.

    """
    warnings = []
    for topic in topics:
        info = reader.info[topic]
        installed = definition_of(info.type)
        known_hash = type_hash_of(info.type)
        if info.definition:
            difference = first_difference(fields_of(info.definition), fields_of(installed))
            if difference:
                raise InputFileError(
                    reader.path, f'{info.type} as installed here', difference, field=topic,
                    hint='it was recorded with another version of the messages',
                )  # fmt: skip
        elif not info.type_hash:
            warnings.append(f'{topic}: no definition of {info.type}; read as the one installed')
        if info.type_hash and known_hash and info.type_hash != known_hash:
            raise InputFileError(
                reader.path, f'{info.type} with the hash {known_hash[:18]}..',
                f'{info.type_hash[:18]}..', field=topic,
                hint='it was recorded with another version of the messages',
            )  # fmt: skip
    return warnings


def first_difference(recorded: Fields, installed: Fields) -> str:
    """Return in words the first field of one that the other does not have; '' if none."""
    for name in installed:
        where = f' in {name}' if name else ''
        if name not in recorded:
            return f'no {name}'
        old, new = recorded[name], installed[name]
        old_kinds = {field: kind for kind, field in old}
        new_kinds = {field: kind for kind, field in new}
        for kind, field in new:
            if field not in old_kinds:
                return f'no field {field!r}{where}'
            if _bare(old_kinds[field]) != _bare(kind):
                return f'{old_kinds[field]} {field}{where} instead of {kind}'
        for kind, field in old:
            if field not in new_kinds:
                return f'one more field, {kind} {field}{where}'
        if [field for _, field in old] != [field for _, field in new]:
            return f'the fields{where} in another order'
    return ''


def _bare(kind: str) -> str:
    """Return a type without its package, which may be left out."""
    return kind.rpartition('/')[2]
