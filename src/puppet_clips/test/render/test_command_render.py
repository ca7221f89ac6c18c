# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip render: pictures of the promised size, and what it refuses."""

from PIL import Image
import pytest

pytestmark = pytest.mark.ros


def test_instant_is_a_wide_picture(run, walk_bvh, tmp_path):
    out = tmp_path / 'i.png'
    words = '--frame 20 --width-px 200 --characters performer,sally'
    done = run('render', walk_bvh, '-o', out, *words.split())
    assert done.code == 0, done.err
    assert done.out == f'{out}: 200 x 112 pixels, frame 20\n'
    with Image.open(out) as picture:
        assert picture.size == (200, 112)


def test_strip_has_a_row_for_each_body(run, walk_bvh, tmp_path):
    heights = []
    for characters in ('performer', 'performer,blubby'):
        out = tmp_path / f'{characters}.png'
        words = f'--strip 3 --width-px 200 --first 30 --last 89 --characters {characters}'
        done = run('render', walk_bvh, '-o', out, *words.split())
        assert done.code == 0, done.err
        assert done.out.endswith('frame 40, 60, 80\n')
        with Image.open(out) as picture:
            heights.append(picture.size[1])
    assert heights[1] > 1.8 * heights[0]  # the captions are above both


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (('-o', 'x.jpg'), "--out: expected a .png file, got 'x.jpg'"),
        (('-o', 'x.png', '--frame', '120'), 'frames: expected 0 .. 119, got 120'),
        (('-o', 'x.png', '--strip', '0'), '--strip: expected 1 <= value <= 24, got 0'),
        (('-o', 'x.png', '--strip', '3', '--frame', '1'), 'not allowed with argument'),
        (('-o', 'x.png', '--strip', '3', '--first', '90', '--last', '200'), 'expected 0 .. 119'),
        (('-o', 'x.png', '--strip', '3', '--first', '90', '--last', '20'), '--first'),
        (('-o', 'x.png', '--width-px', '10'), '--width-px: expected 200 <= value'),
        (('-o', 'x.png', '--procedural'), 'expected a clip or --procedural, got both'),
        (('-o', 'x.png', '--times', '0.1,9'), '--times: expected 0 .. 0.992 s, got 9'),
        (('-o', 'x.png', '--seconds', '0.5:3'), '--seconds: expected 0 <= A < B <= 1.000'),
        (('-o', 'x.png', '--seconds', 'a:3'), 'expected A:B in seconds'),
        (('-o', 'x.png', '--size', '9x9'), 'expected WxH, each 64 .. 8192 pixels'),
        (('-o', 'x.png', '--view', 'front', '--azimuth-deg', '3'), 'got both'),
        (('-o', 'x.png', '--strip', 'five'), "--strip: expected a whole number, got 'five'"),
        (('x.png', '--strip', '2', 'y.png'), "PNG: expected one, got 'x.png' and 'y.png'"),
        (('-o', 'x.png', '--character', 'recorded'), 'expected recorded of a bag only'),
        (('--video', 'x.avi'), "--video: expected a .mp4 or .gif file, got 'x.avi'"),
        (('--video', 'x.gif', '--fps', '60'), '--fps: expected at most 50 for a .gif, got 60'),
        (('--video', 'x.gif', '--speed', '0'), '--speed: expected 0.01 <= value <= 100, got 0'),
        (('--video', 'x.gif', '-o', 'x.png'), 'expected one of PNG, -o/--out and --video'),
        (('-o', 'x.png', '--characters', 'nobody'), "path of a YAML file, got 'nobody'"),
        ((), 'PNG: expected one of PNG, -o/--out and --video, got none'),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, tuple) else '',
)
def test_bad_arguments_are_refused(run, walk_bvh, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    done = run('render', walk_bvh, *words)
    assert done.code == 2
    assert says in done.err
    assert len(done.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())
