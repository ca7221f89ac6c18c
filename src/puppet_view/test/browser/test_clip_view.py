# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The clip viewer on its real server: what a browser sends over its socket, and what is shown."""

from contextlib import suppress
import threading
import time

from edit_samples import NO_READERS, walk
import numpy as np
import pytest

viser = pytest.importorskip('viser', reason='viser is not installed')
pytest.importorskip('rclpy', reason='needs ROS 2')

import msgspec  # noqa: E402,I100
from puppet_core.body import person  # noqa: E402
from puppet_edit.edit_session import EditSession  # noqa: E402
from puppet_view.browser.clip_page import CLIP, ClipPage  # noqa: E402
from puppet_view.browser.played_page import Playback  # noqa: E402
from puppet_view.browser.stage import BrowserStage  # noqa: E402
from puppet_view.recording import RecordedBody  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

pytestmark = pytest.mark.ros

DEADLINE_S, POLL_S = 30.0, 0.002
BLUE, GREEN = (0.25, 0.45, 0.75), (0.30, 0.60, 0.42)
CAMERA = {
    'wxyz': [1.0, 0.0, 0.0, 0.0],
    'position': [5.0, 0.0, 1.0],
    'fov': 0.6,
    'near': 0.1,
    'far': 100.0,
    'image_height': 800,
    'image_width': 1280,
    'look_at': [0.0, 0.0, 1.0],
    'up_direction': [0.0, 0.0, 1.0],
}


class Page:
    """A view, its session, and a browser's end of the socket."""

    def __init__(self, view, session, stage):
        self.view, self.session, self.stage = view, session, stage
        self._never = threading.Event()
        self._socket = connect(
            stage.address.replace('http', 'ws'),
            subprotocols=[f'viser-v{viser.__version__}'],
            max_size=None,
        )
        # a browser takes what it is sent; unread messages would stop the server
        threading.Thread(target=self._drain, daemon=True).start()
        self.send('ViewerCameraMessage', **CAMERA)
        assert self.until(lambda: stage.is_watched)

    def _drain(self):
        with suppress(Exception):
            for _ in self._socket:
                pass

    def send(self, kind, **fields):
        self._socket.send(msgspec.msgpack.encode({'type': kind, **fields}))

    def move(self, control, value):
        self.send('GuiUpdateMessage', uuid=control._impl.uuid, updates={'value': value})

    def drag(self, step):
        gizmo = self.view._gizmo
        goal = np.asarray(gizmo.position) + step
        own = {'name': gizmo.name, 'owner': ''}
        self.send('TransformControlsDragStartMessage', **own)
        for share in (0.5, 1.0):
            place = np.asarray(gizmo.position) + share * step if share < 1.0 else goal
            self.send(
                'TransformControlsUpdateMessage',
                position=place.tolist(),
                wxyz=[1.0, 0.0, 0.0, 0.0],
                **own,
            )
        self.send('TransformControlsDragEndMessage', **own)
        return goal

    def until(self, condition, elapsed_s=0.0):
        deadline = time.monotonic() + DEADLINE_S
        while not condition() and time.monotonic() < deadline:
            self.view.step(elapsed_s)
            self._never.wait(POLL_S)
        self.view.step(0.0)
        return condition()

    def close(self):
        self._socket.close()


@pytest.fixture
def page(tmp_path):
    stage = BrowserStage()
    session = EditSession(walk(), NO_READERS, path=tmp_path / 'edit.yaml')
    clips = [
        RecordedBody.of_motion(CLIP, walk(), person(name, walk().skeleton, colour))
        for name, colour in (('walk', BLUE), ('walk', GREEN))
    ]
    opened = Page(ClipPage(stage, session, clips), session, stage)
    assert opened.view.captions == ['walk 1', 'walk 2']
    yield opened
    opened.close()
    stage.close()


def test_slider_scrubs_and_bodies_move(page):
    before = page.view.bodies[0].places()[0]
    page.move(page.view.panel.frame, 40)
    assert page.until(lambda: page.view.playback.frame == 40)
    after = page.view.bodies[0].places()[0]
    np.testing.assert_allclose(after, walk().root_positions[40], atol=2e-5)
    assert np.linalg.norm(after - before) > 0.1


def test_play_runs_through_frames_until_it_is_pressed_again(page):
    """The slider that follows the time does not stop it."""
    view = page.view
    page.move(view.panel.play, True)
    assert page.until(lambda: view.playback.is_playing)
    assert page.until(lambda: view.playback.frame >= 20, elapsed_s=0.01)
    assert view.panel.play.label == 'pause'
    page.move(view.panel.play, True)
    assert page.until(lambda: not view.playback.is_playing)
    assert view.playback.frame >= 20 and view.panel.frame.value == view.playback.frame
    page.move(view.panel.step, '-1')
    before = view.playback.frame
    assert page.until(lambda: view.playback.frame == before - 1)


def test_drag_in_the_browser_edits_the_posture(page):
    page.move(page.view.panel.frame, 30)
    assert page.until(lambda: page.view.playback.frame == 30)
    goal = page.drag(np.array([0.05, 0.0, 0.15]))
    assert page.until(lambda: bool(page.session.entries))
    np.testing.assert_allclose(page.session.place('left_hand', 30), goal, atol=1e-4)
    shown = page.view.bodies[0].places()[6]
    wrist = page.session.edited.world_segments()[1][30, 6]
    np.testing.assert_allclose(shown, wrist, atol=2e-4)
    assert page.view._goals._shown  # the goal is in the picture
    assert 'position left_hand, frame 30' in page.view.panel.list.html


def test_buttons_take_back_and_write(page):
    panel, session = page.view.panel, page.session
    page.drag(np.array([0.0, 0.0, 0.1]))
    assert page.until(lambda: bool(session.entries))
    text = session.to_yaml()
    page.move(panel.steps, 'undo')
    assert page.until(lambda: not session.entries)
    page.move(panel.steps, 'redo')
    assert page.until(lambda: session.to_yaml() == text)
    page.move(panel.save, True)
    assert page.until(lambda: session.is_saved)
    assert session.path.read_text() == text and 'written: ' in panel.status.html
    page.move(panel.chosen, page.view.panel._entries[0])
    page.move(panel.remove, True)
    assert page.until(lambda: len(session.entries) < text.count('position:'))


def test_chosen_point_gets_the_arrows(page):
    page.move(page.view.panel.point, 'head')
    assert page.until(lambda: page.view.point == 'head')
    np.testing.assert_allclose(page.view._gizmo.position, page.session.place('head', 0))
    assert not page.view._handles['head'].visible and page.view._handles['left_hand'].visible


def test_refused_drag_says_why_and_changes_nothing(page):
    page.drag(np.array([50.0, 0.0, 0.0]))
    assert page.until(lambda: 'a place in metres' in page.view.panel.status.html)
    assert not page.session.entries and not page.view._is_dragging
    np.testing.assert_allclose(page.view._gizmo.position, page.session.place('left_hand', 0))


def test_clips_stand_side_by_side_or_in_one_place(page):
    world = page.view.bodies[1].world
    assert np.linalg.norm(world.position) > 1.0
    page.move(page.view.panel.side, False)
    assert page.until(lambda: np.linalg.norm(world.position) < 1e-9)


def test_reach_is_an_option_of_the_file(page):
    before = page.session.plan.config.frames_per_knot
    page.move(page.view.panel.reach, 1.0)
    assert page.until(lambda: page.session.plan.config.frames_per_knot != before)
    assert page.session.plan.config.frames_per_knot == pytest.approx(60.0 / 7.0, abs=1e-3)


def test_time_runs_stands_and_begins_again():
    playback = Playback(60, 30.0)
    assert playback.step(1.0) == 0
    playback.is_playing = True
    assert playback.step(0.5) == 15 and playback.time_s == 0.5
    playback.speed = 2.0
    assert playback.step(0.5) == 45
    assert playback.step(0.5) == 15
    playback.seek(99)
    assert playback.frame == 59
    playback.n_frames = 20
    playback.seek(playback.frame)
    assert playback.frame == 19
