# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A change triggers the build of just what it concerns."""

from pathlib import Path

from puppet_setup.checkout import Checkout
from puppet_setup.stamps import write_stamp
from puppet_setup.workspace import Workspace
import pytest

ALL = ['puppet_bringup', 'puppet_core', 'puppet_msgs', 'tf2_msgs']


def pending(checkout: Checkout, toolchain: str = 'tools', prefix: str = '') -> list[str]:
    """Return what a new start would build."""
    return Workspace(checkout, toolchain, {'AMENT_PREFIX_PATH': prefix}).pending()


@pytest.fixture
def built(checkout: Checkout) -> Checkout:
    """Return a checkout whose build is up to date."""
    workspace = Workspace(checkout, 'tools', {})
    write_stamp(checkout.home / 'build.json', workspace._expected)
    assert not workspace.pending()
    return checkout


def test_everything_is_pending_at_first(checkout: Checkout) -> None:
    """Also what the set-up finds in no stamp."""
    assert pending(checkout) == ALL


@pytest.mark.parametrize(('name', 'expected'), [
    ('src/puppet_msgs/msg/Frame.msg', ['puppet_msgs']),
    ('src/puppet_msgs/msg/Added.msg', ['puppet_msgs']),
    ('src/puppet_core/setup.py', ['puppet_core']),
    ('src/puppet_core/package.xml', ['puppet_core']),
    ('src/puppet_core/puppet_core/quaternion.py', []),
    ('src/puppet_core/puppet_core/added.py', []),
    ('src/puppet_core/test/test_added.py', []),
    ('src/puppet_bringup/puppet_bringup/added.py', ['puppet_bringup']),
    ('src/puppet_bringup/puppet_bringup/__init__.py', []),
    ('src/puppet_bringup/test/test_added.py', []),
    ('config/filter.yaml', []),
    ('config/characters/added.yaml', ['puppet_bringup']),
    ('launch/added.launch.py', ['puppet_bringup']),
    ('README.md', []),
])
def test_change_triggers_what_it_concerns(built: Checkout, name: str, expected: list[str]) -> None:
    """Modules and configuration are linked to: their contents never need a build."""
    path = built.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('changed')
    assert pending(built) == expected


def test_change_of_the_toolchain_triggers_everything(built: Checkout) -> None:
    """Objects of other versions do not fit together."""
    assert pending(built, toolchain='newer tools') == ALL


def test_removed_configuration_triggers_its_package(built: Checkout) -> None:
    """Its link must go."""
    (built.root / 'config' / 'filter.yaml').unlink()
    assert pending(built) == ['puppet_bringup']


def test_tf2_msgs_of_the_system_is_used(checkout: Checkout, tmp_path: Path) -> None:
    """Ours is for where there is none."""
    manifest = tmp_path / 'ros' / 'share' / 'tf2_msgs' / 'package.xml'
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    assert 'tf2_msgs' not in pending(checkout, prefix=f'/other:{tmp_path / "ros"}')


def test_byte_code_is_no_change(built: Checkout) -> None:
    """Python writes it while the programs run."""
    cache = built.root / 'launch' / '__pycache__'
    cache.mkdir()
    (cache / 'sim.pyc').touch()
    assert not pending(built)
