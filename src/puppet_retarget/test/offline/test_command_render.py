# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip render: pictures of the promised size, and what it refuses."""

from collections.abc import Callable
from pathlib import Path
import shlex

from PIL import Image
from puppet_retarget.offline import command_render
import pytest

pytestmark = pytest.mark.ros


def test_instant_is_a_wide_picture(run: Callable, walk_bvh: Path, tmp_path: Path) -> None:
    out = tmp_path / 'i.png'
    done = run(
        'render', walk_bvh, '--frame', 20, '--width-px', 200, '-o', out,
        '--characters', 'performer,sally',
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.out == f'{out}: 200 x 112 pixels, frame 20\n'
    with Image.open(out) as picture:
        assert picture.size == (200, 112)


def test_strip_has_a_row_for_each_body(run: Callable, walk_bvh: Path, tmp_path: Path) -> None:
    heights = []
    for characters in ('performer', 'performer,blubby'):
        out = tmp_path / f'{characters}.png'
        done = run(
            'render', walk_bvh, '--strip', 3, '--width-px', 200, '-o', out,
            '--characters', characters, '--first', 30, '--last', 89,
        )  # fmt: skip
        assert done.code == 0, done.err
        assert done.out.endswith('frame 40, 60, 80\n')
        with Image.open(out) as picture:
            heights.append(picture.size[1])
    assert heights[1] >= 2 * heights[0]


def test_example_of_the_help_runs(
    run: Callable, walk_bvh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'walk.bvh').write_bytes(walk_bvh.read_bytes())
    words = shlex.split(command_render.EXAMPLE.removeprefix('example: ./puppet '))
    done = run(*words, '--width-px', 250)
    assert done.code == 0, done.err
    assert (tmp_path / 'walk.png').is_file()


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (('-o', 'x.jpg'), "--out: expected a .png file, got 'x.jpg'"),
        (('-o', 'x.png', '--frame', '120'), 'frames: expected 0 .. 119, got 120'),
        (('-o', 'x.png', '--strip', '0'), '--strip: expected 1 <= N <= 24, got 0'),
        (('-o', 'x.png', '--strip', '3', '--frame', '1'), 'not allowed with argument'),
        (('-o', 'x.png', '--strip', '3', '--first', '90', '--last', '200'), 'expected 0 .. 119'),
        (('-o', 'x.png', '--strip', '3', '--first', '90', '--last', '20'), '--first'),
        (('-o', 'x.png', '--width-px', '10'), '--width-px: expected 200 <= value'),
        (('-o', 'x.png', '--procedural'), 'expected a clip or --procedural, got both'),
        (('-o', 'x.png', '--characters', 'nobody'), "path of a YAML file, got 'nobody'"),
        ((), 'the following arguments are required: -o/--out'),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, tuple) else '',
)
def test_what_does_not_fit_is_refused(
    run: Callable, walk_bvh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...], says: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    done = run('render', walk_bvh, *words)
    assert done.code == 2
    assert says in done.err
    assert len(done.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())
