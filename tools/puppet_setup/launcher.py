# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The entry of `./puppet`: reads the command, prepares the checkout and becomes the program."""

from collections.abc import Mapping, Set
import os
from pathlib import Path
import shlex
import signal
import sys

from puppet_setup.commands import (
    BUILT_IN,
    Command,
    COMMANDS,
    completion,
    FAMILIES,
    family_help,
    help_text,
    names_of,
    suggestion,
)
from puppet_setup.install import PARTS
from puppet_setup.prepare import prepare, Prepared
from puppet_setup.process import report, SetupError

ROOT = Path(__file__).resolve().parents[2]

FAILED, BAD_INPUT, INTERRUPTED, TERMINATED = 1, 2, 130, 143

HELP = ('-h', '--help', 'help')

HIGHEST_SAFE_DOMAIN = 101

RUN_TESTS = ROOT / 'tools' / 'puppet_setup' / 'run_tests.py'

# Runs the programs of the packages, in their folder.
STARTER = Path('puppet_ros', 'puppet_ros', 'program_start.py')


def main(arguments: list[str]) -> int:
    """Run a command; return an exit status if it does not become another program."""
    if not arguments:
        print(help_text(), end='', file=sys.stderr)
        return BAD_INPUT
    name, *rest = arguments
    if name in HELP:
        print(help_text(), end='')
        return 0
    if name == '--version':
        print(f'puppet {version()}')
        return 0
    if name not in names_of():
        near = suggestion(name, [*names_of(), '--help', '--version'])
        report(f'expected a command of ./puppet --help, got {name!r}{near}')
        return BAD_INPUT
    family = ''
    if name in FAMILIES:
        family = name
        if not rest or rest[0] not in names_of(family):
            is_help = bool(rest) and rest[0] in HELP
            if rest and not is_help:
                near = suggestion(rest[0], names_of(family))
                report(f'{family}: expected a name, got {rest[0]!r}{near}')
            print(family_help(family), end='', file=sys.stdout if is_help else sys.stderr)
            return 0 if is_help else BAD_INPUT
        name, *rest = rest
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:  # ./puppet has set it for the imports
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _run(family, name, rest)
    except SetupError as err:
        report(str(err))
        return FAILED
    except OSError as err:
        report(f'{err}; check the disk and who owns {ROOT}')
        return FAILED
    except KeyboardInterrupt:
        report('interrupted; the next start goes on from here')
        return INTERRUPTED


def _run(family: str, name: str, rest: list[str]) -> int:
    """Prepare what the command needs, then run it."""
    if name == 'completion':
        if rest not in (['bash'], ['zsh']):
            report(f'dev completion: expected bash or zsh, got {shlex.join(rest) or "nothing"}')
            return BAD_INPUT
        print(completion(rest[0]), end='')
        return 0
    parts = _parts(rest) if name == 'setup' else ['docs'] if name == 'docs' else []
    if parts is None:
        known = ', '.join(PARTS)
        report(
            f'setup: expected --test, --with all or --with some of {known}, or nothing; '
            f'got {shlex.join(rest)}'
        )
        return BAD_INPUT
    if name == 'run' and (len(rest) < 2 or rest[0].startswith('-')):
        report(f'run: {BUILT_IN["run"]}')
        return BAD_INPUT
    with_tests = name == 'test' or (name == 'setup' and '--test' in rest)
    ready = prepare(ROOT, os.environ, with_tests, parts)
    if name == 'setup':
        report(f'ready: {ready.checkout.home}')
        return 0
    if name == 'shell-env':
        print(shell_exports(os.environ, ready.environ), end='')
        return 0
    if name == 'test':
        os.chdir(ROOT)
        # Runs of the tests do not hear each other.
        domain = {'ROS_DOMAIN_ID': str(1 + os.getpid() % HIGHEST_SAFE_DOMAIN)}
        return _become(
            [ready.python, str(RUN_TESTS), *rest], domain | _on_own_machine(ready.environ)
        )
    if name == 'docs':
        os.chdir(ROOT)
        words = ['serve'] if rest == ['--serve'] else ['build', '--strict', *rest]
        return _become([ready.python, '-m', 'mkdocs', *words], ready.environ)
    if name == 'run':
        return _start(Command(rest.pop(0), rest.pop(0), ''), rest, ready)
    commands = FAMILIES[family][1] if family else COMMANDS
    return _start(commands[name], rest, ready)


def _parts(words: list[str]) -> list[str] | None:
    """Return the optional parts that the words of `setup` ask for; None for other words."""
    first, mark, names = ' '.join(words).replace('=', ' ').partition('--with ')
    parts, *others = names.split() if mark else ['']
    found = list(PARTS) if parts == 'all' else list(filter(None, parts.split(',')))
    return None if {*first.split(), *others} - {'--test'} or {*found} - PARTS.keys() else found


def _start(command: Command, rest: list[str], ready: Prepared) -> int:
    """Become a program of a package, or a module of the checkout that is not installed."""
    environ = _on_own_machine(ready.environ) if command.own_machine_only else ready.environ
    program = command.program
    if command.package:
        lib = ready.checkout.install / 'lib'
        folder = lib / command.package
        if not folder.is_dir():
            packages = sorted(path.name for path in lib.glob('puppet_*'))
            return _refuse('run: expected a package with programs', packages, command.package)
        if not (folder / program).is_file():
            programs = sorted(path.name for path in folder.glob('*'))
            return _refuse(f'{command.package}: expected one of its programs', programs, program)
        program = str(folder / program)
    else:
        # Last: neither launch/ nor test/ may pass for another's modules.
        folders = map(str, (ROOT, ROOT / 'test', ROOT / 'tools'))
        paths = [environ.get('PYTHONPATH', ''), *folders]
        environ = dict(environ) | {'PYTHONPATH': os.pathsep.join(filter(None, paths))}
    starter = ready.checkout.source / STARTER
    return _become(
        [ready.python, str(starter), program, *command.leading, *rest], environ, {signal.SIGINT}
    )


def _refuse(expected: str, names: list[str], given: str) -> int:
    known = ', '.join(names) or 'none'
    report(f'{expected} ({known}), got {given!r}{suggestion(given, names)}')
    return BAD_INPUT


def version() -> str:
    """Return the version of the suite, which all its packages have."""
    text = (ROOT / 'src' / 'puppet_bringup' / 'package.xml').read_text(encoding='utf-8')
    return text.partition('<version>')[2].partition('</version>')[0]


def _become(
    command: list[str], environ: Mapping[str, str], waiting: Set[signal.Signals] = frozenset()
) -> int:
    """
    Replace this process, so that signals and the exit status are the program's own.

    Those that are to wait do so until the program says that it takes care of them.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout.flush()
    os.execve(command[0], command, dict(environ))


def _on_own_machine(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with topics that stay on this machine, unless the user wants others."""
    return {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'} | dict(environ)


def shell_exports(outer: Mapping[str, str], inner: Mapping[str, str]) -> str:
    """Return shell commands that change the outer environment to the inner one."""
    lines = [
        f'export {name}={shlex.quote(value)}'
        for name, value in sorted(inner.items())
        if outer.get(name) != value
    ]
    lines += [f'unset {name}' for name in sorted(outer.keys() - inner.keys())]
    return ''.join(f'{line}\n' for line in lines)


def _terminate(number: int, frame: object) -> None:
    """Let the running phase stop its command before this process ends."""
    sys.exit(TERMINATED)
