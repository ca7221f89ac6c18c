# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The packages are what rosdep, colcon and `ros2 run` expect."""

import ast
import configparser
from pathlib import Path
import re
import sys
from xml.etree import ElementTree

from puppet_setup.commands import COMMANDS, DEV_PROGRAMS, FAMILIES
import pytest
from source_tree import (
    imported_modules,
    name_of,
    PACKAGES,
    python_files,
    PYTHON_PACKAGES,
    ROOT,
    tree_of,
)

START = 'puppet_ros.program_start:main'
GROUPS = ('puppet_graph', 'puppet_commands')  # what that runs

DEPEND_TAGS = ('depend', 'buildtool_depend', 'build_depend', 'exec_depend', 'test_depend')

# ROS packages that ours may name; anything else is ours, or a python3- key of rosdep.
ROS_KEYS = {
    'ament_cmake',
    'ament_flake8',
    'ament_index_python',
    'ament_pep257',
    'builtin_interfaces',
    'diagnostic_msgs',
    'geometry_msgs',
    'launch',
    'launch_ros',
    'launch_testing',
    'lifecycle_msgs',
    'rcl_interfaces',
    'rclpy',
    'robot_state_publisher',
    'rosgraph_msgs',
    'rosidl_default_generators',
    'rosidl_default_runtime',
    'ros2launch',
    'rviz2',
    'sensor_msgs',
    'std_msgs',
    'std_srvs',
    'tf2_msgs',
    'trajectory_msgs',
    'visualization_msgs',
    'xacro',
}

# Modules whose rosdep key is not their own name.
KEY_OF_MODULE = {
    'PIL': 'python3-pil',
    'defusedxml': 'python3-defusedxml',
    'jinja2': 'python3-jinja2',
    'hypothesis': 'python3-hypothesis',
    'matplotlib': 'python3-matplotlib',
    'numba': 'python3-numba',
    'numpy': 'python3-numpy',
    'psutil': 'python3-psutil',
    'pytest': 'python3-pytest',
    'scipy': 'python3-scipy',
    'serial': 'python3-serial',
    'tqdm': 'python3-tqdm',
    'transforms3d': 'python3-transforms3d',
    'yaml': 'python3-yaml',
}

# rosdep has no key for these: the README says how to get them.
WITHOUT_KEY = {
    'apsw',
    'av',
    'distributed',
    'embreex',
    'ezc3d',
    'lz4',
    'mcap',
    'mink',
    'mujoco',
    'pyarrow',
    'rosbags',
    'trimesh',
    'ufbx',
    'zstandard',
    'viser',
    'msgspec',
    'websockets',  # the last two come with it
}

# Installed with every ROS, or part of every Python environment.
ALWAYS_THERE = {'setuptools'}

# Not installed; tests use what stands there.
OF_THE_CHECKOUT = {'benchmarks', 'robustness'}

by_name = pytest.mark.parametrize('package', PACKAGES, ids=lambda path: path.name)
python_by_name = pytest.mark.parametrize('package', PYTHON_PACKAGES, ids=lambda path: path.name)


def manifest(package: Path) -> ElementTree.Element:
    """Return the root element of package.xml."""
    return ElementTree.parse(package / 'package.xml').getroot()


def text_of(element: ElementTree.Element, tag: str) -> str:
    """Return the text of a child that must be there."""
    child = element.find(tag)
    assert child is not None and child.text, f'no <{tag}>'
    return child.text


def dependencies(package: Path, tags: tuple[str, ...] = DEPEND_TAGS) -> set[str]:
    """Return the keys in the dependency tags."""
    return {child.text or '' for child in manifest(package) if child.tag in tags}


def entry_points(package: Path) -> dict[str, str]:
    """Return {program: module:function} of a package."""
    points = setup_of(package)['options.entry_points']
    rows = [row for group in GROUPS for row in points.get(group, '').splitlines()]
    return dict(row.split(' = ', 1) for row in rows if row)


def setup_of(package: Path) -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read_dict({'options.entry_points': {}})
    config.read(package / 'setup.cfg')
    return config


def needed_keys(package: Path, files: list[Path]) -> set[str]:
    """Return the keys of all modules that the files import, without their own package."""
    helpers = {path.stem for path in python_files() if 'test' in path.parts}
    own = {path.stem for path in files} | {package.name} | helpers
    modules = {name.split('.')[0] for path in files for name in imported_modules(path)}
    modules -= own | sys.stdlib_module_names | WITHOUT_KEY | ALWAYS_THERE | OF_THE_CHECKOUT
    return {KEY_OF_MODULE.get(module, module) for module in modules}


@by_name
def test_manifest_is_of_format_3_and_complete(package):
    """Name, version, description, maintainer, licence with its text, build type."""
    root = manifest(package)
    assert root.get('format') == '3'
    assert text_of(root, 'name') == package.name
    assert re.fullmatch(r'\d+\.\d+\.\d+', text_of(root, 'version'))
    assert text_of(root, 'description') and text_of(root, 'maintainer')
    assert text_of(root, 'license') == 'Apache-2.0'
    assert root.find('license').get('file') == 'LICENSE'
    assert (package / 'LICENSE').read_text() == (ROOT / 'LICENSE').read_text()
    assert text_of(root, 'export/build_type') in ('ament_cmake', 'ament_python')


@by_name
def test_dependencies_are_keys_of_rosdep(package):
    """Every key is one of ours, of ROS, or a system package by rosdep's naming."""
    known = ROS_KEYS | {path.name for path in PACKAGES}
    assert not {
        key
        for key in dependencies(package)
        if key not in known and not re.fullmatch(r'python3-[a-z0-9.-]+', key)
    }


@python_by_name
def test_every_import_is_declared(package):
    """What the modules import is installed with the package."""
    files = list((package / package.name).rglob('*.py'))
    declared = dependencies(package, ('depend', 'exec_depend'))
    assert needed_keys(package, files) <= declared


@python_by_name
def test_every_declared_library_is_imported(package):
    """Nothing is installed that no module needs."""
    files = list((package / package.name).rglob('*.py'))
    libraries = {key for key in dependencies(package, ('exec_depend',)) if 'python3-' in key}
    assert libraries <= needed_keys(package, files)


@python_by_name
def test_every_import_of_the_tests_is_declared(package):
    """What the tests import is installed for testing."""
    files = list((package / 'test').rglob('*.py'))
    assert needed_keys(package, files) <= dependencies(package)


@python_by_name
def test_packaging_files_are_there(package):
    """Typed, found by the ament index, its scripts where `ros2 run` looks."""
    assert (package / package.name / 'py.typed').is_file()
    assert (package / 'resource' / package.name).is_file()
    assert f'$base/lib/{package.name}' in (package / 'setup.cfg').read_text()


@python_by_name
def test_every_folder_of_modules_is_a_package(package):
    """find_packages installs only folders with an __init__.py."""
    folders = {path.parent for path in (package / package.name).rglob('*.py')}
    assert not [folder for folder in folders if not (folder / '__init__.py').is_file()]


@python_by_name
def test_every_program_begins_in_program_start(package):
    """So that Ctrl-C finds them all alike."""
    rows = setup_of(package)['options.entry_points'].get('console_scripts', '').split('\n')
    assert set(filter(None, rows)) == {f'{name} = {START}' for name in entry_points(package)}


@python_by_name
def test_every_program_exists(package):
    """Each console script names a function that its module defines."""
    for program, target in entry_points(package).items():
        module, function = target.split(':')
        path = package.joinpath(*module.split('.')).with_suffix('.py')
        assert path.is_file(), f'{program}: no {path}'
        defined = {node.name for node in tree_of(path).body if isinstance(node, ast.FunctionDef)}
        assert function in defined, f'{program}: no {function} in {path}'


@pytest.mark.parametrize(
    'command',
    [command for command in (*COMMANDS.values(), *DEV_PROGRAMS.values()) if command.package],
    ids=lambda command: command.program,
)
def test_every_command_is_a_program(command):
    """The commands of ./puppet are programs of the packages."""
    assert command.program in entry_points(ROOT / 'src' / command.package)


@pytest.mark.parametrize(
    'name',
    [f'{family} {name}' for family, (_, programs, _) in FAMILIES.items() for name in programs],
)
def test_every_bench_and_stress_has_a_main(name):
    """A module of the checkout defines it."""
    family, _, word = name.partition(' ')
    command = FAMILIES[family][1][word]
    if not command.package:
        parts = command.program.split('.')
        folder = ROOT / 'test' if parts[0] == 'robustness' else ROOT
        path = folder.joinpath(*parts).with_suffix('.py')
        assert 'main' in {
            node.name for node in tree_of(path).body if isinstance(node, ast.FunctionDef)
        }


def test_no_package_imports_what_is_not_installed():
    """Benches and stress may import everything; nothing that is installed imports them."""
    found = {
        name_of(path): names
        for package in PYTHON_PACKAGES
        for path in (package / package.name).rglob('*.py')
        if (
            names := [
                name
                for name in imported_modules(path)
                if name.split('.')[0] in ('benchmarks', 'robustness')
            ]
        )
    }
    assert not found


def test_clip_commands_are_those_of_puppet_clip():
    """None is missing and none is too many."""
    cli = pytest.importorskip('puppet_clips.cli', reason='needs ROS 2')
    commands = {name for name, command in COMMANDS.items() if command.program == 'puppet_clip'}
    assert commands == set(cli.SUBCOMMANDS)


def test_the_distribution_has_the_version_of_the_packages():
    """What pip installs, what `puppet.__version__` says, and each package.xml."""
    import puppet

    text = (ROOT / 'pyproject.toml').read_text()
    version = re.search(r"^version = '(.*)'", text, re.MULTILINE)
    assert version and version[1] == puppet.__version__
    assert {
        text_of(manifest(package), 'version') for package in PACKAGES if package.name != 'tf2_msgs'
    } == {puppet.__version__}
