# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of puppet_up and what a simulation needs beforehand."""

from pathlib import Path

from puppet_bringup import up
from puppet_core.character import load_character
from puppet_core.errors import ConfigError, PuppetError
import pytest

EMPTY_CLIP = 'HIERARCHY\n'


def test_words_become_arguments() -> None:
    words = ['character:=sally', 'ports:=/dev/a,/dev/b', 'clip:=']
    assert up.read_arguments(words) == {
        'character': 'sally', 'ports': '/dev/a,/dev/b', 'clip': '',
    }  # fmt: skip


@pytest.mark.parametrize('word', ['sally', 'character=sally', ':=x'])
def test_word_of_another_form_is_refused(word: str) -> None:
    with pytest.raises(ConfigError, match='expected name:=value'):
        up.read_arguments([word])


def test_simulation_gets_a_folder_for_its_ports(tmp_path: Path) -> None:
    emulator = up.prepared('sim', {}, tmp_path)[0]
    assert str(tmp_path) in emulator.arguments


def test_clip_brings_its_performer(tmp_path: Path, small_clip: Path) -> None:
    listed = up.prepared('sim', {'clip': str(small_clip)}, tmp_path)
    performer = next(p for p in listed if p.name == 'performer')
    character = load_character(performer.parameters['performer'])
    assert character.name == small_clip.stem
    assert character.capsules


def test_unreadable_clip_is_refused_before_anything_starts(tmp_path: Path) -> None:
    clip = tmp_path / 'broken.bvh'
    clip.write_text(EMPTY_CLIP)
    with pytest.raises(PuppetError, match='broken.bvh'):
        up.prepared('sim', {'clip': str(clip)}, tmp_path)


@pytest.mark.parametrize(
    ('argv', 'message'),
    [(['sim', 'speed:=3'], 'speed: expected an argument of sim'),
     (['sim', 'clip:=/nowhere.bvh'], '/nowhere.bvh'),
     (['hardware', 'rate_hz:=x'], 'rate_hz: expected a number')],
)  # fmt: skip
def test_bad_input_is_exit_code_2_and_one_line(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """SPEC 6."""
    assert up.main(argv) == 2
    error = capsys.readouterr().err
    assert message in error
    assert 'Traceback' not in error
