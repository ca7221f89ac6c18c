# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""YAML without aliases, of which a few lines could stand for more than any memory holds."""

from typing import Any

import yaml

_SHOWN = 60  # characters of what a text says itself


class PlainLoader(yaml.SafeLoader):
    """A loader of plain data in which each value is written where it stands."""

    def get_single_data(self) -> Any:
        """Return the one value; what the scanner cannot take is a YAML error, too."""
        try:
            return super().get_single_data()
        except (ArithmeticError, ValueError) as err:  # such as an escape beyond Unicode
            raise yaml.scanner.ScannerError(
                None, None, f'an unreadable text ({err!s:.{_SHOWN}})', self.get_mark()
            ) from err

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node; an alias is an error with its line."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(
                None, None, f'the alias *{event.anchor:.20}; write the value itself there',
                event.start_mark,
            )  # fmt: skip
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of a node; any failure is a YAML error that knows its line."""
        try:
            return super().construct_object(node, deep)
        # what PyYAML raises for !!bool x, !!timestamp x, an empty !!int, the 99th of a month
        except (ArithmeticError, AttributeError, LookupError, ValueError) as err:
            raise yaml.constructor.ConstructorError(
                None, None, f'an unreadable value ({err!s:.{_SHOWN}})', node.start_mark
            ) from err


def load_plain_yaml(text: str) -> Any:
    """
    Return the one value that a text holds, of a size that the text bounds.

    ROS reads parameter files in the same way, and rosbag2 writes no aliases.

    Raises
    ------
    yaml.YAMLError : if it is no such YAML, or holds an alias or a value that cannot be.
    RecursionError : if it is nested very deeply.

    """
    return yaml.load(text, Loader=PlainLoader)
