# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The clip viewer's panel: time, what is dragged, the list of constraints, the file.

Controls only say what somebody did with them; `ClipView` does it. What is shown is set without
an echo.

"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape

from puppet_retarget.offline.edit_session import POINTS, REACH_S
from puppet_retarget.offline.playback import Playback, SPEEDS
import viser

FRAME, PLAY, SPEED, POINT, REACH = 'frame', 'play', 'speed', 'point', 'reach_s'
UNDO, REDO, REMOVE, SAVE, ARRANGE = 'undo', 'redo', 'remove', 'save', 'arrange'
MAX_ROWS = 60
_TEXT = '<div style="font-size:0.85em;padding:0 0.6em;{style}">{text}</div>'
_ROW = '<div style="margin:2px 0">{number}. {text}{error}</div>'


class ClipViewPanel:
    """Controls and texts beside the scene."""

    def __init__(
        self, gui: viser.GuiApi, on_event: Callable[[str, object], None], n_frames: int,
        n_clips: int, file_name: str,
    ) -> None:  # fmt: skip
        gui.set_panel_label('puppet view')
        gui.configure_theme(control_layout='floating', control_width='medium', dark_mode=False)
        self._on_event = on_event
        self._is_silent = False
        self._entries: tuple[str, ...] = ()
        with gui.add_folder('Time'):
            last = max(n_frames - 1, 1)
            self.frame = gui.add_slider('frame', min=0, max=last, step=1, initial_value=0)
            self.play = gui.add_button('play')
            self.speed = gui.add_dropdown(
                'speed', tuple(f'{s:g}' for s in SPEEDS), initial_value='1'
            )
            self._clock = gui.add_html('')
        with gui.add_folder('Drag'):
            self.point = gui.add_dropdown('point', POINTS)
            self.hold = gui.add_checkbox(
                'hold feet', True, hint='feet that stand in this frame stay where they are'
            )
            self.reach = gui.add_slider(
                'reach [s]', min=0.05, max=2.0, step=0.05, initial_value=REACH_S,
                hint='how far a drag spreads to both sides',
            )
        with gui.add_folder('Constraints'):
            self._list = gui.add_html('')
            self.chosen = gui.add_dropdown('entry', ('-',))
            self.steps = gui.add_button_group('', (UNDO, REDO, REMOVE))
            self.save = gui.add_button(f'write {file_name}')
            self._status = gui.add_html('')
        with gui.add_folder('View'):
            self.side = gui.add_checkbox('side by side', n_clips > 1, visible=n_clips > 1)
            self.before = gui.add_checkbox('before the edit', False)
            self.follow = gui.add_checkbox('follow', True)
        self._connect()

    def _connect(self) -> None:
        for name, control in ((FRAME, self.frame), (SPEED, self.speed), (POINT, self.point),
                              (REACH, self.reach), (ARRANGE, self.side)):  # fmt: skip
            control.on_update(lambda _, name=name, control=control: self._say(name, control.value))
        self.play.on_click(lambda _: self._say(PLAY, None))
        self.save.on_click(lambda _: self._say(SAVE, None))
        self.steps.on_click(lambda event: self._say(str(event.target.value), None))

    @property
    def chosen_entry(self) -> int | None:
        """Return the index of the entry that is chosen in the list."""
        value = str(self.chosen.value)
        return self._entries.index(value) if value in self._entries else None

    def show_time(self, playback: Playback, n_frames: int) -> None:
        """Show the present frame."""
        with self._silently():
            if self.frame.max != max(n_frames - 1, 1):
                self.frame.max = max(n_frames - 1, 1)
            if self.frame.value != playback.frame:
                self.frame.value = playback.frame
            label = 'pause' if playback.is_playing else 'play'
            if self.play.label != label:
                self.play.label = label
        self._clock.content = _TEXT.format(style='', text=f'{playback.time_s:.2f} s')

    def show_entries(self, texts: Sequence[str], errors_mm: Sequence[float]) -> None:
        """Show the constraints, and how far off each is."""
        rows = [
            _ROW.format(
                number=number, text=escape(text),
                error=f' <b style="color:#c0392b">{error:.1f} mm off</b>' if error > 1.0 else '',
            )
            for number, (text, error) in enumerate(zip(texts, errors_mm), start=1)
        ]  # fmt: skip
        if len(rows) > MAX_ROWS:
            rows = [f'<div>{len(rows) - MAX_ROWS} before these</div>', *rows[-MAX_ROWS:]]
        text = ''.join(rows) or 'none yet: drag a point'
        self._list.content = _TEXT.format(style='', text=text)
        self._entries = tuple(f'{n}. {text}' for n, text in enumerate(texts, start=1))
        with self._silently():
            self.chosen.options = self._entries or ('-',)
            if self._entries:
                self.chosen.value = self._entries[-1]

    def show_point(self, name: str) -> None:
        """Show which point is dragged."""
        with self._silently():
            if self.point.value != name:
                self.point.value = name

    def show_reach(self, reach_s: float) -> None:
        """Show how far drags spread."""
        with self._silently():
            self.reach.value = reach_s

    def say(self, text: str, is_error: bool = False) -> None:
        """Show a line below the list."""
        style = 'color:#c0392b' if is_error else 'color:#51606d'
        self._status.content = _TEXT.format(style=style, text=escape(text))

    def _say(self, name: str, value: object) -> None:
        if not self._is_silent:
            self._on_event(name, value)

    @contextmanager
    def _silently(self) -> Iterator[None]:
        self._is_silent = True
        try:
            yield
        finally:
            self._is_silent = False
