# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the pages of clips and of recordings share: the time line, a row of bodies, a loop.

Controls only report what somebody did with them. These events go into one queue, which a single
loop processes before it advances the time and draws.
"""

from collections.abc import Callable
from queue import SimpleQueue
import time
from typing import Any

import numpy as np
from puppet_core.io import PuppetError
from puppet_core.math import Quats, Vec3, Vec3s
from puppet_core.math.quaternions import rotate
from puppet_core.procedural import heading
from puppet_view.browser.panel import HtmlText, QuietPanel, rich_html, ScreenshotButton
from puppet_view.browser.stage import BrowserStage
import viser

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0)
FRAME, PLAY, STEP, SPEED, ARRANGE = 'frame', 'play', 'step', 'speed', 'arrange'
PERIOD_S = 1.0 / 60.0  # of drawing
SHOW_PERIOD_S = 0.1  # while time runs; the panel costs a browser more than the bodies
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


class PlayedPanel(QuietPanel):
    """A slider to scrub with, play, step, speed; and how the bodies are seen."""

    def __init__(self, gui: viser.GuiApi, put: Callable[[str, Any], None], n_frames: int) -> None:
        """Add the time line; `put` is called with an event's name and value in other threads."""
        super().__init__(gui, 'puppet view')
        self._gui, self._put = gui, put
        self._shown_at, self._was_playing = -1.0, False
        last = max(n_frames - 1, 1)
        self.frame = gui.add_slider('frame', min=0, max=last, step=1, initial_value=0)
        self._clock = HtmlText(gui, rich_html('0.00 s'))
        self.play = gui.add_button('play')
        self.step = gui.add_button_group('step', ('-1', '+1'))
        self.speed = gui.add_dropdown('speed', tuple(f'{s:g}' for s in SPEEDS), initial_value='1')
        self.connect(FRAME, self.frame)
        self.connect(SPEED, self.speed)
        self.play.on_click(lambda _: put(PLAY, None))
        self.step.on_click(lambda event: put(STEP, int(event.target.value)))

    def connect(self, name: str, control: Any) -> None:
        """Report changes of a control by somebody as events of this name."""

        def report(_: object) -> None:
            if not self.is_silent:
                self._put(name, control.value)

        control.on_update(report)

    def add_view(self, n_bodies: int, name: str) -> None:
        """Add how the bodies are seen; the screenshot's file begins with a name."""
        gui, is_row = self._gui, n_bodies > 1
        self.side = gui.add_checkbox('side by side', is_row, visible=is_row)
        self.names = gui.add_checkbox('names', is_row)
        self.follow = gui.add_checkbox('follow', True)
        self.screenshot = ScreenshotButton(gui, name)
        for box in (self.side, self.names):
            self.connect(ARRANGE, box)

    def show_time(self, playback: Playback) -> bool:
        """Show the present frame, while time runs only now and then; return whether now."""
        now = time.monotonic()
        if playback.is_playing and self._was_playing and now - self._shown_at < SHOW_PERIOD_S:
            return False
        self._shown_at, self._was_playing = now, playback.is_playing
        with self.silently():
            set_if_other(self.frame, 'max', max(playback.n_frames - 1, 1))
            set_if_other(self.frame, 'value', playback.frame)
            set_if_other(self.play, 'label', 'pause' if playback.is_playing else 'play')
        self._clock.show(rich_html(f'{playback.time_s:.2f} s'))
        return True


def set_if_other(control: Any, name: str, value: object) -> None:
    """Set a property of a control or node, which is sent to browsers, unless it is so already."""
    if getattr(control, name) != value:
        setattr(control, name, value)


class PlayedPage:
    """A page whose bodies move in time; what they are is its subclasses'."""

    panel: PlayedPanel

    def __init__(self, stage: BrowserStage, n_frames: int, rate_hz: float) -> None:
        self._stage = stage
        self._events: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._drawn: tuple[object, ...] = ()
        self.playback = Playback(n_frames, rate_hz)

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

    def _arrange(self) -> None:
        """Put the bodies in a row, or where they were."""
        raise NotImplementedError

    def _draw(self) -> None:
        raise NotImplementedError


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
