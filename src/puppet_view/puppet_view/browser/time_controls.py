# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The time line of a page: a slider to scrub with, play, step, speed.

Controls only say what somebody did with them; the page does it.

"""

from collections.abc import Callable
import time

from puppet_view.browser.panel import HtmlText, QuietPanel, rich_html
from puppet_view.playback import Playback, SPEEDS
import viser

FRAME, PLAY, STEP, SPEED = 'frame', 'play', 'step', 'speed'
BACK, FORTH = '-1', '+1'
PERIOD_S = 1.0 / 60.0  # of drawing
SHOW_PERIOD_S = 0.1  # while time runs; the panel costs a browser more than the bodies


class TimeControls:
    """Slider, buttons and clock."""

    def __init__(
        self,
        gui: viser.GuiApi,
        panel: QuietPanel,
        on_event: Callable[[str, object], None],
        n_frames: int,
    ) -> None:
        """
        Add them to the panel.

        Parameters
        ----------
        gui : viser.GuiApi
            Where.
        panel : QuietPanel
            What keeps silent while the time line follows the time.
        on_event : callable
            Called with FRAME, PLAY, STEP or SPEED and a value, from another thread.
        n_frames : int
            At first.

        """
        self._panel = panel
        self._shown_at = -1.0
        self._was_playing = False
        self.frame = gui.add_slider(
            'frame', min=0, max=max(n_frames - 1, 1), step=1, initial_value=0
        )
        self._clock = HtmlText(gui, rich_html('0.00 s'))
        self.play = gui.add_button('play')
        self.step = gui.add_button_group('step', (BACK, FORTH))
        self.speed = gui.add_dropdown('speed', tuple(f'{s:g}' for s in SPEEDS), initial_value='1')

        def say(name: str, value: object) -> None:
            if not panel.is_silent:
                on_event(name, value)

        self.frame.on_update(lambda _: say(FRAME, self.frame.value))
        self.speed.on_update(lambda _: say(SPEED, self.speed.value))
        self.play.on_click(lambda _: say(PLAY, None))
        self.step.on_click(lambda event: say(STEP, int(event.target.value)))

    def show(self, playback: Playback, n_frames: int) -> bool:
        """Show the present frame, while time runs only now and then; return whether now."""
        now = time.monotonic()
        if playback.is_playing and self._was_playing and now - self._shown_at < SHOW_PERIOD_S:
            return False
        self._shown_at, self._was_playing = now, playback.is_playing
        with self._panel.silently():
            if self.frame.max != max(n_frames - 1, 1):
                self.frame.max = max(n_frames - 1, 1)
            if self.frame.value != playback.frame:
                self.frame.value = playback.frame
            label = 'pause' if playback.is_playing else 'play'
            if self.play.label != label:
                self.play.label = label
        self._clock.show(rich_html(f'{playback.time_s:.2f} s'))
        return True


def run_on(step: Callable[[float], None]) -> None:
    """Call a page's step with the time since the last one [s], until interrupted."""
    then = time.monotonic()
    while True:
        time.sleep(PERIOD_S)
        now = time.monotonic()
        step(now - then)
        then = now


def do_time(playback: Playback, name: str, value: object) -> bool:
    """Do what somebody did with the time controls; return whether it was one of them."""
    if name == FRAME:
        playback.is_playing = False
        playback.seek(int(str(value)))
    elif name == STEP:
        playback.is_playing = False
        playback.seek(playback.frame + int(str(value)))
    elif name == PLAY:
        playback.is_playing = not playback.is_playing
    elif name == SPEED:
        playback.speed = float(str(value))
    else:
        return False
    return True
