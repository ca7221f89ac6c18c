# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A Chromium without a display for tests, and what a page of ours shows in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import shutil
import time
from typing import Any

import pytest

NAMES = ('chromium', 'chromium-browser', 'google-chrome')
FLAGS = (
    '--no-sandbox',
    '--use-gl=angle',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--disable-quic',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    '--mute-audio',
)
SMALL = {'width': 600, 'height': 420}  # software draws few pixels faster
DEADLINE_S = 90.0
POLL_MS = 100.0
# what browsers without a graphics card say of WebGL
HARMLESS = ('WebGL', 'swiftshader', 'GPU stall', 'GroupMarkerNotSet')


def executable() -> str:
    """Return the browser's path; skip the test where there is none."""
    names = (os.environ.get('CHROME', ''), *NAMES)
    for name in filter(None, names):
        path = shutil.which(name)
        if path is not None:
            return path
    pytest.skip(f'no browser: none of {", ".join(NAMES)} on PATH, and no $CHROME')


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Yield a browser's context with a profile of its own, an empty folder."""
    api = pytest.importorskip('playwright.sync_api', reason='playwright is not installed')
    path = executable()
    with api.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            str(profile),
            executable_path=path,
            args=list(FLAGS),
            headless=True,
            viewport=SMALL,
            accept_downloads=True,
        )
        context.set_default_timeout(1e3 * DEADLINE_S)
        yield context
        context.close()


class Tab:
    """A page that is open in the browser."""

    def __init__(self, context: Any, address: str, size: dict[str, int] = SMALL) -> None:
        self.page = context.new_page()
        self.page.set_viewport_size(size)
        self.errors: list[str] = []
        """What the page said on its console as an error, and what it did not catch."""
        self.page.on('console', self._on_console)
        self.page.on('pageerror', lambda error: self.errors.append(str(error)))
        self.page.goto(address)
        self.page.wait_for_selector('canvas')

    def _on_console(self, message: Any) -> None:
        harmless = any(word in message.text for word in HARMLESS)
        if message.type == 'error' and not harmless:
            self.errors.append(message.text)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let the page work until a condition holds; fail at the deadline, saying what."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, f'not in time: {what}'
            self.page.wait_for_timeout(POLL_MS)

    def text(self) -> str:
        """Return the text of the panel."""
        return str(self.page.inner_text('body'))

    def sees(self, text: str) -> bool:
        """Return whether the panel says something."""
        return text in self.text()

    def open_tab(self, name: str) -> None:
        """Show one of the panel's tabs."""
        self.page.get_by_role('tab', name=name).click()

    def press(self, name: str) -> None:
        """Press a button."""
        self.page.get_by_role('button', name=name, exact=True).click()

    def number_beside(self, label: str) -> Any:
        """Return the number box of a slider."""
        row = (
            self.page.locator('.mantine-Flex-root, .mantine-Box-root')
            .filter(has=self.page.get_by_text(label, exact=True))
            .last
        )
        return (
            row.locator('xpath=ancestor-or-self::*[.//input[not(@type="hidden")]][1]')
            .locator('input:not([type="hidden"])')
            .last
        )

    def picture(self) -> bytes:
        """Return what the scene looks like, as a PNG file."""
        return bytes(self.page.locator('canvas').first.screenshot())
