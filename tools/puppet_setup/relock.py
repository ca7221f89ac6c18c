# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Write the pin files anew: `relock.py PYTHON3.10 PYTHON3.11 PYTHON3.12 PYTHON3.13`.

For maintainers, after a change of `runtime.in` or `test.in`. Asks pip of each interpreter to
resolve both lists together, without installing, and writes every package with its exact version;
a version that differs between interpreters gets a marker.
"""

import json
from pathlib import Path
import subprocess
import sys
import tempfile

PINS = Path(__file__).resolve().parents[1] / 'pins'
HEADER = '# Written by tools/puppet_setup/relock.py from {source}; do not edit.\n'

Versions = dict[str, str]


def resolve(python: str, lists: list[Path]) -> Versions:
    """Return {package: version} that pip would install for the interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, 'report.json')
        command = [
            python,
            '-m',
            'pip',
            'install',
            '--quiet',
            '--dry-run',
            '--ignore-installed',
            '--report',
            str(report),
        ]
        for path in lists:
            command += ['-r', str(path)]
        subprocess.run(command, check=True)
        rows = json.loads(report.read_text())['install']
    return {row['metadata']['name']: row['metadata']['version'] for row in rows}


def python_version(python: str) -> str:
    """Return e.g. '3.11' for the interpreter."""
    code = 'import sys; print("%d.%d" % sys.version_info[:2])'
    return subprocess.run(
        [python, '-c', code], check=True, capture_output=True, text=True
    ).stdout.strip()


def pin_lines(resolved: dict[str, Versions]) -> list[str]:
    """Return the lines of a pin file from {Python version: {package: version}}."""
    names = sorted({name for versions in resolved.values() for name in versions}, key=str.lower)
    lines = []
    for name in names:
        of_python = {python: versions.get(name) for python, versions in resolved.items()}
        if len(set(of_python.values())) == 1:
            lines.append(f'{name}=={next(iter(of_python.values()))}')
            continue
        for version in sorted({version for version in of_python.values() if version}):
            pythons = ' '.join(python for python in of_python if of_python[python] == version)
            lines.append(f"{name}=={version} ; python_version in '{pythons}'")
    return lines


def main(pythons: list[str]) -> int:
    """Write `runtime.txt` and `test.txt`."""
    if not pythons:
        print(__doc__, file=sys.stderr)
        return 2
    runtime, test = {}, {}
    for python in pythons:
        version = python_version(python)
        print(f'resolving for Python {version}', flush=True)
        every = resolve(python, [PINS / 'runtime.in', PINS / 'test.in'])
        needed = resolve(python, [PINS / 'runtime.in'])
        runtime[version] = {name: every[name] for name in needed}
        test[version] = {name: every[name] for name in every if name not in needed}
    for name, resolved in (('runtime', runtime), ('test', test)):
        text = HEADER.format(source=f'{name}.in') + '\n'.join(pin_lines(resolved)) + '\n'
        (PINS / f'{name}.txt').write_text(text)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
