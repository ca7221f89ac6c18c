# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The process table as a launch description, for the files in launch/ (needs launch_ros)."""

import atexit
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
import os
import subprocess

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    LogInfo,
    OpaqueFunction,
    Shutdown,
    TimerAction,
)
from launch.events.process import ProcessExited
from launch.launch_description_entity import LaunchDescriptionEntity
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from puppet_bringup.compile_command import is_compiled
from puppet_bringup.process_table import arguments_of, command_line, PLAYER, prepared, Process
from puppet_bringup.respawner import Restarts
from puppet_core.io import EXIT_OK, run_folder
from puppet_ros import config_files
from puppet_ros.program_start import share_cache

OnExit = Callable[[ProcessExited, LaunchContext], list[LaunchDescriptionEntity]]

NAME, PACKAGE = 'puppet_compile', 'puppet_bringup'
COMPILER = Process(NAME, PACKAGE, NAME, is_node=False, arguments=('--for-launch',))


def describe(variant: str) -> LaunchDescription:
    """Return the arguments of a variant, then its processes once the arguments are known."""
    declared = [
        DeclareLaunchArgument(
            a.name,
            default_value=a.default,
            description=a.description,
            choices=[a.default, *a.choices] if a.choices else None,
        )
        for a in arguments_of(variant)
    ]

    at_exit = ExitStack()
    atexit.register(at_exit.close)

    def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
        given = {a.name: context.launch_configurations[a.name] for a in arguments_of(variant)}
        folder = at_exit.enter_context(run_folder('puppet_launch'))
        listed, restarts = prepared(variant, given, folder), Restarts()

        def start_nodes(*_: object) -> list[LaunchDescriptionEntity]:
            if context.is_shutdown:
                return []
            return [_action(process, restarts) for process in listed]

        share_cache()
        if is_compiled(os.environ):
            return start_nodes()
        # before the nodes: a node that compiles answers nobody
        return [_execute(COMPILER, start_nodes)]

    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def _action(process: Process, restarts: Restarts) -> LaunchDescriptionEntity:
    def on_exit(event: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        code = event.returncode
        if context.is_shutdown or code == EXIT_OK:
            is_end = process.name == PLAYER and not context.is_shutdown
            return [Shutdown(reason='the bag is played')] if is_end else []
        delay_s = None if process.name == PLAYER else restarts.died(process.name, code)
        if delay_s is None:
            reason = f'{process.name} ended with exit code {code}'
            return [LogInfo(msg=reason), Shutdown(reason=reason)]
        again = f'{process.name}: starting it again in {delay_s:.1f} s'
        start = OpaqueFunction(function=lambda _: [_action(process, restarts)])
        return [LogInfo(msg=again), TimerAction(period=delay_s, actions=[start])]

    restarts.started(process.name)
    return _execute(process, on_exit)


def _execute(process: Process, on_exit: OnExit) -> LaunchDescriptionEntity:
    config_dir = config_files.config_dir()
    settings: dict = {
        'name': process.name,
        'output': 'screen',
        'on_exit': on_exit,
        'prefix': [
            LaunchConfiguration('launch-prefix', default=''),
            _block() if process.package else '',
        ],
    }
    if not process.is_node or not process.package:
        return ExecuteProcess(cmd=command_line(process, config_dir), **settings)
    parameters: list = []
    if process.parameter_file:
        parameters.append(str(config_dir / process.parameter_file))
    if process.parameters:
        parameters.append(dict(process.parameters))
    return Node(
        package=process.package,
        executable=process.executable,
        exec_name=process.name,  # in front of its lines
        namespace=process.namespace or None,
        parameters=parameters,
        remappings=list(process.remappings),
        arguments=list(process.arguments),
        **settings,
    )


@cache
def _block() -> str:
    """Return what keeps SIGINT from a program until it takes care of it, if `env` can do so."""
    words = ' env --block-signal=INT'
    done = subprocess.run([*words.split(), 'true'], capture_output=True, check=False)
    return '' if done.returncode else words
