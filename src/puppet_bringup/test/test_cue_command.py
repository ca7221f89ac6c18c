# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_cue: one by name, or one line after the other."""

import io

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_bringup import cue_command  # noqa: E402
from puppet_core.cue_file import Cue  # noqa: E402,I100
from puppet_core.io import ConfigError  # noqa: E402

pytestmark = pytest.mark.ros
CUES = tuple(Cue(name, {'importance': {'environment': name}}) for name in ('a', 'b', 'c'))


class Prompter:
    def __init__(self, refused=()):
        self.called, self.refused = [], refused

    def call(self, cue):
        self.called.append(cue.name)
        return 'importance: no' if cue.name in self.refused else ''


def test_lines_name_cues_and_an_empty_one_calls_the_next(capsys):
    prompter = Prompter()
    lines = io.StringIO('\n\nc\n\nx\n2\n\n')
    assert cue_command._follow(prompter, CUES, lines) == 0
    assert prompter.called == ['a', 'b', 'c', 'a', 'b', 'c']
    assert "cue: expected one of a, b, c, got 'x'" in capsys.readouterr().err


def test_a_refusal_is_told_and_exits_1(capsys):
    prompter = Prompter(refused=('b',))
    assert cue_command._follow(prompter, CUES, io.StringIO('a\nb\n')) == 1
    out, err = capsys.readouterr()
    assert out == 'a\n' and err == 'puppet_cue: importance: no\n'


def test_cues_are_found_by_name_and_number():
    assert cue_command.find_cue(CUES, '2') is cue_command.find_cue(CUES, 'b') is CUES[1]
    with pytest.raises(ConfigError, match="expected one of a, b, c, got '4'"):
        cue_command.find_cue(CUES, '4')


def test_nobody_there_is_one_line_and_exit_code_1(tmp_path, capfd):
    path = tmp_path / 'show.yaml'
    path.write_text('format: puppet-cues/1\ncues:\n  desk: {environment: demo}\n')
    assert cue_command.main([str(path), 'desk', '--wait', '0']) == 1
    missing = "puppet_cue: importance, retarget*: not there to take 'desk'\n"
    assert capfd.readouterr().err == missing
    assert cue_command.main([str(path), 'door']) == 2
    assert cue_command.main([str(tmp_path / 'none.yaml')]) == 2
