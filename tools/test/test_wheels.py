# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of wheels follows its pins."""

from puppet_setup.checkout import Checkout
from puppet_setup.ros_source import RosSource
from puppet_setup.stamps import write_stamp
from puppet_setup.wheels import WheelEnvironment
import pytest


@pytest.fixture
def environment(checkout: Checkout) -> WheelEnvironment:
    """Return an environment that is up to date, tests included."""
    result = WheelEnvironment(checkout, RosSource('jazzy', is_system=False), {})
    for name in ('runtime', 'test'):
        write_stamp(result._stamp(name), result._expected(name))
    return result


def change(environment: WheelEnvironment, name: str, old: str, new: str) -> None:
    """Change a pin."""
    path = environment.checkout.pins / f'{name}.txt'
    path.write_text(path.read_text().replace(old, new))


def test_nothing_to_do_when_up_to_date(environment: WheelEnvironment) -> None:
    """The usual start."""
    assert environment.is_ready(with_tests=True)


def test_changed_pin_is_noticed(environment: WheelEnvironment) -> None:
    """By its content, not by the time of the file."""
    change(environment, 'runtime', '4.70.1', '4.71.0')
    assert not environment.is_ready(with_tests=False)


def test_pins_of_other_pythons_do_not_count(environment: WheelEnvironment) -> None:
    """Each interpreter has versions of its own."""
    before = environment.pins('runtime')
    change(environment, 'runtime', 'tqdm', "tomli==2.5.0 ; python_version in '3.8 3.9'\ntqdm")
    assert environment.pins('runtime') == before
    change(environment, 'runtime', "'3.8 3.9'", "'3.10 3.11 3.12 3.13'")
    assert set(environment.pins('runtime')) == {*before, 'tomli==2.5.0'}


def test_pins_of_the_tests_matter_only_to_them(environment: WheelEnvironment) -> None:
    """The demo does not wait for a linter."""
    change(environment, 'test', '0.17.5', '0.18.0')
    assert environment.is_ready(with_tests=False)
    assert not environment.is_ready(with_tests=True)


def test_library_leaves_the_build_alone(environment: WheelEnvironment) -> None:
    """Nothing is compiled against it."""
    before = environment.toolchain()
    change(environment, 'runtime', '4.70.1', '4.71.0')
    assert environment.toolchain() == before


def test_ros_changes_the_toolchain(environment: WheelEnvironment) -> None:
    """The messages are compiled against it."""
    before = environment.toolchain()
    change(environment, 'runtime', '7.1.6', '7.1.7')
    assert environment.toolchain() != before


def test_moved_checkout_is_set_up_anew(environment: WheelEnvironment) -> None:
    """The environment's programs hold its path."""
    moved = environment.checkout.root.with_name('moved')
    environment.checkout.root.rename(moved)
    there = WheelEnvironment(Checkout(moved, 'wheels'), environment.ros, {})
    assert not there.is_ready(with_tests=False)
