# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""YAML without aliases, of which a few lines could stand for more than any memory holds."""

from typing import Any

import yaml


class _PlainLoader(yaml.SafeLoader):
    """A loader of plain data in which each value is written where it stands."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node; an alias is an error with its line."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(
                None, None, f'the alias *{event.anchor:.20}, which is not read', event.start_mark
            )
        return super().compose_node(parent, index)


def load_plain_yaml(text: str) -> Any:
    """
    Return the one value that a text holds, of a size that the text bounds.

    ROS reads parameter files in the same way, and rosbag2 writes no aliases.

    Raises
    ------
    yaml.YAMLError : if it is no such YAML, or holds an alias.
    ValueError : for a value that cannot be, such as the 99th of a month.
    RecursionError : if it is nested very deeply.

    """
    return yaml.load(text, Loader=_PlainLoader)
