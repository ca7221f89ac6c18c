# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house: layers, headers, and what the tools say."""

import ast
import importlib.util
import os
from pathlib import Path
import re
import subprocess
import sys

import pytest
from source_tree import imported_modules, name_of, python_files, PYTHON_PACKAGES, ROOT, tree_of

HEADER = '# Copyright 2026 The puppet suite authors\n# SPDX-License-Identifier: Apache-2.0\n'

# Only these may know ROS in a package that has models; puppet_ros and puppet_bringup are edges.
ROS_FILES = ('*_node.py', 'measure_noise.py', 'emulator/cli.py', 'recording_export.py')
PACKAGES_WITH_MODELS = (
    'puppet_core',
    'puppet_driver',
    'puppet_edit',
    'puppet_filter',
    'puppet_performer',
    'puppet_retarget',
)
ROS_MODULES = re.compile(r'(rclpy|puppet_ros|tf2_ros|launch|\w+_msgs|rcl_interfaces)(\.|$)')
KERNEL_MODULES = re.compile(r'(math|typing|numpy|numba|puppet_\w+)(\.|$)')
UNFINISHED = re.compile(r'\b(TODO|FIXME|HACK)\b')


def run_tool(module: str, *arguments: str) -> None:
    """Run a tool at the root and fail with what it says; skip where it is not installed."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f'{module} is not installed')
    command = (
        'import sys, runpy; sys.argv[0] = sys.argv.pop(1); runpy.run_module(sys.argv[0],'
        ' run_name="__main__", alter_sys=True)'
    )
    done = subprocess.run(
        [sys.executable, '-c', command, module, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f'{done.stdout}\n{done.stderr}'


def test_ruff_finds_nothing():
    """Order of imports, quotes, docstrings, likely mistakes; `ruff check --fix` corrects most."""
    run_tool('ruff', 'check', '--no-cache', '--output-format', 'concise', '.')


@pytest.mark.parametrize(
    ('linter', 'options'),
    [('ament_flake8', ['--config', str(ROOT / 'test' / 'flake8.ini')]), ('ament_pep257', [])],
)
def test_linters_of_ros_find_nothing(linter, options):
    """On all packages; ament_copyright does not know the short licence headers."""
    if importlib.util.find_spec(linter) is None:
        pytest.skip(f'{linter} is not installed')
    # in a process of its own: flake8 forks, which a process with ROS's threads must not
    code = f'import sys; from {linter}.main import main; sys.exit(main(sys.argv[1:]))'
    done = subprocess.run(
        [sys.executable, '-c', code, *options, str(ROOT / 'src')],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f'{done.stdout}\n{done.stderr}'


def test_mypy_finds_nothing():
    """Every function is annotated and the annotations agree."""
    run_tool('mypy')


def test_layers_are_kept():
    """Who may import whom: the contracts of pyproject.toml."""
    pytest.importorskip('importlinter', reason='import-linter is not installed')
    paths = os.pathsep.join(map(str, (ROOT / 'src').glob('puppet*')))
    code = 'from importlinter.cli import lint_imports_command; lint_imports_command()'
    done = subprocess.run(
        [sys.executable, '-c', code, '--no-cache'],
        cwd=ROOT,
        env=os.environ | {'PYTHONPATH': paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f'{done.stdout}\n{done.stderr}'


def test_only_edge_files_know_ros():
    """A model is finished when it runs on a file without ROS."""
    wrong = {}
    for package in PYTHON_PACKAGES:
        if package.name not in PACKAGES_WITH_MODELS:
            continue
        for path in (package / package.name).rglob('*.py'):
            known = sorted(filter(ROS_MODULES.match, imported_modules(path)))
            if known and not may_know_ros(path.relative_to(package / package.name)):
                wrong[name_of(path)] = known
    assert not wrong


def may_know_ros(path: Path) -> bool:
    """Tell whether a file, by its path in the package, is an edge to ROS."""
    return any(map(path.match, ROS_FILES))


def test_kernel_files_import_only_numbers():
    """Arrays and floats in and out, nothing of the outside world."""
    wrong = {}
    for path in python_files():
        if path.name.endswith('_kernels.py') and not path.name.startswith('test_'):
            foreign = {
                name
                for name in imported_modules(path)
                if not KERNEL_MODULES.match(name) or ROS_MODULES.match(name)
            }
            if foreign:
                wrong[name_of(path)] = sorted(foreign)
    assert not wrong


def test_every_file_says_whose_it_is():
    """Copyright and licence open every Python file."""
    assert not [
        name_of(path)
        for path in python_files()
        if path.stat().st_size and not path.read_text().startswith(HEADER)
    ]


def test_every_module_says_what_it_owns():
    """A docstring follows the header."""
    assert not [
        name_of(path)
        for path in python_files()
        if path.stat().st_size
        and not path.read_text()[len(HEADER) :].lstrip().startswith(('"""', 'r"""'))
    ]


def test_nothing_is_left_unfinished():
    """What is not done yet is an issue, not a mark in the code."""
    assert not [
        name_of(path)
        for path in python_files()
        if path != Path(__file__) and UNFINISHED.search(path.read_text())
    ]


def test_tests_wait_on_conditions():
    """
    No sleeping in tests: a deadline says when to give up, a condition when to go on.

    The programs of robustness/ are no tests: they pace what they do to the graph.
    """
    calls = re.compile(r'\btime\.sleep\(')
    assert not [
        name_of(path)
        for path in python_files()
        if 'test' in path.parts
        and ('robustness' not in path.parts or path.name.startswith('test_'))
        and path != Path(__file__)
        and calls.search(path.read_text())
    ]


UNSAFE_CALLS = {'eval', 'exec', 'yaml.unsafe_load', 'yaml.full_load', 'os.system', 'os.popen'}
UNSAFE_MODULES = {'marshal', 'shelve', 'dill', 'xml.etree.cElementTree'}


def test_nothing_from_outside_is_run():
    """No eval, no pickle but to write one, no shell, no YAML that makes objects."""
    found = []
    for path in python_files():
        if 'test' in path.parts:
            continue
        if 'from pickle' in path.read_text():
            found.append(f'{name_of(path)}: from pickle')
        found += [f'{name_of(path)}: {name}' for name in imported_modules(path) & UNSAFE_MODULES]
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.Call):
                continue
            words = {word.arg: ast.unparse(word.value) for word in node.keywords}
            name = ast.unparse(node.func)
            loader = words.get('Loader', 'SafeLoader')
            if (
                name in UNSAFE_CALLS
                or (name.startswith('pickle.') and name != 'pickle.dump')
                or words.get('shell') == 'True'
                or (
                    name == 'yaml.load'
                    and loader not in ('SafeLoader', '_LineLoader', 'PlainLoader')
                )
                or words.get('allow_pickle') == 'True'
            ):
                found.append(f'{name_of(path)}:{node.lineno}: {name}')
    assert not found
