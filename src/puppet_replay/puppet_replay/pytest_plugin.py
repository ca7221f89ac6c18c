# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The fixture `puppet_regression`: a lab's own bags and tuning, tested in its own repository."""

from collections.abc import Iterator, Sequence
from itertools import chain, count
import os
from pathlib import Path
import re
from typing import Any, TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from puppet_replay.compare import Comparison

GOLDENS, REPORTS = 'goldens', 'puppet-reports'
DEFAULT_TOPICS = ('/performer/posture', '/importance', '/joint_states', '/puppet/posture')
_UPDATED = pytest.StashKey[list[str]]()
_WRITTEN = pytest.StashKey[set[Path]]()
_PAGES = pytest.StashKey[set[Path]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup('puppet_regression')
    group.addoption(
        '--puppet-update',
        action='store_true',
        help='write the goldens of puppet_regression anew and say what changed',
    )
    group.addoption(
        '--puppet-reports',
        metavar='DIR',
        default=REPORTS,
        help=f'where pages about differences go, from the root folder; default {REPORTS}',
    )


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for line in config.stash.get(_UPDATED, []):
        terminalreporter.write_line(line)


class PuppetRegression:
    """Checks bags of one test; paths begin in the folder of its file, `scratch` is empty."""

    def __init__(self, config: pytest.Config, folder: Path, scratch: Path) -> None:
        self._config = config
        self._folder = folder
        self._scratch = scratch

    def check(
        self,
        bag: str | Path,
        *,
        character: str = '',
        solver: str = '',
        environment: str = '',
        performer: str = '',
        layout: str = '',
        calibration: str = '',
        params: str | Path = '',
        settings: Sequence[str] = (),
        entry: str = '',
        tolerances: str | Path = '',
        topics: Sequence[str] = DEFAULT_TOPICS,
        golden: str | Path = '',
    ) -> 'Comparison':
        """
        Replay a bag and fail the test if the result differs from its golden.

        Paths are relative to the test's folder. `character` to `entry` are as the options of
        `./puppet replay`: names, or paths of YAML files; `settings` are single parameters, as in
        importance.prediction_s=0.1. `topics` are what is kept and compared; each must have
        messages. The golden is goldens/BAG-CHARACTER-SOLVER.mcap by default, and a little may
        differ. Returns what was found, with nothing allowed in an update.
        """
        __tracebackhide__ = True
        from puppet_core.io import CalibrationError, PuppetError
        from puppet_replay.golden_bags import keep_topics
        from puppet_replay.pipeline import read_settings
        from puppet_replay.replay import replay

        topics = (topics,) if isinstance(topics, str) else topics

        named = {
            'character': character,
            'environment': environment,
            'performer': performer,
            'layout': layout,
            'calibration': calibration,
        }
        short = {name: self._name_or_path(value) for name, value in named.items()}
        short['solver'] = solver
        name = '-'.join(filter(None, (Path(bag).stem, _slug(character), _slug(solver))))
        target = self._folder / (golden or Path(GOLDENS) / f'{name}.mcap')
        result, whole = self._scratch / f'{name}.mcap', self._scratch / f'{name}.whole.mcap'
        try:
            file = self._folder / params if params else None
            report = replay(self._folder / bag, whole, read_settings(file, settings, short), entry)
            if report.failure:
                raise CalibrationError(f'{self._folder / bag}: {report.failure}')
            keep_topics(whole, result, topics)
            whole.unlink()
            return self._judge(target, result, name, tolerances and self._folder / tolerances)
        except PuppetError as err:
            pytest.fail(f'puppet_regression: {err}', pytrace=False)

    def _judge(
        self, target: Path, result: Path, name: str, tolerances: Path | str
    ) -> 'Comparison':
        from puppet_core.io import InputFileError
        from puppet_replay.compare import (
            compare_bags,
            load_tolerances,
            report_lines,
            write_reports,
        )

        if self._config.getoption('puppet_update'):
            return self._update(target, result)
        if not target.exists():
            raise InputFileError(target, 'a golden', 'nothing', hint='pytest --puppet-update')
        allowed = load_tolerances(Path(tolerances) if tolerances else None)
        found = compare_bags(target, result, allowed)
        if not found.within:
            page = self._page(name)
            write_reports(found, html=page)
            lines = [*report_lines(found), '', f'report: {page}']
            pytest.fail('\n'.join(lines), pytrace=False)
        return found

    def _page(self, name: str) -> Path:
        """Return the place of a page that this session has not written: by the test's folder."""
        folder = self._config.rootpath / self._config.getoption('puppet_reports')
        inner = os.path.relpath(self._folder, self._config.rootpath).replace('..', '_')
        pages = self._config.stash.setdefault(_PAGES, set())
        names = chain([name], (f'{name}-{number}' for number in count(2)))
        page = next(p for n in names if (p := folder / inner / f'{n}.html') not in pages)
        pages.add(page)
        return page

    def _update(self, target: Path, result: Path) -> 'Comparison':
        from puppet_core.io import ConfigError, write_bytes
        from puppet_replay.compare import compare_bags, EXACT, summary_lines, Tolerances
        from puppet_replay.golden_bags import changes

        found = changes(target, result)
        written = self._config.stash.setdefault(_WRITTEN, set())
        if target.resolve() in written and (found is None or not found.within):
            raise ConfigError(
                f'{target}: expected a golden for each check, got another result '
                'for the same one; give golden='
            )
        written.add(target.resolve())
        state = 'new' if found is None else summary_lines(found)[0]
        if found is None or not found.within:
            write_bytes(target, result.read_bytes())
        self._config.stash.setdefault(_UPDATED, []).append(f'{target}: {state}')
        return found or compare_bags(result, result, Tolerances(EXACT))

    def _name_or_path(self, value: str) -> str:
        """Return a name as it is, and a path from the test's folder."""
        is_path = '/' in value or value.endswith(('.yaml', '.yml'))
        return str(self._folder / value) if is_path else value


def _slug(value: str) -> str:
    return re.sub(r'\W+', '_', Path(value).stem)


@pytest.fixture
def puppet_regression(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PuppetRegression]:
    """Return what replays a bag and holds the result against its golden."""
    scratch = tmp_path_factory.mktemp('puppet_regression')
    yield PuppetRegression(request.config, request.path.parent, scratch)
