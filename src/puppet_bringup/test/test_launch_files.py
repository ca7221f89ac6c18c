# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The launch files load under the real launch and make the processes of the table."""

import importlib.util
from pathlib import Path

from puppet_bringup.compile_command import MARK
from puppet_bringup.process_table import arguments_of, processes, SIM, VARIANTS
from puppet_ros.program_start import CACHE_VARIABLE
import pytest

ROOT = Path(__file__).resolve().parents[3]
LAUNCH = ROOT / 'launch'

needs_launch = pytest.mark.skipif(
    importlib.util.find_spec('launch_ros') is None,
    reason='launch and launch_ros come with a system installation of ROS 2 only',
)


def _load(variant):
    path = LAUNCH / f'{variant}.launch.py'
    spec = importlib.util.spec_from_file_location(f'{variant}_launch', path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_is_a_file_for_every_variant_and_no_other():
    assert {path.name for path in LAUNCH.glob('*.py')} == {f'{v}.launch.py' for v in VARIANTS}


@needs_launch
@pytest.mark.parametrize('variant', VARIANTS)
def test_description_declares_the_arguments_of_the_table(variant):
    declared = _load(variant).generate_launch_description().get_launch_arguments()
    assert [a.name for a in declared] == [a.name for a in arguments_of(variant)]
    assert all(a.description for a in declared)


@needs_launch
@pytest.mark.parametrize('variant', VARIANTS)
@pytest.mark.parametrize('is_compiled', [True, False], ids=['compiled', 'new'])
def test_description_makes_the_processes_of_the_table(variant, is_compiled, tmp_path, monkeypatch):
    """At once, or when the compiler has ended."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    if is_compiled:
        (tmp_path / MARK).touch()
    from launch import LaunchContext
    from launch.actions import OpaqueFunction
    from launch_ros.actions import Node

    context = LaunchContext()
    description = _load(variant).generate_launch_description()
    for entity in description.entities:
        if not isinstance(entity, OpaqueFunction):
            entity.visit(context)
    (start,) = (e for e in description.entities if isinstance(e, OpaqueFunction))
    actions = start.execute(context)
    if not is_compiled:
        (compiler,) = actions
        assert 'puppet_compile' in compiler.process_description.cmd[0][0].text
        return
    expected = processes(variant, {'ports_dir': '/tmp'} if variant == SIM else {})
    assert len(actions) == len(expected)
    for action, process in zip(actions, expected):
        assert isinstance(action, Node) == process.is_node
        if process.is_node:
            assert action.node_package == process.package
            assert action.node_executable == process.executable
