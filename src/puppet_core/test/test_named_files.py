# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Files that come with the suite by short name, and errors that list what there is."""

from puppet_core import named_files
from puppet_core.body import load_character
from puppet_core.clips import load_clip
from puppet_core.io import ConfigError
import pytest


def test_names_find_what_comes_with_the_suite():
    assert load_character(named_files.character_file('sally')).name == 'sally'
    assert load_clip(named_files.sample('walk')).n_frames > 100
    for folder, find in (
        ('characters', named_files.character_file),
        ('environments', named_files.environment_file),
        ('layouts', named_files.layout_file),
        ('markersets', named_files.marker_set_file),
    ):
        names = named_files.available(folder)
        assert names and all(find(name).stem == name for name in names)


def test_path_is_taken_as_it_is(tmp_path):
    own = tmp_path / 'own.yaml'
    own.touch()
    assert named_files.character_file(str(own)) == own


@pytest.mark.parametrize('name', ['nobody', ''])
def test_unknown_name_lists_what_there_is(name):
    with pytest.raises(ConfigError, match='character: expected one of blubby, .*sally, or the p'):
        named_files.character_file(name)


def test_missing_path_is_named():
    with pytest.raises(ConfigError, match="layout: expected an existing file, got '/no/x.yaml'"):
        named_files.layout_file('/no/x.yaml')
