# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_cue`: sets of parameters that the running nodes take at a word."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
import sys
import time

from puppet_core.cue_file import Cue, load_cues
from puppet_core.io import CommandParser, ConfigError, EXIT_FAILED, EXIT_OK, run_command
from puppet_ros.cues import CueCaller
from puppet_ros.node import observing
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.utilities import remove_ros_args

NAME = 'puppet_cue'
ANSWER_S = 10.0  # for all nodes: another solver is compiled first
POLL_S = 0.05
EXAMPLE = """\
examples:
  puppet_cue config/cues/demo.yaml               # its cues; Enter calls the next one
  puppet_cue config/cues/demo.yaml 'free hands'  # calls this one"""


def parser() -> argparse.ArgumentParser:
    p = CommandParser(
        prog=NAME,
        epilog=EXAMPLE,
        description='Set parameters of the running nodes from the cues in a file. Without NAME,\n'
        'cues are read from standard input, one name or number per line; Enter alone calls the\n'
        'next one.\n'
        'Exit code 0: all nodes accepted it; 1: a node is missing or refused; 2: bad input.',
    )
    p.add_argument('file', type=Path, metavar='FILE', help='YAML file of cues')
    p.add_argument('name', nargs='?', metavar='NAME', help='cue to call, by name or number')
    text = 'how long to wait for the nodes, default %(default)s'
    p.add_argument('--wait', type=float, default=5.0, metavar='S', help=text)
    return p


class Prompter:
    """Calls cues, and waits for what comes of them."""

    def __init__(self, node: Node, executor: Executor, wait_s: float) -> None:
        self._executor, self._wait_s = executor, wait_s
        self._caller = CueCaller(node)

    def call(self, cue: Cue) -> str:
        """Return '' when all nodes have taken a cue, or why some have not."""
        end = time.monotonic() + self._wait_s
        while self._caller.missing(cue) and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=POLL_S)
        answers: list[str] = []
        self._caller.call(cue, answers.append)
        end = time.monotonic() + ANSWER_S
        while not answers and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=POLL_S)
        return answers[0] if answers else f'{cue.name!r}: no answer within {ANSWER_S:g} s'


def find_cue(cues: Sequence[Cue], word: str) -> Cue:
    """Return a cue by its name, or number from 1; a ConfigError lists them."""
    for number, cue in enumerate(cues, start=1):
        if word in (cue.name, str(number)):
            return cue
    known = ', '.join(cue.name for cue in cues)
    raise ConfigError(f'cue: expected one of {known}, got {word!r}')


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    return run_command(NAME, lambda: _run(words))


def _run(words: Sequence[str]) -> int:
    options = parser().parse_args(remove_ros_args(words))
    if not 0.0 <= options.wait <= 600.0:
        raise ConfigError(f'--wait: expected 0 <= value <= 600, got {options.wait}')
    cues = load_cues(options.file)
    one = find_cue(cues, options.name) if options.name else None
    with observing() as (executor, context):
        own = [word for word in words if word not in remove_ros_args(words)]
        node = Node(NAME, context=context, cli_args=own, start_parameter_services=False)
        executor.add_node(node)
        try:
            prompter = Prompter(node, executor, options.wait)
            if one is not None:
                return _call(prompter, one)
            for number, cue in enumerate(cues, start=1):
                print(f'{number}: {cue.name}', flush=True)
            return _follow(prompter, cues, sys.stdin)
        finally:
            executor.remove_node(node)
            node.destroy_node()


def _call(prompter: Prompter, cue: Cue) -> int:
    refusal = prompter.call(cue)
    print(f'{NAME}: {refusal}' if refusal else cue.name, flush=True,
          file=sys.stderr if refusal else sys.stdout)  # fmt: skip
    return EXIT_FAILED if refusal else EXIT_OK


def _follow(prompter: Prompter, cues: Sequence[Cue], lines: Iterable[str]) -> int:
    """Call the cue of each line; return whether the last one was taken."""
    code, following = EXIT_OK, 0
    for line in lines:
        try:
            word = line.strip() or str(following % len(cues) + 1)
            cue = find_cue(cues, word)
        except ConfigError as err:
            print(f'{NAME}: {err}', file=sys.stderr, flush=True)
            continue
        following = cues.index(cue) + 1
        code = _call(prompter, cue)
    return code


if __name__ == '__main__':
    sys.exit(main())
