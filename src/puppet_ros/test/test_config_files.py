# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Installed files by short name, and errors that list what there is."""

from puppet_core.io import ConfigError
from puppet_ros import config_files
import pytest

pytestmark = pytest.mark.ros


@pytest.fixture
def installed(tmp_path, monkeypatch):
    index = tmp_path / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    (index / config_files.CONFIG_PACKAGE).touch()
    config = tmp_path / 'share' / config_files.CONFIG_PACKAGE / 'config'
    for name in ('characters/sally', 'characters/blubby', 'environments/floor', 'layouts/nine'):
        path = config / f'{name}.yaml'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    return config


def test_names_find_installed_files(installed):
    assert config_files.character_file('sally') == installed / 'characters/sally.yaml'
    assert config_files.environment_file('floor') == installed / 'environments/floor.yaml'
    assert config_files.layout_file('nine') == installed / 'layouts/nine.yaml'
    assert config_files.available('characters') == ('blubby', 'sally')


def test_path_is_taken_as_it_is(tmp_path):
    own = tmp_path / 'own.yaml'
    own.touch()
    assert config_files.character_file(str(own)) == own


@pytest.mark.parametrize('name', ['nobody', ''])
def test_unknown_name_lists_what_there_is(installed, name):
    with pytest.raises(ConfigError, match='character: expected one of blubby, sally, or the path'):
        config_files.character_file(name)


def test_missing_path_is_named():
    with pytest.raises(ConfigError, match="layout: expected an existing file, got '/no/x.yaml'"):
        config_files.layout_file('/no/x.yaml')


def test_missing_installation_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    with pytest.raises(ConfigError, match='build the workspace'):
        config_files.config_dir()
