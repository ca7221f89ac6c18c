# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The sourced ROS is used where it can be, the wheels elsewhere."""

from pathlib import Path

from puppet_setup.ros_source import choose
import pytest


@pytest.fixture
def sourced(tmp_path: Path) -> dict[str, str]:
    """Return the variables of a shell with a sourced ROS."""
    (tmp_path / 'rclpy').mkdir()
    (tmp_path / 'rclpy' / '__init__.py').touch()
    return {'ROS_DISTRO': 'jazzy', 'PYTHONPATH': f'/nowhere:{tmp_path}'}


@pytest.mark.parametrize('distro', ['jazzy', 'kilted'])
def test_supported_ros_is_used(sourced: dict[str, str], distro: str) -> None:
    """Its build stands apart from that of other distributions."""
    ros = choose(sourced | {'ROS_DISTRO': distro})
    assert (ros.is_system, ros.flavour, ros.notice) == (True, distro, '')


def test_no_ros_means_wheels() -> None:
    """Without a word: it is the usual case."""
    ros = choose({})
    assert (ros.is_system, ros.flavour, ros.notice) == (False, 'wheels', '')


def test_other_distribution_means_wheels_and_is_said(sourced: dict[str, str]) -> None:
    """The user may wonder."""
    ros = choose(sourced | {'ROS_DISTRO': 'humble'})
    assert not ros.is_system
    assert 'humble' in ros.notice


def test_ros_without_rclpy_means_wheels_and_is_said() -> None:
    """A base installation lacks it."""
    ros = choose({'ROS_DISTRO': 'jazzy', 'PYTHONPATH': '/nowhere'})
    assert not ros.is_system
    assert 'rclpy' in ros.notice


def test_user_can_insist_on_wheels(sourced: dict[str, str]) -> None:
    """As the programs of the suite do for a ./puppet that they start."""
    assert not choose(sourced | {'PUPPET_ROS': 'wheels'}).is_system
