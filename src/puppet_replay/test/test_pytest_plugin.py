# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The fixture in a repository of a lab's own, in pytest runs of its own."""

import os
import subprocess
import sys

from bag_samples import recorded
import pytest

pytestmark = pytest.mark.slow

pytest_plugins = 'pytester'
# loaded by name and not as an installed entry point, so that it is loaded once either way
PLUGIN = ('-p', 'puppet_replay.pytest_plugin', '-p', 'no:cacheprovider')
LAB_TEST = """
def test_walk(puppet_regression):
    puppet_regression.check('walk.mcap', character='sally', settings={settings!r})
"""


@pytest.fixture
def lab(pytester, monkeypatch):
    monkeypatch.setenv('PYTEST_DISABLE_PLUGIN_AUTOLOAD', '1')
    monkeypatch.delenv('PYTEST_ADDOPTS', raising=False)
    pytester.makeini('[pytest]\n')
    write_test(pytester.path)
    return pytester.path


def write_test(lab, *settings):
    (lab / 'test_lab.py').write_text(LAB_TEST.format(settings=settings))


def test_a_lab_tests_its_own_bags(lab, pytester):
    def run(*arguments):
        result = pytester.runpytest_inprocess(*PLUGIN, *arguments)
        return int(result.ret), str(result.stdout)

    recorded(lab / 'walk.mcap', 2.0)
    golden = lab / 'goldens' / 'walk-sally.mcap'
    code, text = run()
    assert code == 1 and f'{golden}: expected a golden, got nothing' in text
    assert 'pytest --puppet-update' in text and 'Traceback' not in text

    code, text = run('--puppet-update')
    assert code == 0 and f'{golden}: new' in text
    first = golden.read_bytes()
    assert run()[0] == 0

    write_test(lab, 'importance.prediction_s=0.3')
    code, text = run()
    page = lab / 'puppet-reports' / 'walk-sally.html'
    assert code == 1 and 'worst: /importance importance' in text
    assert f'report: {page}' in text and '<svg' in page.read_text()
    assert golden.read_bytes() == first

    code, text = run('--puppet-update')
    assert code == 0 and f'{golden}: differs: ' in text
    assert golden.read_bytes() != first
    assert run()[0] == 0


def test_a_bad_bag_fails_with_a_line_in_a_process_of_its_own(lab):
    words = [sys.executable, '-m', 'pytest', '-q', *PLUGIN]
    done = subprocess.run(words, cwd=lab, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 1
    expected = (
        f'puppet_regression: {lab}/walk.mcap: expected a bag, got a path that does not exist'
    )
    assert expected in done.stdout and 'Traceback' not in done.stdout


def test_pages_of_bags_of_one_name_are_kept_apart(lab, pytester):
    text = """
def test_a(puppet_regression):
    puppet_regression.check('walk.mcap', settings=['importance.prediction_s={}'])

def test_b(puppet_regression):
    puppet_regression.check('walk.mcap', settings=['importance.prediction_s={}'])
"""
    (lab / 'test_lab.py').unlink()
    tests = [lab / name / f'test_{name}.py' for name in ('left', 'right')]
    for path in tests:
        path.parent.mkdir()
        recorded(path.parent / 'walk.mcap', 2.0)
        path.write_text(text.format(0.2, 0.2))
    assert pytester.runpytest_inprocess(*PLUGIN, '--puppet-update').ret == 0
    for path in tests:
        path.write_text(text.format(0.3, 0.4))
    told = str(pytester.runpytest_inprocess(*PLUGIN).stdout)
    folder = lab / 'puppet-reports'
    names = [f'{place}/walk{number}.html' for place in ('left', 'right') for number in ('', '-2')]
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob('*.html')) == sorted(names)
    assert all(f'report: {folder / name}' in told for name in names)


def test_two_checks_never_share_a_golden(lab, pytester):
    recorded(lab / 'walk.mcap', 2.0)
    (lab / 'test_lab.py').write_text("""
def test_a(puppet_regression):
    puppet_regression.check('walk.mcap')

def test_b(puppet_regression):
    puppet_regression.check('walk.mcap', settings=['importance.prediction_s=0.3'])

def test_c(puppet_regression):
    puppet_regression.check('walk.mcap', topics='/joint_state', golden='c.mcap')
""")
    result = pytester.runpytest_inprocess(*PLUGIN, '--puppet-update')
    text = str(result.stdout)
    assert result.parseoutcomes() == {'passed': 1, 'failed': 2}
    assert 'walk.mcap: expected a golden for each check, got another result' in text
    assert 'expected messages on /joint_state, got none; there are' in text
    assert not (lab / 'c.mcap').exists()
    assert pytester.runpytest_inprocess(*PLUGIN, '-k', 'test_a').ret == 0
