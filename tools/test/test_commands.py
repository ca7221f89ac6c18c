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
