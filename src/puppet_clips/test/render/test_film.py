# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Films: as many frames as promised, of the promised size and instants, whole or not at all."""

import sys

import numpy as np
from PIL import Image
from puppet_core.drawing import save_png
from puppet_core.io import ConfigError
from puppet_view.render import film
import pytest

pytestmark = pytest.mark.ros


def test_too_many_frames_are_refused():
    with pytest.raises(ConfigError, match='--video: expected at most 100000 frames'):
        film.film_instants(0.0, 1e6, 30.0)


def test_an_mp4_has_what_was_promised(run, walk_bvh, tmp_path):
    av = pytest.importorskip('av', reason='av, an optional package, is not installed')
    out = tmp_path / 'walk.mp4'
    words = '--size 161x91 --character performer --fps 15 --seconds 0.2:0.8 --no-labels'
    done = run('render', walk_bvh, '--video', out, *words.split())
    assert done.code == 0, done.err
    assert done.out == f'{out}: 162 x 92 pixels, 9 frames, 0.60 s at 15 a second\n'
    with av.open(str(out)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == 'h264'
        assert stream.codec_context.pix_fmt == 'yuv420p'
        frames = [frame.to_ndarray(format='rgb24') for frame in container.decode(stream)]
        assert stream.average_rate == 15
    assert [frame.shape for frame in frames] == [(92, 162, 3)] * 9
    data = out.read_bytes()
    assert 0 < data.index(b'moov') < data.index(b'mdat')  # browsers begin before the end
    assert list(tmp_path.iterdir()) == [out]


def test_a_gif_has_what_was_promised(run, walk_bvh, tmp_path):
    out = tmp_path / 'walk.gif'
    words = '--size 120x90 --character performer --fps 12 --speed 0.5 --camera fixed'
    done = run('render', walk_bvh, '--video', out, *words.split())
    assert done.code == 0, done.err
    assert '24 frames' in done.out
    with Image.open(out) as picture:
        assert picture.size == (120, 90)
        assert picture.n_frames == 24
        assert picture.info['loop'] == 0
        durations = []
        for i in range(picture.n_frames):
            picture.seek(i)
            durations.append(picture.info['duration'])
    assert sum(durations) == pytest.approx(2000, abs=10)  # the rate is kept over all frames
    assert set(durations) <= {80, 90}


def test_interrupted_film_leaves_no_file(run, walk_bvh, tmp_path, monkeypatch):
    drawn = []

    def interrupted(scenes, i, *others):
        drawn.append(i)
        if i == 3:
            raise KeyboardInterrupt
        return np.zeros((90, 120, 3), dtype=np.uint8)

    monkeypatch.setattr(film.LineUp, 'picture', interrupted)
    out = tmp_path / 'walk.gif'
    out.write_bytes(b'old')
    done = run('render', walk_bvh, '--video', out, '--size', '120x90', '--character', 'performer')
    assert done.code == 130 and 'interrupted' in done.err
    assert [path.name for path in tmp_path.iterdir()] == ['walk.gif']
    assert out.read_bytes() == b'old'
    assert len(drawn) < 20


def test_a_gif_too_large_for_memory_is_refused_before_it_is_drawn(run, walk_bvh, tmp_path):
    out = tmp_path / 'x.gif'
    done = run('render', walk_bvh, '--video', out, '--size', '8192x8192', '--fps', '50')
    assert done.code == 2 and 'expected at most 22 pictures of 8192 x 8192' in done.err
    assert 'retarget' not in done.out + done.err and not out.exists()


def test_without_av_the_error_says_what_to_install(run, walk_bvh, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'av', None)
    done = run('render', walk_bvh, '--video', tmp_path / 'x.mp4')
    assert done.code == 2
    assert 'expected the package av for .mp4' in done.err and 'pip install av' in done.err


def test_an_output_that_is_the_input_is_refused(run, tmp_path):
    clip = tmp_path / 'a.png'
    save_png(clip, np.zeros((4, 4, 3), dtype=np.uint8))
    done = run('render', clip, '-o', clip)
    assert done.code == 2 and '--out: expected a file other than CLIP' in done.err
