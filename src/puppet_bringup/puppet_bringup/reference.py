# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet dev reference`: doc/reference.md from the code, and the access policy from its nodes.

Topics, services and frames are those of puppet_ros.interface_table; parameters those of the
nodes in the process table; arguments those of the launch descriptions and of the parsers.

"""

import argparse
from collections.abc import Sequence
import difflib
from importlib import import_module
from pathlib import Path
import sys

from puppet_bringup.reference_commands import command_lines
from puppet_bringup.reference_messages import message_lines
from puppet_bringup.reference_nodes import (
    frame_lines,
    launch_lines,
    parameter_lines,
    service_lines,
    topic_lines,
)
from puppet_bringup.security_policy import current_policy, POLICY
from puppet_core.atomic_file import write_text
from puppet_core.errors import ConfigError, PuppetError

EXIT_OK, EXIT_FAILED, EXIT_BAD_INPUT = 0, 1, 2
PAGE = Path('doc') / 'reference.md'
TOOLS = Path('tools')
COMMANDS = 'puppet_setup.commands'
MESSAGES, KINDS = Path('src') / 'puppet_msgs', ('msg', 'srv')
SHOWN_DIFFERENCES = 20
EXAMPLE = """\
examples:
  ./puppet dev reference --write
  ./puppet dev reference --check"""
HEAD = """\
# Reference

Written from the code by `./puppet dev reference --write`; a test fails where it differs, or where
the running nodes have a topic, service or parameter that is not in it. What they mean together is
in [topics.md](topics.md)."""
PARAMETERS_HEAD = """\
The files in `config/`, one for each node, set them. A *live* parameter may be changed with
`ros2 param set`; an unknown name or a value out of its range is refused with a text that names it.
Every node has `use_sim_time` besides, which is ROS's own."""
SERVICES_HEAD = """\
Every node has ROS's services for parameters besides, and `tracker_driver` those of a lifecycle
node."""
FRAMES_HEAD = 'All frames follow REP-103. `<segment>` is one of the names in the message Posture.'
LAUNCH_HEAD = """\
`./puppet up DESCRIPTION NAME:=VALUE ..`, or `ros2 launch puppet_bringup DESCRIPTION.launch.py`.
Without a default, the parameter file's value stays."""


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(
        prog='puppet dev reference',
        description=f'Write {PAGE} of this checkout from the code, or print it; with it {POLICY}, '
        'for which all nodes run for some seconds. Exit code 0: done, or as it should be; '
        '1: one differs; 2: bad input.',
        epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    does = p.add_mutually_exclusive_group()
    does.add_argument('--write', action='store_true', help='write both')
    does.add_argument('--check', action='store_true', help='tell where they differ')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    options = parser().parse_args(argv)
    try:
        root = checkout()
        text = reference_text(root)
        if not (options.write or options.check):
            print(text, end='')
            return EXIT_OK
        texts = {PAGE: text, POLICY: current_policy()}
        if options.check:
            codes = [_check(root, path, text) for path, text in texts.items()]
            return max(codes)
        for path, text in texts.items():
            write_text(root / path, text)
    except PuppetError as err:
        print(f'puppet dev reference: {err}', file=sys.stderr)
        return EXIT_BAD_INPUT
    except OSError as err:
        print(f'puppet dev reference: {err}', file=sys.stderr)
        return EXIT_FAILED
    return EXIT_OK


def checkout() -> Path:
    """
    Return the checkout around the working directory, or the one that this module stands in.

    Raises
    ------
    ConfigError : if there is none.

    """
    here = Path.cwd()
    for folder in (here, *here.parents, *Path(__file__).resolve().parents):
        if (folder / TOOLS / 'puppet_setup' / 'commands.py').is_file():
            return folder
    raise ConfigError(f'working directory: expected one in a checkout, got {str(here)!r}')


def reference_text(root: Path) -> str:
    """
    Return the page.

    Raises
    ------
    ConfigError : if a program is not installed, or says nothing of its arguments or parameters.

    """
    for folder in (root / TOOLS, root, root / 'test'):  # of the commands and what they start
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    messages = [path for kind in KINDS for path in sorted((root / MESSAGES / kind).iterdir())]
    lines = [HEAD, '']
    for title, head, body in (
        ('Topics', '', topic_lines()),
        ('Services', SERVICES_HEAD, service_lines()),
        ('Frames', FRAMES_HEAD, frame_lines()),
        ('Messages', '', [line for path in messages for line in message_lines(path)]),
        ('Parameters', PARAMETERS_HEAD, parameter_lines()),
        ('Launch arguments', LAUNCH_HEAD, launch_lines()),
        ('Commands', '', command_lines(import_module(COMMANDS))),
    ):
        lines += [f'## {title}', '', *([head, ''] if head else []), *body]
    return '\n'.join(lines).rstrip('\n') + '\n'


def _check(root: Path, path: Path, text: str) -> int:
    file = root / path
    written = file.read_text(encoding='utf-8') if file.exists() else ''
    if written == text:
        return EXIT_OK
    changes = difflib.unified_diff(
        written.splitlines(), text.splitlines(), str(path), 'the code', lineterm='', n=0
    )
    lines = list(changes)
    print('\n'.join(lines[:SHOWN_DIFFERENCES]))
    if len(lines) > SHOWN_DIFFERENCES:
        print(f'.. and {len(lines) - SHOWN_DIFFERENCES} more lines')
    print(f'{path} is not what the code gives; write it with: ./puppet dev reference --write',
          file=sys.stderr)  # fmt: skip
    return EXIT_FAILED


if __name__ == '__main__':
    sys.exit(main())
