# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The installed configuration, and characters that are read anew when their files change."""

import os

from puppet_core import named_files
from puppet_core.body import load_character, save_character
from puppet_core.io import ConfigError
from puppet_ros import config_files
import pytest

pytestmark = pytest.mark.ros


def test_configuration_of_nodes_is_installed():
    assert (config_files.config_dir() / 'retarget.yaml').is_file()
    assert config_files.rviz_file('puppet').suffix == '.rviz'


def test_missing_installation_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    with pytest.raises(ConfigError, match='build the workspace'):
        config_files.config_dir()


def test_character_is_read_anew_when_its_file_changes(tmp_path):
    path = tmp_path / 'own.yaml'
    for name in ('sally', 'blubby'):
        save_character(load_character(named_files.character_file(name)), path)
        os.utime(path, ns=(len(name), len(name)))
        assert config_files.character(str(path)).name == name


def test_unreadable_character_is_a_setting_that_cannot_be(tmp_path):
    (tmp_path / 'own.yaml').write_text('name: [')
    with pytest.raises(ConfigError, match='character: .*own.yaml'):
        config_files.character(str(tmp_path / 'own.yaml'))
