# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A change triggers the build of just what it concerns."""

from puppet_setup.checkout import write_stamp
from puppet_setup.environment import RosSource
from puppet_setup.install import Installation
from puppet_setup.prepare import build_stamp, pending, prepare
from puppet_setup.process import SetupError
import pytest

ALL = ['puppet_bringup', 'puppet_core', 'puppet_msgs', 'tf2_msgs']


@pytest.fixture
def built(checkout):
    """Return a checkout whose build is up to date."""
    result = Installation(checkout, RosSource('jazzy', is_system=False), {})
    assert pending(result) == ALL
    write_stamp(checkout.install / 'puppet.json', build_stamp(result))
    assert not pending(result)
    return result


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('src/puppet_msgs/msg/Frame.msg', ['puppet_msgs']),
        ('src/puppet_msgs/msg/Added.msg', ['puppet_msgs']),
        ('src/puppet_core/setup.py', ['puppet_core']),
        ('src/puppet_core/package.xml', ['puppet_core']),
        ('src/puppet_core/puppet_core/math/values.py', []),
        ('src/puppet_core/puppet_core/added.py', []),
        ('src/puppet_core/test/test_added.py', []),
        ('src/puppet_bringup/config/filter.yaml', []),
        ('src/puppet_bringup/config/cues/added.yaml', ['puppet_bringup']),
        ('src/puppet_bringup/launch/added.launch.py', ['puppet_bringup']),
        ('src/puppet_bringup/launch/__pycache__/sim.cpython-312.pyc', []),
        ('tools/pins/runtime.txt', ALL),
        ('README.md', []),
    ],
)
def test_change_triggers_what_it_concerns(built, name, expected):
    path = built.checkout.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('changed')
    assert pending(built) == expected


@pytest.mark.parametrize('name', ['a b', 'püppet', 'a:b'])
def test_a_path_that_tools_cannot_take_is_refused_at_once(name, tmp_path):
    with pytest.raises(SetupError, match='move the checkout'):
        prepare(tmp_path / name, {}, with_tests=False)
    assert not (tmp_path / name).exists()


def test_removed_configuration_triggers_its_package(built):
    (built.checkout.source / 'puppet_bringup/config/filter.yaml').unlink()
    assert pending(built) == ['puppet_bringup']


def test_tf2_msgs_of_the_system_is_used(checkout, tmp_path):
    manifest = tmp_path / 'ros' / 'share' / 'tf2_msgs' / 'package.xml'
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    (checkout.pins / 'runtime.in').touch()
    outer = {'AMENT_PREFIX_PATH': f'/other:{tmp_path / "ros"}'}
    system = Installation(checkout, RosSource('jazzy', is_system=True), outer)
    assert 'tf2_msgs' not in pending(system)
