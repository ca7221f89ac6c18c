# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the pages of clips and of recordings share: the time line, a row of bodies, a loop."""

from collections.abc import Callable, Sequence
from queue import SimpleQueue
import time
from typing import Any

import numpy as np
from puppet_core.io import PuppetError
from puppet_core.math import Quats, Vec3, Vec3s
from puppet_core.math.quaternions import rotate
from puppet_core.procedural import heading
from puppet_view.browser import panel as panels
from puppet_view.browser.body import BodyNodes
from puppet_view.browser.stage import BrowserStage
from puppet_view.recording import frame_at, RecordedBody
import viser

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0)
FRAME, PLAY, STEP, SPEED, ARRANGE = 'frame', 'play', 'step', 'speed', 'arrange'
PERIOD_S = 1.0 / 60.0  # of drawing
SHOW_PERIOD_S = 0.1  # while time runs; the panel costs a browser more than the bodies
SIDE_STEP_M = 1.5  # between neighbours in the row
FOLLOW_FRACTION = 0.15  # of the way to the bodies that the stage moves in a frame

FORWARD, UP = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
STRAIGHT, SOME_WAY_M = 2.0, 0.5  # a way so much longer than wide has a direction
CENTRE_M = 0.85  # height of the point that the camera faces
NEAREST_M, METRES_A_BODY = 4.6, 1.9  # how far away the camera stands
SIDEWAYS, HIGH = 0.45, 0.22  # from where it looks, as fractions of that


class Playback:
    """The present time of what is shown together: it runs at some speed, stands, is set."""

    def __init__(self, n_frames: int, rate_hz: float) -> None:
        self.n_frames = n_frames
        self._rate_hz = rate_hz
        self._frames = 0.0
        self.is_playing = False
        self.speed = 1.0  # seconds of the clip in a second

    @property
    def frame(self) -> int:
        return int(self._frames)

    @property
    def time_s(self) -> float:
        """Return the present frame's time in the clip [s]."""
        return self.frame / self._rate_hz

    def seek(self, frame: int) -> None:
        """Go to a frame, or to the nearest that there is."""
        self._frames = float(min(max(frame, 0), self.n_frames - 1))

    def step(self, elapsed_s: float) -> int:
        """Let time run, if it does, and return the frame; after the last comes the first."""
        if self.is_playing:
            self._frames = (self._frames + self.speed * elapsed_s * self._rate_hz) % self.n_frames
        return self.frame


class PlayedPanel(panels.QuietPanel):
    """A slider to scrub with, play, step, speed; and how the bodies are seen."""

    def __init__(self, gui: viser.GuiApi, put: Callable[[str, Any], None], n_frames: int) -> None:
        super().__init__(gui, 'puppet view', put)
        self._gui = gui
        self._shown_at, self._was_playing = -1.0, False
        last = max(n_frames - 1, 1)
        self.frame = gui.add_slider('frame', min=0, max=last, step=1, initial_value=0)
        self._clock = panels.HtmlText(gui, panels.rich_html('0.00 s'))
        self.play = gui.add_button('play')
        self.step = gui.add_button_group('step', ('-1', '+1'))
        self.speed = gui.add_dropdown('speed', tuple(f'{s:g}' for s in SPEEDS), initial_value='1')
        self.connect(FRAME, self.frame)
        self.connect(SPEED, self.speed)
        self.play.on_click(lambda _: put(PLAY, None))
        self.step.on_click(lambda event: put(STEP, int(event.target.value)))

    def add_view(self, n_bodies: int, name: str) -> None:
        """Add how the bodies are seen; the screenshot's file begins with a name."""
        gui, is_row = self._gui, n_bodies > 1
        self.side = gui.add_checkbox('side by side', is_row, visible=is_row)
        self.names = gui.add_checkbox('names', is_row)
        self.follow = gui.add_checkbox('follow', True)
        self.screenshot = panels.ScreenshotButton(gui, name)
        for box in (self.side, self.names):
            self.connect(ARRANGE, box)

    def show_time(self, playback: Playback) -> bool:
        """Show the present frame, while time runs only now and then; return whether now."""
        now = time.monotonic()
        if playback.is_playing and self._was_playing and now - self._shown_at < SHOW_PERIOD_S:
            return False
        self._shown_at, self._was_playing = now, playback.is_playing
        with self.silently():
            panels.set_if_other(self.frame, 'max', max(playback.n_frames - 1, 1))
            panels.set_if_other(self.frame, 'value', playback.frame)
            panels.set_if_other(self.play, 'label', 'pause' if playback.is_playing else 'play')
        self._clock.show(panels.rich_html(f'{playback.time_s:.2f} s'))
        return True


class PlayedPage:
    """A page whose bodies, at least one, move in time; what else is on it is its subclasses'."""

    panel: PlayedPanel

    def __init__(self, stage: BrowserStage, tracks: Sequence[RecordedBody]) -> None:
        self._stage, self._tracks = stage, list(tracks)
        self._events: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._drawn: tuple[object, ...] = ()
        self.playback = Playback(1, tracks[0].rate_hz)
        self.playback.n_frames = self._count_frames()
        n_bodies = len(self._tracks)
        names = [track.name for track in tracks]
        self.captions = [
            f'{name} {names[:i].count(name) + 1}' if names.count(name) > 1 else name
            for i, name in enumerate(names)
        ]
        self.bodies = [BodyNodes(stage.server.scene, f'body{i}') for i in range(n_bodies)]
        """In the order of the row."""
        for body, track in zip(self.bodies, self._tracks):
            body.set_parts(track.parts(), is_pale=track.is_performer and n_bodies > 1)
        first = self._tracks[0]
        self._row, front = row_direction(first.q_world[0, 0], first.p_world[:, 0])
        look_at_row(stage, self._row, front, n_bodies)
        self._shifts = np.zeros((n_bodies, 3))

    def put(self, name: str, value: Any = None) -> None:
        """Report an event; from any thread."""
        self._events.put((name, value))

    def run(self) -> None:
        then = time.monotonic()
        while True:
            time.sleep(PERIOD_S)
            now = time.monotonic()
            self.step(now - then)
            then = now

    def step(self, elapsed_s: float) -> None:
        """Do what was asked for, let time run, and draw."""
        while not self._events.empty():
            name, value = self._events.get()
            try:
                self._do(name, value)
            except (PuppetError, OSError) as err:
                self._show_error(str(err))
            self._drawn = ()
        self.playback.step(elapsed_s)
        self._draw()

    def _do(self, name: str, value: Any) -> None:
        playback = self.playback
        if name in (FRAME, STEP):
            playback.is_playing = False
            playback.seek(int(value) + (playback.frame if name == STEP else 0))
        elif name == PLAY:
            playback.is_playing = not playback.is_playing
        elif name == SPEED:
            playback.speed = float(value)
        elif name == ARRANGE:
            self._arrange()

    def _show_error(self, text: str) -> None:
        """Show why an event was refused."""

    def _count_frames(self) -> int:
        """Return the frames of the longest track, at the first one's rate."""
        last_s = max(float(track.times_s[-1]) for track in self._tracks)
        return round(last_s * self._tracks[0].rate_hz) + 1

    def _origins(self) -> list[Vec3]:
        """Return the place of each body that the row brings to that of the first."""
        raise NotImplementedError

    def _arrange(self) -> None:
        origins = self._origins()
        step = SIDE_STEP_M if self.panel.side.value else 0.0
        for i, (body, caption) in enumerate(zip(self.bodies, self.captions)):
            aside = (origins[0] - origins[i]) * (1.0, 1.0, 0.0)
            self._shifts[i] = body.world.position = aside + i * step * self._row
            body.set_caption(caption if self.panel.names.value else '')

    def _places(self) -> Vec3s:
        """Return where the bodies are now, shape (n, 3) [m]."""
        time_s = self.playback.time_s
        roots = [track.p_world[frame_at(track.times_s, time_s), 0] for track in self._tracks]
        return self._shifts + roots

    def _draw(self) -> None:
        state = (self.playback.frame, self.playback.is_playing)
        with self._stage.at_once():
            if state != self._drawn:
                self._drawn = state
                for body, track in zip(self.bodies, self._tracks):
                    move_to(body, track, self.playback.time_s)
                self._show(self.panel.show_time(self.playback))
            if self.panel.follow.value:
                self._follow()

    def _follow(self) -> None:
        self._stage.follow(self._places(), FOLLOW_FRACTION)

    def _show(self, is_time_shown: bool) -> None:
        """Draw what else there is of the present frame, numbers only if its time is shown."""
        raise NotImplementedError


def move_to(body: BodyNodes, track: RecordedBody, time_s: float) -> None:
    """Put a body as it was recorded at a time [s]."""
    frame = frame_at(track.times_s, time_s)
    place = track.q_world[frame], track.p_world[frame]
    body.move(*place)
    if track.robot is not None:
        body.move_links(*track.robot.poses(*place))


def row_direction(q_root: Quats, roots: Vec3s) -> tuple[Vec3, Vec3]:
    """
    Return unit vectors on the level: from left to right as seen, and to who looks at it.

    `q_root` is how the pelvis stands in world at first, `roots` where it is, shape (n, 3) [m].
    """
    face = rotate(heading(q_root), FORWARD)
    way = np.ptp(roots[:, :2], axis=0)
    is_straight = way.max() > STRAIGHT * way.min() + SOME_WAY_M
    row = np.eye(3)[int(np.argmin(way if is_straight else abs(face[:2])))]
    front = np.cross(row, UP)
    return (-row, -front) if front @ face < 0.0 else (row, front)


def look_at_row(stage: BrowserStage, row: Vec3, front: Vec3, n_bodies: int) -> None:
    """Look at a row of bodies around the origin of the floor."""
    away = max(NEAREST_M, METRES_A_BODY * (n_bodies + 0.8))
    target = CENTRE_M * UP
    place = target + away * (front + SIDEWAYS * row + HIGH * UP)
    stage.look(tuple(place.tolist()), tuple(target.tolist()))
