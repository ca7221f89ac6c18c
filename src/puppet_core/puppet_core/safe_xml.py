# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
XML as a plain tree whose elements know their lines, and that expands nothing.

A document type or an entity is refused the moment it is met, so no text grows while it is read
and no other file is opened.

"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from puppet_core.errors import InputFileError

MAX_ELEMENTS = 200_000
MAX_DEPTH = 100


@dataclass(slots=True)
class XmlElement:
    """One element: its attributes, its line, what is inside."""

    tag: str
    values: dict[str, str]
    line: int
    children: list['XmlElement'] = field(default_factory=list)

    def named(self, tag: str) -> list['XmlElement']:
        """Return the elements of this name inside."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> 'XmlElement | None':
        """Return the first element of this name inside, or None."""
        return next((child for child in self.children if child.tag == tag), None)


def read_xml(path: Path, text: str) -> XmlElement:
    """
    Return the outermost element of a text.

    Raises
    ------
    InputFileError : naming the file and the line of what is no XML, or not allowed.

    """
    outer = XmlElement('', {}, 1)
    open_ones, count = [outer], 0
    parser = expat.ParserCreate()

    def refuse(*_: object) -> NoReturn:
        raise InputFileError(
            path, 'no DOCTYPE and no entities', 'one', parser.CurrentLineNumber
        )

    def start(tag: str, values: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS or len(open_ones) > MAX_DEPTH:
            limits = f'at most {MAX_ELEMENTS} elements, {MAX_DEPTH} deep'
            raise InputFileError(path, limits, 'more', element_line())
        element = XmlElement(tag, values, element_line())
        open_ones[-1].children.append(element)
        open_ones.append(element)

    def element_line() -> int:
        return int(parser.CurrentLineNumber)

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: open_ones.pop()
    try:
        parser.Parse(text, True)
    except expat.ExpatError as err:
        problem = expat.errors.messages[err.code]
        raise InputFileError(path, 'valid XML', problem, err.lineno) from err
    return outer.children[0]
