# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The process table as a launch description, for the files in launch/ (needs launch_ros)."""

import atexit
from pathlib import Path
import shutil
import tempfile

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.launch_description_entity import LaunchDescriptionEntity
from launch_ros.actions import Node
from puppet_bringup.process_table import arguments_of, command_line, prepared, Process
from puppet_ros import config_files


def describe(variant: str) -> LaunchDescription:
    """Return the arguments of a variant, then its processes once the arguments are known."""
    declared = [
        DeclareLaunchArgument(a.name, default_value=a.default, description=a.description)
        for a in arguments_of(variant)
    ]

    def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
        given = {a.name: context.launch_configurations[a.name] for a in arguments_of(variant)}
        folder = Path(tempfile.mkdtemp(prefix='puppet_launch_'))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return [_action(process) for process in prepared(variant, given, folder)]

    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def _action(process: Process) -> LaunchDescriptionEntity:
    config_dir = config_files.config_dir()
    if not process.is_node or not process.package:
        command = command_line(process, config_dir)
        return ExecuteProcess(cmd=command, name=process.name, output='screen')
    parameters: list = []
    if process.parameter_file:
        parameters.append(str(config_dir / process.parameter_file))
    if process.parameters:
        parameters.append(dict(process.parameters))
    return Node(
        package=process.package,
        executable=process.executable,
        name=process.name,
        namespace=process.namespace or None,
        parameters=parameters,
        remappings=list(process.remappings),
        arguments=list(process.arguments),
        output='screen',
    )
