# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The help says what there is."""

from puppet_setup.commands import BUILT_IN, COMMANDS, help_text
import pytest


@pytest.mark.parametrize('name', [*COMMANDS, *BUILT_IN])
def test_help_lists_the_command(name: str) -> None:
    """Every command, with what it does."""
    assert any(line.split()[:1] == [name] for line in help_text().splitlines())


def test_help_has_examples() -> None:
    """At least the two commands of the README."""
    assert '  ./puppet demo\n' in help_text()
    assert '  ./puppet test' in help_text()


def test_commands_with_a_graph_of_their_own_stay_on_this_machine() -> None:
    """Those that join one that others started, maybe on other machines, do what ROS does."""
    assert {name for name, command in COMMANDS.items() if command.own_machine_only} == {
        'demo', 'bench-latency', 'bench-nodes', 'soak', 'chaos', 'reference',
    }  # fmt: skip
