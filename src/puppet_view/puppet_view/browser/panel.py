# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the panels of all pages share: quiet controls, importance bars, texts, the screenshot."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
import re
from typing import Any

from puppet_core.body import END_EFFECTORS
from puppet_core.drawing import png_bytes
from puppet_core.marker_spec import importance_colour
import viser

RENDER_TIMEOUT_S = 60.0  # a phone, or a browser without a graphics card
MAX_SIDE_PX = 4096
OK, ERROR = '#51606d', '#c0392b'
_TEXT = (
    '<div style="font-size:0.85em;line-height:1.35;padding:0.1em 0.6em 0.35em;{style}">'
    '{text}</div>'
)
_BAR = (
    '<div style="display:flex;align-items:center;font-size:0.85em;line-height:1.2;'
    'margin:2px 0.6em"><span style="width:6.2em">{}</span>'
    '<span style="flex:1;background:#e9ecef;border-radius:3px;height:0.8em">'
    '<span style="display:block;width:{}%;background:{};border-radius:3px;'
    'height:0.8em"></span></span>'
    '<span style="width:2.8em;text-align:right">{}</span></div>'
)
# viser has no call for the title of the page
_TITLE = '<img src="data:," hidden onerror="document.title=\'{}\'">'
_BLOCK = '<div style="padding:0.15em 0 0.5em">{}</div>'
_NUMBER = (
    '<div style="display:flex;font-size:0.85em;line-height:1.45;margin:0 0.6em">'
    '<span style="flex:1">{}</span><b>{}</b></div>'
)


class QuietPanel:
    """Controls that can be moved by the program without telling it so."""

    def __init__(self, gui: viser.GuiApi, label: str, put: Callable[[str, Any], None]) -> None:
        """`put` is called with the name and value of what somebody did, in other threads."""
        gui.set_panel_label(label)
        gui.add_html(_TITLE.format(label))
        # the button would open a way to this page for the whole internet
        gui.configure_theme(dark_mode=False, show_logo=False, show_share_button=False)
        self._put = put
        self._is_silent = False  # whether what changes now is not somebody's doing

    def connect(self, name: str, control: Any) -> None:
        """Report changes of a control by somebody under this name."""

        def report(_: object) -> None:
            if not self._is_silent:
                self._put(name, control.value)

        control.on_update(report)

    @contextmanager
    def silently(self) -> Iterator[None]:
        """Change controls within this without an echo."""
        self._is_silent = True
        try:
            yield
        finally:
            self._is_silent = False


def set_if_other(control: Any, name: str, value: object) -> None:
    """Set a property of a control or node, which is sent to browsers, unless it is so already."""
    if getattr(control, name) != value:
        setattr(control, name, value)


class HtmlText:
    """A text in the panel that is sent again only when it is another."""

    def __init__(self, gui: viser.GuiApi, html: str = '') -> None:
        self._handle = gui.add_html(html, visible=bool(html))

    @property
    def html(self) -> str:
        return str(self._handle.content)

    def show(self, html: str) -> None:
        """Show a text; '' takes no room."""
        if html != self._handle.content:
            self._handle.content = html
            self._handle.visible = bool(html)


class ScreenshotButton:
    """Saves the scene, as the browser that pressed it shows it, there as a PNG file."""

    def __init__(self, gui: viser.GuiApi, name: str) -> None:
        self._name = re.sub(r'\W+', '_', name)
        self._count = 0
        self._button = gui.add_button('screenshot', hint='the scene as a PNG file')
        self._text = HtmlText(gui)
        self._button.on_click(self._on_click)

    def _on_click(self, event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
        client = event.client
        if client is None:
            return
        camera = client.camera
        size = (min(camera.image_height, MAX_SIDE_PX), min(camera.image_width, MAX_SIDE_PX))
        try:
            picture = client.get_render(*size, transport_format='jpeg', timeout=RENDER_TIMEOUT_S)
        except (RuntimeError, TimeoutError) as err:
            self._text.show(text_html(f'no picture: {err}', is_error=True))
            return
        self._count += 1
        self._text.show('')
        client.send_file_download(
            f'{self._name}_{self._count}.png', png_bytes(picture[..., :3]), save_immediately=True
        )


def text_html(text: str, is_error: bool = False) -> str:
    return _TEXT.format(style=f'color:{ERROR if is_error else OK}', text=escape(text))


def rich_html(html: str) -> str:
    """Return lines that are HTML already."""
    return _TEXT.format(style='', text=html)


def numbers_html(values: Mapping[str, str]) -> str:
    rows = (_NUMBER.format(escape(title), escape(value)) for title, value in values.items())
    return _BLOCK.format(''.join(rows))


def latency_text(latency_ms: tuple[float, float] | None) -> str:
    """Return median and 99th percentile of a latency [ms] in words; '' if it was not measured."""
    return '' if latency_ms is None else '{:.1f} ms (p99 {:.1f})'.format(*latency_ms)


def importance_html(values: Mapping[str, float]) -> str:
    """Return a bar for the importance in [0, 1] of each hand and foot; 0 where none is given."""
    rows = []
    for name in END_EFFECTORS:
        value = values.get(name, 0.0)
        red, green, blue = (round(255.0 * c) for c in importance_colour(value))
        colour = f'rgb({red},{green},{blue})'
        rows.append(
            _BAR.format(name.replace('_', ' '), round(100.0 * value), colour, f'{value:.2f}')
        )
    return _BLOCK.format(''.join(rows))
