# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The page of recordings in a browser: performers and puppets with a time line.

`TakeView` has the scene, `TakeViewPanel` the controls beside it: time line, importance, rate and
latency, camera. User events go into one queue, which a single loop processes before it advances
the time and draws.
"""

from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue

import numpy as np
from puppet_core.body import END_EFFECTORS
from puppet_core.math import Floats
from puppet_view.browser.body import BodyNodes
from puppet_view.browser.panel import (
    HtmlText,
    importance_html,
    numbers_html,
    QuietPanel,
    ScreenshotButton,
    text_html,
)
from puppet_view.browser.stage import BrowserStage
from puppet_view.browser.time_controls import do_time, run_on, TimeControls
from puppet_view.playback import Playback
from puppet_view.shown_motion import BodyTrack, row_at, row_camera, row_direction, Take
import viser

ARRANGE = 'arrange'
UNKNOWN = 'not recorded'

SIDE_STEP_M = 1.5  # between neighbours in the row
FOLLOW_SHARE = 0.15  # of the way to the bodies that the stage moves in a frame


class TakeViewPanel(QuietPanel):
    """Controls and texts beside the scene."""

    def __init__(
        self,
        gui: viser.GuiApi,
        on_event: Callable[[str, object], None],
        take: Take,
        n_frames: int,
        n_bodies: int,
    ) -> None:
        """
        Build the panel.

        Parameters
        ----------
        gui : viser.GuiApi
            Where.
        on_event : callable
            Called with a name and a value, from another thread.
        take : Take
            Whose importance, rate and latency are shown.
        n_frames, n_bodies : int
            Of all takes.

        """
        super().__init__(gui, 'puppet view')
        self.time = TimeControls(gui, self, on_event, n_frames)
        """The time line."""
        tabs = gui.add_tab_group()
        with tabs.add_tab('Importance'):
            has_importance = take.importance is not None
            self._bars = HtmlText(
                gui, importance_html({}) if has_importance else text_html(UNKNOWN)
            )
        with tabs.add_tab('Take'):
            HtmlText(gui, numbers_html(_facts(take)))
        with tabs.add_tab('View'):
            self.side = gui.add_checkbox('side by side', n_bodies > 1)
            self.follow = gui.add_checkbox('follow', True)
            self.names = gui.add_checkbox('names', n_bodies > 1)
            self.screenshot = ScreenshotButton(gui, take.name)
        for box in (self.side, self.names):
            box.on_update(lambda _: on_event(ARRANGE, None))

    @property
    def bars(self) -> str:
        """Return the bars as they are shown."""
        return self._bars.html

    def show_importance(self, values: Mapping[str, float]) -> None:
        """Show importance in [0, 1] by end-effector."""
        self._bars.show(importance_html(values))


def _facts(take: Take) -> dict[str, str]:
    latency = UNKNOWN
    if take.latency_ms is not None:
        latency = '{:.1f} ms (p99 {:.1f})'.format(*take.latency_ms)
    return {
        'file': take.name,
        'rate': f'{take.rate_hz:.1f} Hz',
        'latency': latency,
        'length': f'{take.duration_s:.1f} s',
    }


class TakeView:
    """A page with takes."""

    def __init__(self, stage: BrowserStage, takes: Sequence[Take]) -> None:
        """
        Build the page.

        Parameters
        ----------
        stage : BrowserStage
            An empty page.
        takes : sequence of Take
            At least one. The first one's importance is shown.

        """
        self._stage = stage
        self._takes = tuple(takes)
        self._events: SimpleQueue[tuple[str, object]] = SimpleQueue()
        first = takes[0]
        duration_s = max(take.duration_s for take in takes)
        self._n_frames = round(duration_s * first.rate_hz) + 1
        self.playback = Playback(self._n_frames, first.rate_hz)
        """Time."""
        self._tracks: list[BodyTrack] = [body for take in takes for body in take.bodies]
        scene = stage.server.scene
        self.bodies = [BodyNodes(scene, f'body{i}') for i in range(len(self._tracks))]
        """In the order of the row."""
        for body, track in zip(self.bodies, self._tracks):
            body.set_parts(track.parts, is_pale=track.is_performer and len(self._tracks) > 1)
        begin = self._tracks[0]
        self._row, front = row_direction(begin.q_world[0, 0], begin.p_world[:, 0])
        stage.look(*row_camera(self._row, front, len(self._tracks)))
        self._drawn: tuple[object, ...] = ()
        self.panel = TakeViewPanel(
            stage.server.gui,
            lambda *event: self._events.put(event),
            first,
            self._n_frames,
            len(self._tracks),
        )
        self._shifts = np.zeros((len(self._tracks), 3))
        self._arrange()
        stage.root.position = -self._centre()
        self._draw()

    def run(self) -> None:
        """Serve until interrupted."""
        run_on(self.step)

    def step(self, elapsed_s: float) -> None:
        """Do what was asked for, let time run, and draw."""
        while True:
            try:
                name, value = self._events.get_nowait()
            except Empty:
                break
            if not do_time(self.playback, name, value):
                self._arrange()
            self._drawn = ()
        self.playback.step(elapsed_s)
        self._draw()

    def _draw(self) -> None:
        state = (self.playback.frame, self.playback.is_playing)
        with self._stage.at_once():
            if state != self._drawn:
                self._drawn = state
                for body, track in zip(self.bodies, self._tracks):
                    row = row_at(track.times_s, self.playback.time_s)
                    body.move(track.q_world[row], track.p_world[row])
                self._show_importance(self.panel.time.show(self.playback, self._n_frames))
            if self.panel.follow.value:
                away = -self._centre() - self._stage.root.position
                if np.linalg.norm(away) > 1e-3:
                    step = FOLLOW_SHARE * away
                    self._stage.root.position = self._stage.root.position + step

    def _show_importance(self, has_bars: bool) -> None:
        track = self._takes[0].importance
        if track is None:
            return
        values = np.round(track.values[row_at(track.times_s, self.playback.time_s)], 2)
        if has_bars:
            self.panel.show_importance(dict(zip(END_EFFECTORS, values.tolist())))
        for body, shown in zip(self.bodies, self._takes[0].bodies):
            if not shown.is_performer:
                body.set_importance(values)

    def _arrange(self) -> None:
        """Put the bodies in a row, or where they were; takes begin in one place."""
        origin = self._tracks[0].p_world[0, 0] * (1.0, 1.0, 0.0)
        number = 0
        for take in self._takes:
            begin = take.bodies[0].p_world[0, 0] * (1.0, 1.0, 0.0)
            for _ in take.bodies:
                step = number * SIDE_STEP_M if self.panel.side.value else 0.0
                self._shifts[number] = origin - begin + step * self._row
                number += 1
        for body, track, shift in zip(self.bodies, self._tracks, self._shifts):
            body.world.position = shift
            body.set_caption(track.name if self.panel.names.value else '')

    def _centre(self) -> Floats:
        """Return the place on the floor between the bodies [m]."""
        places = [
            track.p_world[row_at(track.times_s, self.playback.time_s), 0] + shift
            for track, shift in zip(self._tracks, self._shifts)
        ]
        middle: Floats = 0.5 * (np.min(places, axis=0) + np.max(places, axis=0))
        return middle * (1.0, 1.0, 0.0)
