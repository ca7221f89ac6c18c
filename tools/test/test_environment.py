# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The programs' environment does not depend on the shell that they are started from."""

import os
from pathlib import Path
import re

from puppet_setup.environment import (
    cache_folder,
    choose_ros,
    has_kernel,
    KEPT_CACHES,
    program_environment,
    RosSource,
    tool_environment,
)
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

WHEELS = RosSource('jazzy', is_system=False)
SYSTEM = RosSource('jazzy', is_system=True)


@pytest.mark.parametrize(
    'name',
    'PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE AMENT_CURRENT_PREFIX COLCON_DEFAULTS_FILE '
    'RMW_IMPLEMENTATION VIRTUAL_ENV CONDA_PREFIX PIP_TARGET PIP_USER '
    'PIP_REQUIRE_VIRTUALENV'.split(),
)
def test_foreign_variables_do_not_reach_the_wheels(checkout, name):
    assert tool_environment({name: '/elsewhere'}, checkout, WHEELS).get(name) != '/elsewhere'


@pytest.mark.parametrize(
    'name',
    'ROS_DOMAIN_ID ROS_AUTOMATIC_DISCOVERY_RANGE PIP_INDEX_URL PIP_CERT https_proxy DISPLAY '
    'HOME'.split(),
)
def test_choices_of_the_user_are_kept(checkout, name):
    assert program_environment({name: 'x'}, checkout, WHEELS)[name] == 'x'


def test_libraries_of_another_ros_are_left_out(checkout):
    outer = {
        'AMENT_PREFIX_PATH': '/opt/ros/humble',
        'LD_LIBRARY_PATH': '/opt/ros/humble/lib:/opt/own/lib',
    }
    entries = tool_environment(outer, checkout, WHEELS)['LD_LIBRARY_PATH'].split(':')
    assert entries == [str(checkout.venv / 'lib'), '/opt/own/lib']


def test_modules_come_from_the_sources(checkout):
    entries = program_environment({}, checkout, WHEELS)['PYTHONPATH'].split(':')
    assert entries.index(str(checkout.source / 'puppet_core')) < entries.index(
        str(checkout.build / 'puppet_core')
    )


def test_system_ros_stays_in_front_of_nothing_but_the_suite(checkout):
    outer = {'AMENT_PREFIX_PATH': '/opt/ros/jazzy', 'PYTHONPATH': '/opt/ros/jazzy/site'}
    environ = program_environment(outer, checkout, SYSTEM)
    assert environ['AMENT_PREFIX_PATH'] == f'{checkout.install}:/opt/ros/jazzy'
    assert environ['PYTHONPATH'].endswith(':/opt/ros/jazzy/site')


@pytest.mark.parametrize('ros', [WHEELS, SYSTEM], ids=['wheels', 'system'])
def test_a_shell_with_our_environment_gives_the_same(checkout, ros):
    outer = {'PATH': '/usr/bin:/bin', 'AMENT_PREFIX_PATH': '/opt/ros/jazzy'}
    once = program_environment(outer, checkout, ros)
    assert program_environment(once, checkout, ros) == once


def test_a_read_only_checkout_lends_what_it_has_compiled(checkout, tmp_path, monkeypatch):
    shared = cache_folder(checkout) / 'math_12' / 'values.nbi'
    shared.parent.mkdir()
    shared.write_text('compiled')
    monkeypatch.setattr(os, 'access', lambda *_: False)  # root may write anywhere
    environ = program_environment({'XDG_CACHE_HOME': str(tmp_path / 'own')}, checkout, WHEELS)
    (link,) = Path(environ['NUMBA_CACHE_DIR']).rglob('*.nbi')
    assert link.read_text() == 'compiled' and tmp_path / 'own' in link.parents
    assert environ['ROS_LOG_DIR'].startswith(str(tmp_path / 'own'))


def test_changed_kernels_get_their_own_cache_in_such_a_shell(checkout):
    once = program_environment({}, checkout, SYSTEM)
    (checkout.source / 'puppet_core/puppet_core/math/values.py').write_text('@njit # changed')
    again = program_environment(once, checkout, SYSTEM)
    assert again['NUMBA_CACHE_DIR'] != once['NUMBA_CACHE_DIR']


@pytest.mark.parametrize('name', ['OMP_NUM_THREADS', 'NUMBA_CACHE_DIR', 'ROS_LOG_DIR'])
def test_defaults_give_way_to_the_user(checkout, name):
    assert program_environment({name: '/own'}, checkout, WHEELS)[name] == '/own'


@pytest.mark.parametrize(
    ('variables', 'distro', 'is_system', 'notice'),
    [
        ({'ROS_DISTRO': 'jazzy'}, 'jazzy', True, ''),
        ({'ROS_DISTRO': 'kilted'}, 'kilted', True, ''),
        ({}, 'jazzy', False, ''),
        ({'ROS_DISTRO': 'humble'}, 'jazzy', False, 'humble'),
        ({'ROS_DISTRO': 'jazzy', 'PYTHONPATH': '/nowhere'}, 'jazzy', False, 'rclpy'),
        ({'ROS_DISTRO': 'jazzy', 'PUPPET_ROS': 'wheels'}, 'jazzy', False, ''),
    ],
)
def test_sourced_ros_is_used_where_it_can_be(tmp_path, variables, distro, is_system, notice):
    (tmp_path / 'rclpy').mkdir()
    (tmp_path / 'rclpy' / '__init__.py').touch()
    ros = choose_ros({'PYTHONPATH': f'/nowhere:{tmp_path}'} | variables)
    assert (ros.distro, ros.is_system) == (distro, is_system)
    assert notice in ros.notice and bool(notice) == bool(ros.notice)


def test_same_kernels_same_cache(checkout):
    before = cache_folder(checkout)
    (checkout.source / 'puppet_core/puppet_core/errors.py').write_text('class Other: pass')
    assert cache_folder(checkout) == before


def test_changed_kernel_starts_an_empty_cache(checkout):
    before = cache_folder(checkout)
    (checkout.source / 'puppet_core/puppet_core/math/values.py').write_text('@njit # changed')
    after = cache_folder(checkout)
    assert after != before
    assert not list(after.iterdir())


@pytest.mark.parametrize(
    'imported',
    [
        'from puppet_core.fastest import FASTEST_M_S',
        'from puppet_core import fastest',
        'from puppet_core import (\n    errors,\n    fastest,\n)',
        'from puppet_core.limits import LIMIT',
    ],
)
def test_changed_number_starts_an_empty_cache(checkout, imported):
    package = checkout.source / 'puppet_core/puppet_core'
    (package / 'limits.py').write_text('from puppet_core.fastest import FASTEST_M_S as LIMIT')
    (package / 'fastest.py').write_text('FASTEST_M_S = 20.0')
    (package / 'kernels.py').write_text(f'{imported}\n\n\n@kernel\ndef step(): pass')
    before = cache_folder(checkout)
    (package / 'fastest.py').write_text('FASTEST_M_S = 15.0')
    assert cache_folder(checkout) != before


def test_every_kernel_of_the_suite_is_seen():
    modules = [
        path
        for path in REPOSITORY.glob('src/*/puppet_*/**/*.py')
        if 'numba' in (text := path.read_text())
        or re.search(r'import .*\bkernel\b|^    kernel,', text, re.M)
    ]
    marked = [path for path in modules if re.search('^@.*(kernel|jit)', path.read_text(), re.M)]
    assert len(marked) > 30
    for path in marked:
        assert has_kernel(path.read_bytes()), path


def test_old_caches_are_removed(checkout):
    kernel = checkout.source / 'puppet_core/puppet_core/math/values.py'
    for number in range(KEPT_CACHES + 2):
        kernel.write_text(f'@njit # {number}')
        folder = cache_folder(checkout)
        os.utime(folder, (number, number))
    assert len(list(folder.parent.iterdir())) == KEPT_CACHES
    assert cache_folder(checkout) == folder
