# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The repository's Python files, as the tests of the house see them."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ('examples', 'launch', 'src', 'test', 'tools')
PACKAGES = sorted(path.parent for path in (ROOT / 'src').glob('*/package.xml'))
PYTHON_PACKAGES = [path for path in PACKAGES if (path / path.name / '__init__.py').is_file()]

Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_files() -> list[Path]:
    """Return every Python file that is ours."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob('*.py')]
    return sorted(path for path in files
                  if not any(part.startswith('.') for part in path.relative_to(ROOT).parts))


def name_of(path: Path) -> str:
    """Return the path as a reader of a failure wants it."""
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    """Return the parsed file."""
    return ast.parse(path.read_text(encoding='utf-8'), str(path))


def imported_modules(path: Path) -> set[str]:
    """Return the dotted names that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module)
    return names


def functions(path: Path) -> Iterator[Function]:
    """Yield every function and method of a file."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, Function):
            yield node


def body_lines(function: Function) -> int:
    """Return the length of a function's body without its docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0
