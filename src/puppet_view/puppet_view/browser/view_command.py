# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`view_clip`: clips and bags in the browser, and an edit file made by dragging."""

import argparse
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
import sys

from puppet_core.body import person
from puppet_core.io import check_writable, CommandParser, ConfigError, EXIT_OK, run_command
from puppet_edit import edit_session
from puppet_edit.edit_file import load_edit, load_edit_tree
from puppet_edit.edit_session import EditSession
from puppet_retarget.offline import arguments as clip_arguments
from puppet_view.browser.bag_page import RecordingPage
from puppet_view.browser.clip_page import CLIP, ClipPage
from puppet_view.browser.played_page import PlayedPage
from puppet_view.browser.stage import BrowserStage, is_open, LOOPBACK, OPEN_WARNING
from puppet_view.recording import read_with_puppets, RecordedBody, Recording

NAME = 'puppet view'
MAX_CLIPS = 8
COLOURS = ((0.25, 0.45, 0.75), (0.30, 0.60, 0.42), (0.80, 0.52, 0.25), (0.58, 0.42, 0.68))
EXAMPLE = 'example: ./puppet view walk.bvh --characters sally,blubby'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, listed = parser.add_argument, clip_arguments.listed
    add(
        'clips',
        nargs='+',
        type=clip_arguments.clip_path,
        metavar='FILE',
        help='.bvh, .amc, .c3d, or a bag',
    )
    text = 'puppets to retarget the performance to, names or files'
    add('--characters', type=listed, metavar='A,B', default=(), help=text)
    add('--edit', type=Path, metavar='EDIT.yaml', help='edit file to continue')
    text = 'file that the button writes; default: that of --edit, or CLIP_edit.yaml in this folder'
    add('--write', type=Path, metavar='EDIT.yaml', help=text)
    add('--port', type=int, default=0, help='default: 8080, or any free port')
    add(
        '--host',
        default=LOOPBACK,
        help='address to listen on; default %(default)s: only this machine',
    )
    edit_session.add_reading_arguments(parser)
    clip_arguments.add_tuning_options(parser)


def parser() -> CommandParser:
    p = CommandParser(
        prog=NAME,
        epilog=EXAMPLE,
        description='Show clips and bags in a browser; edit the first clip by dragging.',
    )
    add_arguments(p)
    return p


def open_session(arguments: argparse.Namespace) -> tuple[EditSession, list[RecordedBody]]:
    """Return the session and the clips that a command line asks for, or raise PuppetError."""
    path = _write_path(arguments)
    motions = [edit_session.read_clip(clip, arguments) for clip in arguments.clips]
    clips = [
        RecordedBody.of_motion(CLIP, motion, person(clip.stem, motion.skeleton, colour))
        for clip, motion, colour in zip(arguments.clips, motions, cycle(COLOURS))
    ]
    readers = edit_session.readers(arguments)
    tree = None
    if arguments.edit:
        load_edit(arguments.edit, motions[0], readers)  # an error has the file's own lines
        tree = load_edit_tree(arguments.edit)
    return EditSession(motions[0], readers, tree, path), clips


def _write_path(arguments: argparse.Namespace) -> Path:
    """Return the file that the button writes; never one that somebody has made without it."""
    path = arguments.write or arguments.edit
    if path is None:
        path = Path(f'{arguments.clips[0].stem}_edit.yaml')
    if path.suffix.lower() not in ('.yaml', '.yml'):
        raise ConfigError(f'--write: expected a .yaml file, got {str(path)!r}')
    if arguments.edit is None and path.exists():
        raise ConfigError(
            f'--write: expected a new file, got {str(path)!r}, which exists; '
            f'go on with it by --edit {path}'
        )
    if arguments.edit and path.resolve().parent != arguments.edit.resolve().parent:
        raise ConfigError(
            '--write: expected a file beside --edit, whose own files are named from its folder, '
            f'got {str(path)!r}'
        )
    check_writable(path, '--write')
    return Path(path)


def run(arguments: argparse.Namespace) -> str:
    """Serve the page until Ctrl-C; return nothing more to tell."""
    for option, values in (('FILE', arguments.clips), ('--characters', arguments.characters)):
        if len(values) > MAX_CLIPS:
            raise ConfigError(f'{option}: expected at most {MAX_CLIPS}, got {len(values)}')
    if arguments.characters or any(clip_arguments.is_bag(path) for path in arguments.clips):
        recordings = open_recordings(arguments)
        _serve(arguments, lambda stage: RecordingPage(stage, recordings))
        return ''
    if arguments.environment or arguments.world_scale or arguments.settings:
        raise ConfigError(
            '--environment, --world-scale, --set: expected --characters with these, got none'
        )
    session, clips = open_session(arguments)
    try:
        _serve(arguments, lambda stage: ClipPage(stage, session, clips))
    finally:
        if not session.is_saved and session.can_undo:
            print(f'{session.path}: not written since the last drag', file=sys.stderr)
    return ''


def open_recordings(arguments: argparse.Namespace) -> list[Recording]:
    """Return what a command line asks to view, or raise PuppetError."""
    if arguments.edit or arguments.write:
        raise ConfigError(
            '--edit, --write: expected clips and no --characters, got a bag or --characters'
        )
    return [read_with_puppets(path, arguments) for path in arguments.clips]


def _serve(arguments: argparse.Namespace, page: Callable[[BrowserStage], PlayedPage]) -> None:
    stage = BrowserStage(arguments.host, arguments.port)
    try:
        view = page(stage)
        print(f'open {stage.address} in a browser', flush=True)
        if is_open(arguments.host):
            print(f'{NAME}: {OPEN_WARNING}', file=sys.stderr, flush=True)
        view.run()
    finally:
        stage.close()


def main(argv: Sequence[str] | None = None) -> int:
    def serve() -> int:
        run(parser().parse_args(argv))
        return EXIT_OK

    return run_command(NAME, serve)


if __name__ == '__main__':
    sys.exit(main())
