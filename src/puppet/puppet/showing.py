# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures, films and a page in the browser: what a motion looks like."""

from collections.abc import Sequence
from pathlib import Path
import threading
import time

import numpy as np
from puppet.clips import load_character
from puppet.retargeting import Retargeted
from puppet_core.body import Motion, person
from puppet_core.drawing import Picture, save_png
from puppet_core.io import ConfigError
from puppet_core.math import Floats
from puppet_view.browser.bag_page import RecordingPage
from puppet_view.browser.played_page import PERIOD_S
from puppet_view.browser.stage import BrowserStage
from puppet_view.recording import PUPPET, RecordedBody, Recording
from puppet_view.render import Actor, film, line_up, objects_of, Texts, View

PERFORMER = 'performer'
Shown = Motion | Retargeted


def _actor(shown: Shown) -> Actor:
    """Return a body in its shape: a performer that of a person."""
    if isinstance(shown, Retargeted):
        scale = shown.character.scale_for(shown.source.skeleton.leg_length)
        objects = objects_of(shown.job.environment, puppet=True, world_scale=scale)
        title = shown.character.name.capitalize()
        return Actor(shown.character, shown.motion, title, shown.importance, objects)
    body = person(PERFORMER, shown.skeleton, load_character(PERFORMER).colour)
    return Actor(body, shown, PERFORMER.capitalize())


def render(
    shown: Shown | Sequence[Shown],
    path: str | Path | None = None,
    time_s: float | None = None,
    size_px: tuple[int, int] = (800, 450),
    azimuth_deg: float = 35.0,
    fps: float = 30.0,
) -> Picture | None:
    """
    Draw motions side by side, at one time or as a film.

    Parameters
    ----------
    shown : Motion or Retargeted, or several
        Who is drawn; limbs of puppets turn red as they matter.
    path : str or Path, optional
        A .png for a picture, a .mp4 or .gif for a film of the whole.
    time_s : float, optional
        Of the picture; by default in the middle [s].
    size_px : (int, int)
        Width and height.
    azimuth_deg : float
        From where: 0 is in front of the first body, 90 at its left.
    fps : float
        Pictures a second of a film.

    Returns
    -------
    array of uint8, shape (height, width, 3), or None
        The picture, which a notebook draws by `matplotlib.pyplot.imshow`; None of a film.

    Raises
    ------
    PuppetError
        For another ending, or a film that cannot be written here.

    Examples
    --------
    >>> from puppet import load_clip, retarget
    >>> walk = load_clip('walk')
    >>> render([walk, retarget(walk, 'blubby')], 'both.png').shape
    (450, 800, 3)

    """
    bodies = [shown] if isinstance(shown, Motion | Retargeted) else list(shown)
    actors = [_actor(body) for body in bodies]
    if not actors:
        raise ConfigError('shown: expected at least one motion, got none')
    last_s = max(float(actor.times_s[-1]) for actor in actors)
    ending = None if path is None else Path(path).suffix.lower()
    if path is not None and ending in film.SUFFIXES:
        film.check_film(Path(path), fps)
        size_px = film.film_size(Path(path), size_px)
        times = film.film_instants(0.0, last_s, fps)
        film.check_length(Path(path), size_px, len(times))
        scenes = line_up(actors, times, View(azimuth_deg), _texts(actors, size_px))
        pictures = film.film_pictures(scenes, lambda count: None)
        film.save_film(Path(path), pictures, len(times), fps)
        return None
    if ending not in (None, '.png'):
        raise ConfigError(f'path: expected a .png, .mp4 or .gif file, got {str(path)!r}')
    instant: Floats = np.array([0.5 * last_s if time_s is None else time_s])
    picture = line_up(actors, instant, View(azimuth_deg), _texts(actors, size_px)).picture(0)
    if path is not None:
        save_png(path, picture)
    return picture


def _texts(actors: Sequence[Actor], size_px: tuple[int, int]) -> Texts:
    return Texts(size_px, tuple(actor.title for actor in actors))


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
    bodies = [shown] if isinstance(shown, Motion | Retargeted) else list(shown)
    recorded = []
    for body in bodies:
        actor = _actor(body)
        who = PUPPET if isinstance(body, Retargeted) else PERFORMER
        recorded.append(RecordedBody.of_motion(who, actor.motion, actor.character))
    if not recorded:
        raise ConfigError('shown: expected at least one motion, got none')
    return Page([Recording(recorded[0].name, tuple(recorded))], port)
