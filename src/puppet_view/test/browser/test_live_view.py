# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The viewer without a browser: bound to this machine, bodies and solids come and go."""

from pathlib import Path
import socket
import urllib.request

import numpy as np
from puppet_core import named_files
from puppet_core.body.character import load_character
from puppet_core.robots import character_from_urdf, drawn_robot, RobotMap
from puppet_core.robots.description import urdf_text
import pytest

pytest.importorskip('viser', reason='viser is not installed')

from puppet_core.cue_file import Cue  # noqa: E402,I100
from puppet_core.robots.description import merged_parts, read_shape  # noqa: E402
from puppet_view.browser.live_page import Choices, cue_of, LiveView, PERFORMER, PUPPET  # noqa: E402
from puppet_view.browser.stage import BrowserStage, is_open, SceneSolid  # noqa: E402

pytestmark = pytest.mark.slow

CHARACTERS = named_files.DATA / 'characters'
CUE = Cue('desk', {'importance': {'environment': 'demo'}})
HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'


@pytest.fixture
def view():
    sent = []
    choices = Choices(('blubby', 'sally'), ('floor', 'demo'), (CUE,))
    live = LiveView(lambda name, value: sent.append((name, value)), choices)
    yield live, sent
    live.close()


def _parts(name):
    return merged_parts(read_shape(urdf_text(load_character(CHARACTERS / f'{name}.yaml'))))


def _solid(name, size=0.4):
    place, looks = (np.zeros(3), np.eye(4)[0]), (np.full(3, size), (1.0, 0.0, 0.0, 1.0))
    return SceneSolid('goals', name, 'sphere', *place, *looks)


def test_page_is_served_on_this_machine_only(view):
    live, _ = view
    assert live.address.startswith('http://127.0.0.1:')
    with urllib.request.urlopen(live.address, timeout=10) as answer:
        assert b'<html' in answer.read().lower()
    port = int(live.address.rsplit(':', 1)[1])
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as outside:
        outside.bind(('127.0.0.2', port))  # free: nothing listens on all addresses


def test_bodies_are_made_moved_and_changed(view):
    live, _ = view
    q, p = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1)), np.zeros((16, 3))
    names = ((PERFORMER, 'performer'), (PUPPET, 'blubby'), (PUPPET, 'sally'), ('other', 'frog'))
    for who, name in names:
        live.set_body(who, _parts(name))
        live.move_bodies({who: (q, p + 1.0)})
    live.set_importance(np.array([0.0, 0.3, 1.0, 1.0]))
    for solids in ([_solid('0'), _solid('1')], [_solid('1', 0.8)], []):
        live.set_solids('goals', solids)
        assert set(live._solids['goals']._shown) == {(s.name, s.shape) for s in solids}
    places = [tuple(live._bodies[who].world.position) for who in (PERFORMER, PUPPET, 'other')]
    assert len(set(places)) == 3  # in a row
    assert not live.is_watched


def test_a_robot_is_drawn_where_its_links_are(view, tmp_path):
    live, _ = view
    text = HUMANOID.read_text()
    box = '<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual></link>'
    (tmp_path / 'tin.urdf').write_text(text.replace('</link>', box))
    character = character_from_urdf(tmp_path / 'tin.urdf', RobotMap()).character
    robot = drawn_robot(character)
    live.set_body(PUPPET, robot.parts, 'tin', robot)
    q, p = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1)), character.skeleton.offsets + [0.0, 0.0, 1.0]
    live.move_bodies({PUPPET: (q, p)})
    frames = live._bodies[PUPPET]._links
    assert len(frames) == text.count('</link>')
    for link, frame in frames.items():
        np.testing.assert_allclose(frame.position, robot.poses(q, p)[1][link])
    live.set_body(PUPPET, _parts('sally'))
    live.move_bodies({PUPPET: (q, p)})
    assert not live._bodies[PUPPET]._links


def test_settings_of_the_nodes_are_shown_without_echo(view):
    live, sent = view
    shown = {'prediction_s': 0.2, 'character': 'frog', 'environment': '/x/desk.yaml'}
    live.panel.show_settings({**shown, 'process.q8': 10.0, 'process.q1': 0.0})
    assert sent == []
    values = {name: control.value for name, control in live.panel.controls.items()}
    assert values.items() >= shown.items()
    assert (values['process.q8'], values['process.q1']) == (1.0, -9.0)  # powers of ten


def test_parameters_that_are_always_equal_are_set_together():
    """Shin2002 eq. 3.5: the filter's covariance is symmetric."""
    assert cue_of('process.q2', -2.0).settings == {
        'pose_filter': {'process.q2': 0.01, 'process.q3': 0.01}
    }
    assert cue_of('process.q8', 0.0).settings == {'pose_filter': {'process.q8': 1.0}}
    nodes = cue_of('environment', 'demo').settings
    assert set(nodes) == {'importance', 'retarget*', 'visualization'}


def test_nobody_opens_a_way_in_from_the_internet(view):
    """Any browser may ask the server for it."""
    assert view[0]._stage.server.request_share_url() is None


def test_address_that_listens_everywhere_can_be_opened():
    stage = BrowserStage('0.0.0.0')
    try:
        assert is_open('0.0.0.0') and not is_open('127.0.0.1') and not is_open('localhost')
        with urllib.request.urlopen(stage.address, timeout=10) as answer:
            assert b'<html' in answer.read().lower()
    finally:
        stage.close()
