# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The edge of every command: its grammar, its exit code, and one line if it fails."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
import errno
import logging
import os
import select
import signal
import sys
import threading
import time
import traceback
from typing import Any, NoReturn, TextIO

from puppet_core.io.errors import ConfigError, printable, PuppetError

EXIT_OK, EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 130
BAD_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)  # of files, by whoever gave them


LOG = logging.getLogger('puppet')
"""Its level is how much commands tell on standard error: see -q and -v."""


class SetLevel(argparse.Action):
    def __call__(self, parser: object, namespace: object, *_: object) -> None:
        LOG.setLevel('WARNING' if self.dest == 'quiet' else 'DEBUG')
        setattr(namespace, self.dest, True)


class CommandParser(argparse.ArgumentParser):
    """A parser that prints description and examples as written; its errors are ConfigErrors."""

    def __init__(self, description: str | None = '', **settings: Any) -> None:
        raw = argparse.RawDescriptionHelpFormatter
        if str(settings.get('prog', '')).split(' ')[0] == 'puppet':
            settings['prog'] = f'./{settings["prog"]}'
        super().__init__(description=(description or '').strip(), formatter_class=raw, **settings)
        verbose = 'tell what nodes say, and where errors rise'
        for name, text in (('quiet', 'tell only what is wrong'), ('verbose', verbose)):
            words = f'-{name[0]}', f'--{name}'
            self.add_argument(*words, action=SetLevel, nargs=0, default=False, help=text)

    def format_help(self) -> str:
        return _as_called(super().format_help())

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f'{message}; see {_as_called(self.prog)} --help')


def _as_called(text: str) -> str:
    """Return a text with the command as it was called: `./puppet`, or `puppet` by pip."""
    is_installed = os.path.basename(sys.argv[0]) == 'puppet'
    return text.replace('./puppet', 'puppet') if is_installed else text


def run_command(name: str, command: Callable[[], int], interrupted: str = '') -> int:
    """
    Run a command, which reads its arguments itself, and return its exit code.

    That is its own; 1 for a failed run, 2 for bad input, 130 for Ctrl-C. `name` begins the line of
    an error; `interrupted` is what to know after Ctrl-C.
    """
    SignalEvent.is_interrupted = False
    LOG.setLevel(logging.INFO)
    try:
        code = command()
        sys.stdout.flush()
        return EXIT_INTERRUPTED if SignalEvent.is_interrupted and code != EXIT_BAD_INPUT else code
    except BrokenPipeError:
        # nobody reads any more: what is left to flush at exit goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except KeyboardInterrupt:
        print('; '.join(filter(None, (f'{name}: interrupted', interrupted))), file=sys.stderr)
        return EXIT_INTERRUPTED
    except PuppetError as err:
        told = str(err).removeprefix(f'{name.split()[-1]}: ')  # puppet character: character: ..
        print(f'{name}: {printable(told)}', file=sys.stderr)
        return EXIT_BAD_INPUT if err.is_bad_input else EXIT_FAILED
    except Exception as err:  # the edge: whatever it is, one line and an exit code
        if LOG.isEnabledFor(logging.DEBUG):
            traceback.print_exc()
        print(f'{name}: {printable(reason(err))}', file=sys.stderr)
        is_loop = isinstance(err, RuntimeError) and 'Symlink loop' in str(err)  # of pathlib
        is_bad_input = is_loop or (isinstance(err, OSError) and err.errno in BAD_NAMES)
        return EXIT_BAD_INPUT if is_bad_input else EXIT_FAILED


def note(text: str) -> None:
    """Print a line on standard error, for who has not said --quiet."""
    if LOG.isEnabledFor(logging.INFO):
        print(text, file=sys.stderr, flush=True)


class SignalEvent(threading.Event):
    """An event that a handler may set while its own thread waits: in a plain one that may hang."""

    is_interrupted = False
    """Whether Ctrl-C has ended the command that runs."""

    def __init__(self) -> None:
        super().__init__()
        self._happened = False
        self._read, self._write = os.pipe()

    def set(self) -> None:  # noqa: A003
        if not self._happened:
            self._happened = True
            os.write(self._write, b'x')

    def is_set(self) -> bool:
        return self._happened

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or for a time [s]; return whether it is."""
        if not self._happened:
            left_s = None if timeout is None else max(timeout, 0.0)
            select.select([self._read], [], [], left_s)
        return self._happened


def stop_on_signals(is_of_graph: bool = False) -> threading.Event:
    """Return an event that Ctrl-C, SIGTERM and a closed terminal set, the last not under nohup."""
    stopping = SignalEvent()

    def stop(number: int, frame: object) -> None:
        SignalEvent.is_interrupted |= number == signal.SIGINT and not is_of_graph
        stopping.set()

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    for number in numbers:
        signal.signal(number, stop)
    return stopping


def reason(err: Exception) -> str:
    """Return in one line what happened, and where if it is a mistake of ours."""
    text = ' '.join(str(err).split()) or type(err).__name__
    if isinstance(err, OSError):
        known = err.strerror or text
        return known if err.filename is None else f'{err.filename}: {known}'
    if isinstance(err, RuntimeError):
        return text
    place = traceback.extract_tb(err.__traceback__)[-1]
    return f'{type(err).__name__}: {text} ({place.filename}:{place.lineno})'


Advance = Callable[..., object]
"""
`advance(count, is_free=False, *, note='', total=None)` counts what was done since its last call.

What is free, and the time since the last call, do not define a rate. A note is shown beside the
count. The total may become known only now.
"""


@contextmanager
def progress(
    title: str, total: int | None, stream: TextIO | None = None, unit: str = 'frame'
) -> Iterator[Advance]:
    """Yield an Advance; a `total` of None is not known yet, the stream is standard error."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty() or not LOG.isEnabledFor(logging.INFO):
        yield lambda *_, **__: None
        return
    from tqdm import tqdm

    # no smoothing: the rate is that of all that was not free
    with tqdm(total=total, desc=title, unit=unit, file=stream, leave=False, smoothing=0.0) as bar:
        last = time.time()

        def advance(
            count: int, is_free: bool = False, /, *, note: str = '', total: int | None = None
        ) -> None:
            nonlocal last
            bar.total = bar.total if total is None else total
            passed_s, last = time.time() - last, time.time()
            if is_free:
                bar.initial += count
                bar.start_t += passed_s
            if note:
                bar.set_postfix_str(note, refresh=False)
            bar.update(count)

        yield advance
