# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where a page is served, and bodies on it, which send no more than what has changed."""

import socket
from urllib.request import urlopen

import numpy as np
from puppet_core import named_files
from puppet_core.body.character import load_character
from puppet_core.body.posture import world_segments
from puppet_core.io import ConfigError
from puppet_core.math import quaternions
from puppet_core.robots.description import merged_parts, Part, read_shape, urdf_text
import pytest

pytest.importorskip('viser', reason='viser is not installed')

from puppet_view.browser.body import BodyNodes  # noqa: E402,I100
from puppet_view.browser.stage import BrowserStage, PREFERRED_PORT  # noqa: E402

CHARACTERS = named_files.DATA / 'characters'
SALLY = load_character(CHARACTERS / 'sally.yaml')


@pytest.fixture
def stage():
    opened = BrowserStage()
    yield opened
    opened.close()


def _posture(seed):
    rng = np.random.default_rng(seed)
    rotations = quaternions.exp(rng.normal(size=(1, 16, 3)))
    q_world, p_world = world_segments(SALLY.skeleton, rng.normal(size=(1, 3)), rotations)
    return q_world[0], p_world[0]


def _sent(stage, monkeypatch):
    sent = []
    scene = stage.server.scene
    queue = scene._queue_scene_message

    def keep(message):
        sent.append(message)
        queue(message)

    monkeypatch.setattr(scene, '_queue_scene_message', keep)
    return sent


def test_any_place_of_a_segment_is_shown(stage):
    """Recorded segments need not keep their distances."""
    body = BodyNodes(stage.server.scene, 'body')
    q_world, p_world = _posture(1)
    p_world = p_world + np.random.default_rng(2).normal(size=p_world.shape)
    body.move(q_world, p_world)
    np.testing.assert_allclose(body.places(), p_world, atol=1e-4)


def test_posture_is_seventeen_messages_and_a_still_one_none(stage, monkeypatch):
    body = BodyNodes(stage.server.scene, 'body')
    body.move(*_posture(0))
    sent = _sent(stage, monkeypatch)
    body.move(*_posture(1))
    assert len(sent) == 17  # sixteen orientations, one place
    sent.clear()
    body.move(*_posture(1))
    assert sent == []


def test_a_robots_meshes_hang_on_its_links(stage):
    body = BodyNodes(stage.server.scene, 'body')
    body.set_parts([Part(3, (1.0, 0.0, 0.0), np.eye(3), np.array([[0, 1, 2]]), link=7)])
    q, p = np.tile((0.0, 1.0, 0.0, 0.0), (8, 1)), np.arange(24.0).reshape(8, 3)
    body.move_links(q, p)
    body.set_caption('robot')
    above = body.parts[0][1].name.rsplit('/', 1)[0]
    frame = stage.server.scene.get_handle_by_name(above)
    np.testing.assert_allclose(frame.position, p[7])
    np.testing.assert_allclose(frame.wxyz, q[7])


def test_importance_turns_colours_only_where_it_changed(stage, monkeypatch):
    body = BodyNodes(stage.server.scene, 'body')
    body.set_parts(merged_parts(read_shape(urdf_text(SALLY))))
    before = [handle.color for _, handle in body.parts]
    body.set_importance(np.zeros(4))
    assert [handle.color for _, handle in body.parts] == before
    body.set_importance(np.array([1.0, 0.0, 0.0, 0.0]))
    segments = {
        part.segment for (part, handle), old in zip(body.parts, before) if handle.color != old
    }
    assert segments == {5, 6}  # forearm and hand
    body.set_caption('sally')
    body.set_caption('')


@pytest.mark.parametrize('host', ['192.0.2.77', 'no such host', 'a' * 80])
def test_a_host_that_is_not_here_is_refused(host):
    with pytest.raises(ConfigError, match='--host: expected a name or address of this machine'):
        BrowserStage(host)


def test_a_taken_port_is_not_served_twice():
    with socket.socket() as other:
        # else connections that were closed a moment ago keep the port from us alone
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(('127.0.0.1', PREFERRED_PORT))
        except OSError:
            pass  # somebody else has it, which is as good
        else:
            other.listen()
        stage = BrowserStage('localhost')
        try:
            assert stage.server.get_port() != PREFERRED_PORT
            with urlopen(stage.address, timeout=30.0) as answer:
                assert answer.status == 200
        finally:
            stage.close()
