# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip render: pictures of the promised size, and what it refuses."""

import os
import struct

from PIL import Image
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')
from puppet_ros.bags import BagReader, BagWriter  # noqa: E402
from puppet_ros.messages.raw_header import stamp_ns  # noqa: E402

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
        words = f'--strip 3 --width-px 200 --seconds 0.25:0.75 --characters {characters}'
        done = run('render', walk_bvh, '-o', out, *words.split())
        assert done.code == 0, done.err
        assert done.out.endswith('frame 40, 60, 80\n')
        with Image.open(out) as picture:
            assert picture.size[0] == 200
            heights.append(picture.size[1])
    assert heights[1] > 1.8 * heights[0]  # the captions are above both


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (('-o', 'x.jpg'), "--out: expected a .png file, got 'x.jpg'"),
        (('-o', 'x.png', '--frame', '120'), 'frames: expected 0 .. 119, got 120'),
        (('-o', 'x.png', '--strip', '0'), '--strip: expected 1 <= value <= 24, got 0'),
        (('-o', 'x.png', '--strip', '3', '--frame', '1'), 'not allowed with argument'),
        (('-o', 'x.png', '--width-px', '10'), '--width-px: expected 200 <= value'),
        (('-o', 'x.png', '--procedural'), 'expected a clip or --script, got both'),
        (('-o', 'x.png', '--times', '0.1,9'), '--times: expected 0 .. 0.992 s, got 9'),
        (('-o', 'x.png', '--seconds', '0.5:3'), '--seconds: expected 0 <= A < B <= 1.000'),
        (('-o', 'x.png', '--seconds', 'a:3'), 'expected A:B in seconds'),
        (('-o', 'x.png', '--size', '9x9'), 'expected WxH, each 64 .. 8192 pixels'),
        (('-o', 'x.png', '--view', 'front', '--azimuth-deg', '3'), 'got both'),
        (('-o', 'x.png', '--character', 'recorded'), 'expected recorded of a bag only'),
        (('--video', 'x.avi'), "--video: expected a .mp4 or .gif file, got 'x.avi'"),
        (('--video', 'x.gif', '--fps', '60'), '--fps: expected at most 50 for a .gif, got 60'),
        (('--video', 'x.gif', '--speed', '0'), '--speed: expected 0.01 <= value <= 100, got 0'),
        (('--video', 'x.gif', '-o', 'x.png'), '--out: expected either --out or --video, got both'),
        (('-o', 'x.png', '--characters', 'nobody'), "path of a YAML file, got 'nobody'"),
        ((), '--out: expected either --out or --video, got neither'),
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


PREFIXES = os.environ.get('AMENT_PREFIX_PATH', '')  # where the messages are
LATE_NS = 2 * 10**9  # frames from here on, after START_NS, come GAP_NS later
GAP_NS = 14 * 10**9


def later(data):
    """Return a message with a gap before the second half, and its stamp [ns]."""
    stamp = stamp_ns(data)
    stamp += GAP_NS if stamp >= LATE_NS - 500_000_000 else 0
    # CDR: four bytes of encapsulation, then the header's stamp
    return data[:4] + struct.pack('<iI', *divmod(stamp, 10**9)) + data[12:], stamp


@pytest.fixture
def recording(run, walk_bvh, tmp_path, monkeypatch):
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{os.environ["AMENT_PREFIX_PATH"]}:{PREFIXES}')
    out = tmp_path / 'both.mcap'
    written = set()
    with BagWriter(out) as writer:
        for name, space in (('blubby', '/puppet/'), ('sally', '/puppet_2/')):
            path = tmp_path / f'{name}.mcap'
            assert run('retarget', walk_bvh, path, '--character', name).code == 0
            with BagReader(path) as reader:
                found = [(m, m.topic.replace('/puppet/', space)) for m in reader.messages()]
            for message, topic in found:
                if topic in written:
                    continue
                data, stamp = message.data, message.log_ns
                if 'description' not in topic:
                    data, stamp = later(data)
                writer.write(topic, message.type, stamp, data)
            written |= {topic for _, topic in found}
    return out


def test_a_bag_with_a_gap_and_two_puppets_is_drawn(run, recording, tmp_path):
    sizes = []
    for words in ((), ('--character', 'performer'), ('--character', 'recorded')):
        out = tmp_path / 'strip.png'
        shown = '--times 0.2,9,14.9 --width-px 200 --importance --no-labels'
        done = run('render', recording, *shown.split(), '-o', out, *words)
        assert done.code == 0, done.err
        with Image.open(out) as picture:
            sizes.append(picture.size[1])
    one = sizes[1]
    assert sizes[0] > 2.5 * one and 1.8 * one < sizes[2] < sizes[0]  # three rows, one, two
