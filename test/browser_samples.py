# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the browser's tests look at: a short walk, a bag of it, a page that is served."""

from collections.abc import Callable
from pathlib import Path
import threading
import time
from typing import Any

from edit_samples import CHARACTERS, walk
import numpy as np
from puppet_core.body.character import load_character
from puppet_retarget.importance.environment import load_environment
from puppet_retarget.offline.whole_motion import retarget_motion, RetargetJob
from puppet_view.bag_motion import write_bag_motion
from puppet_view.browser.played_page import PERIOD_S
from puppet_view.browser.stage import BrowserStage

__all__ = ['recorded_bag', 'Served', 'walk']

ENVIRONMENTS = CHARACTERS.parent / 'environments'


def recorded_bag(path: Path) -> Path:
    """Write a walk and what Sally makes of it, as the live graph would; return the bag."""
    sally = load_character(CHARACTERS / 'sally.yaml')
    job = RetargetJob(sally, load_environment(ENVIRONMENTS / 'floor.yaml'))
    write_bag_motion(path, walk(), job, retarget_motion(walk(), job))
    return path


class Served:
    """A page whose loop runs in a thread until the end of a `with`."""

    def __init__(self, page: Callable[[BrowserStage], Any]) -> None:
        self.stage = BrowserStage()
        """Where it is served."""
        self.view = page(self.stage)
        """What is served."""
        self.steps = 0
        """How often the loop ran."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> 'Served':
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopped.set()
        self._thread.join()
        self.stage.close()

    def _run(self) -> None:
        then = time.monotonic()
        while not self._stopped.wait(PERIOD_S):
            now = time.monotonic()
            self.view.step(float(np.clip(now - then, 0.0, 0.1)))
            then = now
            self.steps += 1
