# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A page in the browser that plays motions, for scripts and notebooks."""

from collections.abc import Sequence
import threading
import time

from puppet.pictures import bodies, PERFORMER, performer, Shown
from puppet.retargeting import Retargeted
from puppet_view.browser.bag_page import RecordingPage
from puppet_view.browser.played_page import PERIOD_S
from puppet_view.browser.stage import BrowserStage
from puppet_view.recording import PUPPET, RecordedBody, Recording


class Page:
    """A page that plays motions; in a notebook it shows itself in the cell."""

    def __init__(self, recordings: Sequence[Recording], port: int) -> None:
        self._stage = BrowserStage(port=port)
        self.address = self._stage.address
        self._page = RecordingPage(self._stage, recordings)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._closed.set()
        self._thread.join()
        self._stage.close()

    def wait(self) -> None:
        """Serve until Ctrl-C: for scripts, which would end otherwise."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self.close()

    def _run(self) -> None:
        then = time.monotonic()
        while not self._closed.wait(PERIOD_S):
            now = time.monotonic()
            self._page.step(now - then)
            then = now

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.address}" width="100%" height="500"></iframe>'


def view(shown: Shown | Sequence[Shown], port: int = 0) -> Page:
    """
    Show motions side by side in the browser, on this machine.

    Returns at once; the page has `address`, `close()` and, for scripts, `wait()`. Its port is 8080
    or any free one if it is 0.

    Examples
    --------
    >>> page = view(load_clip('walk'))  # doctest: +SKIP
    >>> page.address  # doctest: +SKIP
    'http://localhost:8080'

    """
    recorded = [_recorded(body) for body in bodies(shown)]
    return Page([Recording(recorded[0].name, tuple(recorded))], port)


def _recorded(shown: Shown) -> RecordedBody:
    if isinstance(shown, Retargeted):
        return RecordedBody.of_motion(PUPPET, shown.motion, shown.character)
    return RecordedBody.of_motion(PERFORMER, shown, performer(shown))
