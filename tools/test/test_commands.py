# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The help says what there is; a mistyped command is told; shells complete."""

import subprocess

from puppet_setup.commands import (
    COMMANDS,
    completion,
    FAMILIES,
    family_help,
    GROUPS,
    help_text,
    names_of,
    suggestion,
    TOOLS,
)
import pytest


def test_help_lists_each_command_of_users_once():
    listed = [name for names in GROUPS.values() for name in names]
    listed += [name for names in TOOLS for name in names.split(', ')]
    assert sorted(listed) == sorted(names_of())
    assert sum(map(len, GROUPS.values())) + len(TOOLS) <= 18
    text = help_text()
    assert all(f'\n  {name} ' in text for names in GROUPS.values() for name in names)


@pytest.mark.parametrize('family', FAMILIES)
def test_a_family_lists_its_names(family):
    text = family_help(family)
    assert all(f'\n  {name} ' in text for name in names_of(family))


def test_help_has_examples():
    assert '  ./puppet demo\n' in help_text()
    assert '  ./puppet test' in help_text()


@pytest.mark.parametrize(
    ('given', 'near'), [('dmo', 'demo'), ('replai', 'replay'), ('bench-edit', 'bench')]
)
def test_a_mistyped_command_is_near_one(given, near):
    assert repr(near) in suggestion(given, names_of())
    assert suggestion('xyzzy', names_of()) == ''


def test_commands_with_a_graph_of_their_own_stay_on_this_machine():
    every = [COMMANDS, *(programs for _, programs, _ in FAMILIES.values())]
    assert {name for rows in every for name, row in rows.items() if row.own_machine_only} == {
        'demo',
        'latency',
        'nodes',
        'soak',
        'chaos',
        'reference',
    }


@pytest.mark.parametrize(
    ('words', 'completed'),
    [
        (['./puppet', 'rep'], ['replay']),
        (['./puppet', 'bench', 'la'], ['latency', 'layouts']),
        (['./puppet', 'dev', ''], names_of('dev')),
        (['./puppet', 'retarget', 'w'], []),
    ],
)
def test_bash_completes_commands_and_names(words, completed):
    call = (
        f'COMP_WORDS=({" ".join(word or chr(39) * 2 for word in words)}); '
        f'COMP_CWORD={len(words) - 1}; _puppet; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        ['bash', '-c', f'{completion("bash")}\n{call}'], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == completed
