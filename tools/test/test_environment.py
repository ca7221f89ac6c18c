# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The programs' environment does not depend on the shell that they are started from."""

from puppet_setup.checkout import Checkout
from puppet_setup.environment import program_environment, tool_environment
from puppet_setup.ros_source import RosSource
import pytest

WHEELS = RosSource('jazzy', is_system=False)
SYSTEM = RosSource('jazzy', is_system=True)


@pytest.mark.parametrize('name', [
    'PYTHONPATH', 'PYTHONHOME', 'PYTHONDONTWRITEBYTECODE', 'AMENT_CURRENT_PREFIX',
    'COLCON_DEFAULTS_FILE', 'RMW_IMPLEMENTATION', 'VIRTUAL_ENV', 'CONDA_PREFIX', 'PIP_TARGET',
    'PIP_USER', 'PIP_REQUIRE_VIRTUALENV',
])
def test_foreign_variables_do_not_reach_the_wheels(checkout: Checkout, name: str) -> None:
    """Each of them would make another Python, ROS or pip of it."""
    assert tool_environment({name: '/elsewhere'}, checkout, WHEELS).get(name) != '/elsewhere'


@pytest.mark.parametrize('name', [
    'ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'PIP_INDEX_URL', 'PIP_CERT', 'https_proxy',
    'DISPLAY', 'HOME',
])
def test_choices_of_the_user_are_kept(checkout: Checkout, name: str) -> None:
    """Where packages come from, and who hears the topics."""
    assert program_environment({name: 'x'}, checkout, WHEELS)[name] == 'x'


def test_libraries_of_another_ros_are_left_out(checkout: Checkout) -> None:
    """The user's own libraries stay."""
    outer = {'AMENT_PREFIX_PATH': '/opt/ros/humble',
             'LD_LIBRARY_PATH': '/opt/ros/humble/lib:/opt/own/lib'}
    entries = tool_environment(outer, checkout, WHEELS)['LD_LIBRARY_PATH'].split(':')
    assert entries == [str(checkout.venv / 'lib'), '/opt/own/lib']


def test_modules_come_from_the_sources(checkout: Checkout) -> None:
    """A change needs no build."""
    entries = program_environment({}, checkout, WHEELS)['PYTHONPATH'].split(':')
    assert entries.index(str(checkout.source / 'puppet_core')) < entries.index(
        str(checkout.build / 'puppet_core'))


def test_system_ros_stays_in_front_of_nothing_but_the_suite(checkout: Checkout) -> None:
    """Our install is an overlay."""
    outer = {'AMENT_PREFIX_PATH': '/opt/ros/jazzy', 'PYTHONPATH': '/opt/ros/jazzy/site'}
    environ = program_environment(outer, checkout, SYSTEM)
    assert environ['AMENT_PREFIX_PATH'] == f'{checkout.install}:/opt/ros/jazzy'
    assert environ['PYTHONPATH'].endswith(':/opt/ros/jazzy/site')


@pytest.mark.parametrize('ros', [WHEELS, SYSTEM], ids=['wheels', 'system'])
def test_a_shell_with_our_environment_gives_the_same(checkout: Checkout, ros: RosSource) -> None:
    """Eval "$(./puppet shell-env)", then ./puppet: nothing piles up, nothing is built again."""
    outer = {'PATH': '/usr/bin:/bin', 'AMENT_PREFIX_PATH': '/opt/ros/jazzy'}
    once = program_environment(outer, checkout, ros)
    assert program_environment(once, checkout, ros) == once


def test_changed_kernels_get_their_own_cache_in_such_a_shell(checkout: Checkout) -> None:
    """The shell holds the name of the old one."""
    once = program_environment({}, checkout, SYSTEM)
    (checkout.source / 'puppet_core/puppet_core/quaternion.py').write_text('@njit # changed')
    again = program_environment(once, checkout, SYSTEM)
    assert again['NUMBA_CACHE_DIR'] != once['NUMBA_CACHE_DIR']


@pytest.mark.parametrize('name', ['OMP_NUM_THREADS', 'NUMBA_CACHE_DIR', 'ROS_LOG_DIR'])
def test_defaults_give_way_to_the_user(checkout: Checkout, name: str) -> None:
    """What has only a default here is the user's to choose."""
    assert program_environment({name: '/own'}, checkout, WHEELS)[name] == '/own'
