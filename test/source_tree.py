# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The repository's Python files, as the tests of the house see them."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ('benchmarks', 'examples', 'src', 'test', 'tools')
PACKAGES = sorted(path.parent for path in (ROOT / 'src').glob('*/package.xml'))
PYTHON_PACKAGES = [path for path in PACKAGES if (path / path.name / '__init__.py').is_file()]


def python_files() -> list[Path]:
    """Return every Python file that is ours."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob('*.py')]
    return sorted(
        path
        for path in files
        if not any(part.startswith('.') for part in path.relative_to(ROOT).parts)
    )


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
