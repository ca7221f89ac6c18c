# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""XML as a plain tree whose elements know their lines, read by defusedxml: nothing expands."""

from dataclasses import dataclass, field
from pathlib import Path
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, Locator

from puppet_core.io.errors import InputFileError

MAX_ELEMENTS = 200_000
MAX_DEPTH = 100


@dataclass(slots=True)
class XmlElement:
    tag: str
    values: dict[str, str]
    line: int
    children: list['XmlElement'] = field(default_factory=list)

    def named(self, tag: str) -> list['XmlElement']:
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> 'XmlElement | None':
        return next(iter(self.named(tag)), None)


class _TreeBuilder(ContentHandler):
    def __init__(self, path: Path, parser: Locator) -> None:
        super().__init__()
        self._path, self._parser = path, parser
        self._n_elements = 0
        self.ancestors = [XmlElement('', {}, 1)]

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        line = self._parser.getLineNumber() or 1
        self._n_elements += 1
        if self._n_elements > MAX_ELEMENTS or len(self.ancestors) > MAX_DEPTH:
            limits = f'at most {MAX_ELEMENTS} elements, {MAX_DEPTH} deep'
            raise InputFileError(self._path, limits, 'more', line)
        element = XmlElement(name, dict(attrs), line)
        self.ancestors[-1].children.append(element)
        self.ancestors.append(element)

    def endElement(self, name: str) -> None:
        self.ancestors.pop()


def read_xml(path: Path, text: str) -> XmlElement:
    """Return the outermost element of a text; InputFileError names file and line."""
    from defusedxml import DefusedXmlException
    from defusedxml.expatreader import create_parser

    parser = create_parser(forbid_dtd=True)
    builder = _TreeBuilder(path, parser)
    parser.setContentHandler(builder)
    try:
        parser.feed(text)
        parser.close()
    except DefusedXmlException as err:
        line = parser.getLineNumber()
        raise InputFileError(path, 'no DOCTYPE and no entities', 'one', line) from err
    except SAXParseException as err:
        raise InputFileError(path, 'valid XML', err.getMessage(), err.getLineNumber()) from err
    return builder.ancestors[0].children[0]
