# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of bags: everybody who was recorded, at the recorded times, also across gaps."""

import os
import struct

from PIL import Image
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_ros.bags import BagReader, BagWriter  # noqa: E402
from puppet_ros.messages.raw_header import stamp_ns  # noqa: E402
from puppet_view.recording import read_recording  # noqa: E402

pytestmark = pytest.mark.ros

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


def test_all_puppets_are_seen_at_their_times(recording):
    recorded = read_recording(recording)
    assert [body.who for body in recorded.bodies] == ['performer', 'puppet', 'puppet_2']
    assert [body.name for body in recorded.puppets] == ['blubby', 'sally']
    assert recorded.rate_hz == pytest.approx(120.0, rel=1e-5)
    assert recorded.n_frames == 120 + 14 * 120
    assert recorded.duration_s == pytest.approx(14.0 + 119 / 120.0, abs=1e-6)
    for body in recorded.puppets:
        assert len({capsule.segment for capsule in body.capsules()}) == 16


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
