# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet dev wheel`: the distribution as a wheel, with compiled kernels."""

import argparse
from collections.abc import Sequence
import os
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

from puppet_core.io import CommandParser, ConfigError, EXIT_OK, note, run_command
from puppet_core.math.kernel_cache import LEVELS, SHIP

NAME = 'puppet dev wheel'
EXAMPLE = 'example: ./puppet dev wheel dist && pip install dist/puppet_suite-*.whl'
ROOT = Path(__file__).resolve().parents[1]
ROBOT = ROOT / 'src/puppet_core/test/humanoid.urdf'
WARM_UP = 'from tools.wheel_command import warm_up; warm_up()'


def parser() -> argparse.ArgumentParser:
    p = CommandParser(
        prog=NAME,
        epilog=EXAMPLE,
        description='Build a wheel with compiled kernels for this Python, so that nothing is\n'
        'compiled at the first start. It takes some two minutes a level.',
    )
    p.add_argument('folder', metavar='FOLDER', type=Path, help='where the wheel goes')
    text = 'processors, of %(default)s: without any, the wheel is for every machine and compiles'
    levels = ','.join(LEVELS)
    p.add_argument('--levels', metavar='A,B', default=levels, help=text)
    return p


def build(folder: Path, levels: Sequence[str]) -> Path:
    """Return the wheel that was built; a CalledProcessError shows what failed."""
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        # of a copy: builds leave folders behind
        source = work / 'source'
        ignored = shutil.ignore_patterns('.git', '.puppet', '__pycache__', 'build', '*.egg-info')
        shutil.copytree(ROOT, source, symlinks=True, ignore=ignored)
        _run('pip', 'wheel', '-q', '--no-deps', '-w', str(work / 'plain'), str(source))
        (wheel,) = (work / 'plain').glob('*.whl')
        if levels:
            _run('wheel', 'unpack', '-d', str(work / 'tree'), str(wheel))
            (tree,) = (work / 'tree').iterdir()
            for level in levels:
                note(f'{NAME}: compiling for {level}')
                _compile(tree, level)
            (work / 'full').mkdir()
            _run('wheel', 'pack', '-d', str(work / 'full'), str(tree))
            (wheel,) = (work / 'full').glob('*.whl')
            python = f'cp{sys.version_info.major}{sys.version_info.minor}'
            tags = ('--python-tag', python, '--abi-tag', python, '--platform-tag', 'linux_x86_64')
            _run('wheel', 'tags', '--remove', *tags, str(wheel))
            (wheel,) = (work / 'full').glob('*.whl')
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, folder))


def _run(module: str, *words: str) -> None:
    subprocess.run([sys.executable, '-m', module, *words], check=True, stdout=subprocess.DEVNULL)


def _compile(tree: Path, level: str) -> None:
    """Fill the folders of kernels of an unpacked wheel."""
    features = ','.join(f'+{name}' for name in LEVELS[level])
    environ = dict(os.environ) | {
        'NUMBA_CPU_NAME': level,
        'NUMBA_CPU_FEATURES': features,
        SHIP: level,
        'PYTHONPATH': os.pathsep.join((str(tree), str(ROOT))),
    }
    subprocess.run([sys.executable, '-c', WARM_UP], env=environ, cwd=tree.parent, check=True)


def warm_up() -> None:
    """Do a little of everything that the commands over files do."""
    import numpy as np
    import puppet
    from puppet_core.body import save_character
    from puppet_core.robots import character_from_urdf, RobotMap
    from puppet_retarget.solvers import SOLVER_NAMES

    walk = puppet.load_clip('walk')
    short = puppet.Motion.from_rotations(
        walk.skeleton, walk.rate_hz, walk.root_positions[:20], walk.rotations[:20]
    )
    with tempfile.TemporaryDirectory() as folder:
        robot = Path(folder) / 'robot.yaml'
        save_character(character_from_urdf(ROBOT, RobotMap()).character, robot)
        for character in ('sally', str(robot)):
            for solver in SOLVER_NAMES:
                puppet.retarget(short, character, 'demo', solver).report()
        puppet.edit(walk, puppet.sample('walk').with_name('reach.yaml'))
        puppet.enhance(short, {'left_hand': short.end_effectors[:, 0] + 0.01})
    times = np.arange(20) / 60.0
    still = np.tile([1.0, 0.0, 0.0, 0.0], (20, 2, 1))
    puppet.filter_poses(times, np.zeros((20, 2, 3)), still)


def main(argv: Sequence[str] | None = None) -> int:
    def run() -> int:
        options = parser().parse_args(argv)
        levels = list(filter(None, options.levels.split(',')))
        unknown = set(levels) - set(LEVELS)
        if unknown:
            wanted = f'--levels: expected some of {", ".join(LEVELS)}'
            raise ConfigError(f'{wanted}, got {", ".join(sorted(unknown))}')
        print(build(options.folder, levels))
        return EXIT_OK

    return run_command(NAME, run)


if __name__ == '__main__':
    sys.exit(main())
