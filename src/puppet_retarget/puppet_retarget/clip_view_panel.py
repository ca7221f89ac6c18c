# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The clip viewer's panel: time, what is dragged, the list of constraints, the file.

Controls only say what somebody did with them; `ClipView` does it. What is shown is set without
an echo.

"""

from collections.abc import Callable, Sequence
from html import escape

from puppet_edit.edit_session import POINTS, REACH_S
from puppet_retarget.time_controls import TimeControls
from puppet_ros.browser_panel import (
    HtmlText,
    QuietPanel,
    rich_html,
    ScreenshotButton,
    text_html,
)
import viser

POINT, REACH = 'point', 'reach_s'
UNDO, REDO, REMOVE, SAVE, ARRANGE = 'undo', 'redo', 'remove', 'save', 'arrange'
MAX_ROWS = 8  # of the list; the panel is to leave the bodies in sight
NO_ENTRY = 'none yet: drag a point'
_ROW = '<div style="margin:2px 0">{number}. {text}{error}</div>'


class ClipViewPanel(QuietPanel):
    """Controls and texts beside the scene."""

    def __init__(
        self, gui: viser.GuiApi, on_event: Callable[[str, object], None], n_frames: int,
        n_clips: int, file_name: str,
    ) -> None:  # fmt: skip
        """
        Build the panel.

        Parameters
        ----------
        gui : viser.GuiApi
            Where.
        on_event : callable
            Called with a name and a value, from another thread.
        n_frames, n_clips : int
            What is shown.
        file_name : str
            What the button writes.

        """
        super().__init__(gui, 'puppet view')
        self._on_event = on_event
        self._entries: tuple[str, ...] = ()
        self.time = TimeControls(gui, self, on_event, n_frames)
        """The time line."""
        tabs = gui.add_tab_group()
        with tabs.add_tab('Drag'):
            self.point = gui.add_dropdown('point', POINTS)
            self.hold = gui.add_checkbox(
                'hold feet', True, hint='feet that stand in this frame stay where they are'
            )
            self.reach = gui.add_slider(
                'reach [s]', min=0.05, max=2.0, step=0.05, initial_value=REACH_S,
                hint='how far a drag spreads to both sides',
            )
            self.steps = gui.add_button_group('edits', (UNDO, REDO))
        with tabs.add_tab('Constraints'):
            self._list = HtmlText(gui, rich_html(NO_ENTRY))
            self.chosen = gui.add_dropdown('entry', ('-',))
            self.remove = gui.add_button(REMOVE)
            self.save = gui.add_button(f'write {file_name}')
        with tabs.add_tab('View'):
            self.side = gui.add_checkbox('side by side', n_clips > 1, visible=n_clips > 1)
            self.names = gui.add_checkbox('names', n_clips > 1)
            self.before = gui.add_checkbox('before the edit', False)
            self.follow = gui.add_checkbox('follow', True)
            self.screenshot = ScreenshotButton(gui, file_name.rsplit('.', 1)[0])
        self._status = HtmlText(gui)
        self._connect()

    def _connect(self) -> None:
        for name, control in ((POINT, self.point), (REACH, self.reach), (ARRANGE, self.side),
                              (ARRANGE, self.names), (ARRANGE, self.before)):  # fmt: skip
            control.on_update(lambda _, name=name, control=control: self._say(name, control.value))
        self.save.on_click(lambda _: self._say(SAVE, None))
        self.remove.on_click(lambda _: self._say(REMOVE, None))
        self.steps.on_click(lambda event: self._say(str(event.target.value), None))

    @property
    def chosen_entry(self) -> int | None:
        """Return the index of the entry that is chosen in the list."""
        value = str(self.chosen.value)
        return self._entries.index(value) if value in self._entries else None

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
        self._list.show(rich_html(''.join(rows) or NO_ENTRY))
        self._entries = tuple(f'{n}. {text}' for n, text in enumerate(texts, start=1))
        with self.silently():
            self.chosen.options = self._entries or ('-',)
            if self._entries:
                self.chosen.value = self._entries[-1]

    def show_point(self, name: str) -> None:
        """Show which point is dragged."""
        with self.silently():
            if self.point.value != name:
                self.point.value = name

    def show_reach(self, reach_s: float) -> None:
        """Show how far drags spread."""
        with self.silently():
            self.reach.value = reach_s

    def say(self, text: str, is_error: bool = False) -> None:
        """Show a line below the list."""
        self._status.show(text_html(text, is_error))

    @property
    def status(self) -> str:
        """Return the line as it is shown."""
        return self._status.html

    @property
    def listed(self) -> str:
        """Return the list as it is shown."""
        return self._list.html

    def _say(self, name: str, value: object) -> None:
        if not self.is_silent:
            self._on_event(name, value)
