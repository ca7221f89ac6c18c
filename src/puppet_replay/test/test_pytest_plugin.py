# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The fixture in a repository of a lab's own, in a pytest process of its own."""

import os
from pathlib import Path
import subprocess
import sys

import pytest
from recorded_bag import recorded

LAB_TEST = """
def test_walk(puppet_regression):
    puppet_regression.check('walk.mcap', character='sally', settings={settings!r})
"""


@pytest.fixture(scope='module')
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lab's repository with a recording of two seconds."""
    folder = tmp_path_factory.mktemp('lab')
    recorded(folder / 'walk.mcap', 2.0)
    (folder / 'pytest.ini').write_text('[pytest]\n')
    return folder


def run_pytest(lab: Path, *arguments: str, settings: tuple[str, ...] = ()) -> tuple[int, str]:
    """Run the lab's tests; return the exit code and what was printed."""
    (lab / 'test_lab.py').write_text(LAB_TEST.format(settings=settings))
    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', *arguments]
    # as it is found by its entry point where the package is installed
    command += ['-p', 'puppet_replay.pytest_plugin'] if not is_installed() else []
    environment = os.environ | {'PYTEST_ADDOPTS': '', 'PYTEST_XDIST_WORKER': ''}
    done = subprocess.run(
        command, cwd=lab, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def is_installed() -> bool:
    """Return whether pytest finds the plugin by itself."""
    from importlib.metadata import entry_points

    return any(point.name == 'puppet_regression' for point in entry_points(group='pytest11'))


def test_a_lab_tests_its_own_bags(lab: Path) -> None:
    """No golden; the first update; the same again; another tuning, named; mended by an update."""
    golden = lab / 'goldens' / 'walk-sally.mcap'
    code, text = run_pytest(lab)
    assert code == 1 and f'{golden}: expected a golden, got nothing' in text
    assert 'pytest --puppet-update' in text and 'Traceback' not in text

    code, text = run_pytest(lab, '--puppet-update')
    assert code == 0 and f'{golden}: new' in text
    first = golden.read_bytes()

    assert run_pytest(lab)[0] == 0

    changed = ('importance.prediction_s=0.3',)
    code, text = run_pytest(lab, settings=changed)
    page = lab / 'puppet-reports' / 'walk-sally.html'
    assert code == 1 and 'worst: /importance importance' in text
    assert f'report: {page}' in text and '<svg' in page.read_text()
    assert golden.read_bytes() == first

    code, text = run_pytest(lab, '--puppet-update', settings=changed)
    assert code == 0 and f'{golden}: differs: ' in text
    assert run_pytest(lab, settings=changed)[0] == 0
    assert golden.read_bytes() != first


def test_bad_bags_fail_with_a_line(lab: Path) -> None:
    """Not with a traceback."""
    (lab / 'walk.mcap').rename(lab / 'kept.mcap')
    try:
        code, text = run_pytest(lab)
    finally:
        (lab / 'kept.mcap').rename(lab / 'walk.mcap')
    assert code == 1 and 'puppet_regression: ' in text and 'expected a bag, got nothing' in text
    assert 'Traceback' not in text
