# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of puppet_up and what a simulation needs beforehand."""

import os
from pathlib import Path
import subprocess

from puppet_bringup import up
from puppet_bringup.process_table import command_line
from puppet_core.body.character import load_character
from puppet_core.io import ConfigError, PuppetError
from puppet_ros.process import HIGHEST_DOMAIN, hold, holder
import pytest

EMPTY_CLIP = 'HIERARCHY\n'


def test_words_become_arguments():
    words = ['character:=sally', 'ports:=/dev/a,/dev/b', 'clip:=']
    assert up.read_arguments(words) == {'character': 'sally', 'ports': '/dev/a,/dev/b', 'clip': ''}


@pytest.mark.parametrize('word', ['sally', 'character=sally', ':=x'])
def test_word_of_another_form_is_refused(word):
    with pytest.raises(ConfigError, match='expected name:=value'):
        up.read_arguments([word])


def test_simulation_gets_a_folder_for_its_ports_and_its_calibration(tmp_path):
    listed = up.prepared('sim', {}, tmp_path)
    assert str(tmp_path) in listed[0].arguments
    assert any(str(tmp_path / 'calibration.yaml') in p.parameters.values() for p in listed)


def test_clip_brings_its_performer(tmp_path, walk_bvh):
    listed = up.prepared('sim', {'clip': str(walk_bvh)}, tmp_path)
    performer = next(p for p in listed if p.name == 'performer')
    character = load_character(performer.parameters['performer'])
    assert character.name == walk_bvh.stem
    assert character.capsules


def test_unreadable_clip_is_refused_before_anything_starts(tmp_path):
    clip = tmp_path / 'broken.bvh'
    clip.write_text(EMPTY_CLIP)
    with pytest.raises(PuppetError, match='broken.bvh'):
        up.prepared('sim', {'clip': str(clip)}, tmp_path)


@pytest.mark.parametrize(('asked', 'name'), [('true', 'puppet'), ('tracker', 'tracker')])
def test_rviz_opens_an_installed_configuration(tmp_path, asked, name):
    rviz = next(p for p in up.prepared('replay', {'rviz': asked}, tmp_path) if p.name == 'rviz2')
    assert Path(rviz.arguments[1]).is_file()
    assert Path(rviz.arguments[1]).name == f'{name}.rviz'


def test_program_named_rviz2_is_started_with_the_file(tmp_path, monkeypatch):
    """The whole way to a process, with a program in RViz' place that keeps its arguments."""
    said = tmp_path / 'said'
    program = tmp_path / 'rviz2'
    program.write_text(f'#!/bin/sh\necho "$@" > {said}\n')
    program.chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
    rviz = next(p for p in up.prepared('replay', {'rviz': 'true'}, tmp_path) if p.name == 'rviz2')
    words = command_line(rviz, tmp_path)
    subprocess.run(words, check=True)
    assert words[0] == str(program)
    assert said.read_text().split()[:2] == ['-d', rviz.arguments[1]]


def test_missing_rviz_is_named_and_nothing_starts(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv('PATH', str(tmp_path))
    assert up.main(['replay', 'rviz:=true']) == 2
    error = capsys.readouterr().err
    assert error.startswith('puppet up: rviz2: expected this program on PATH, got none')
    assert len(error.splitlines()) == 1


def test_a_replay_without_a_bag_says_once_what_it_waits_for(capsys, monkeypatch):
    monkeypatch.setattr(up, 'compile_kernels', lambda *_: True)
    monkeypatch.setattr(up, 'command_line', lambda *_: ['true'])
    assert up.main(['replay']) == 0
    assert capsys.readouterr().out.count(f'] {up.NO_BAG}\n') == 1
    assert up.main(['replay', '--bag', 'a.mcap']) == 0
    assert up.NO_BAG not in capsys.readouterr().out


@pytest.mark.parametrize(
    ('argv', 'message'),
    [
        (['sim', 'speed:=3'], 'speed: expected an argument of sim'),
        (['sim', 'charcter:=sally'], "did you mean 'character'?"),
        (['sim', 'clip:=/nowhere.bvh'], '/nowhere.bvh'),
        (
            ['replay', 'rviz:=moon'],
            'rviz: expected one of puppet, tracker, or the path of an .rviz',
        ),
        (['hardware', 'rate_hz:=x'], 'rate_hz: expected a number'),
        (['sim', 'character:=sally,saly'], 'character: expected one of '),
        (['sim', 'character:=' + 'x' * 300], 'character: expected a name of at most 255 bytes'),
        (['sim', '-q', 'environment:=moon'], 'environment: expected one of carry, demo, floor'),
        (['sim', 'layout:=' + 'x/' * 3000], 'layout: expected a name of at most 255 bytes'),
        (['sim', 'solver:=best'], 'solver: expected one of whole_body, '),
    ],
)
def test_bad_input_is_exit_code_2_and_one_line_before_anything_starts(argv, message, capsys):
    assert up.main(argv) == 2
    said, error = capsys.readouterr()
    assert message in error and not said
    assert len(error.splitlines()) == 1


@pytest.mark.ros
def test_a_second_graph_on_a_domain_is_refused_unless_it_is_allowed(capsys, monkeypatch):
    """By the first of its nodes that another process has."""
    domain = HIGHEST_DOMAIN + 1  # held until this process ends: no other test gets it
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    monkeypatch.setattr(up, 'compile_kernels', lambda *_: True)
    monkeypatch.setattr(up, 'command_line', lambda *_: ['true'])
    hold(f'puppet_node_{domain}/performer')
    assert up.main(['replay']) == 2
    error = capsys.readouterr().err
    assert error.startswith('puppet up: /performer: expected no other such node')
    assert f'process {os.getpid()};' in error
    assert all(holder(f'puppet_node_{domain}/performer') for _ in range(200))  # and more ask
    assert up.main(['replay', 'composed:=true']) == 2
    assert up.main(['replay', 'allow_second:=true']) == 0
    monkeypatch.setenv('ROS_DOMAIN_ID', 'lab')
    assert up.main(['replay']) == 2
    assert "ROS_DOMAIN_ID: expected a number, got 'lab'" in capsys.readouterr().err
