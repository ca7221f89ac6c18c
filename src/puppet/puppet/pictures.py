# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures and films of motions, side by side."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from puppet.clips import load_character
from puppet.retargeting import Retargeted
from puppet_core.body import Character, Motion, person
from puppet_core.drawing import Picture, save_png
from puppet_core.io import ConfigError
from puppet_core.math import Floats
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
    return Actor(performer(shown), shown, PERFORMER.capitalize())


def performer(motion: Motion) -> Character:
    """Return a person of a motion's size."""
    return person(PERFORMER, motion.skeleton, load_character(PERFORMER).colour)


def bodies(shown: Shown | Sequence[Shown]) -> list[Shown]:
    """Return one or several motions as a list, or raise ConfigError if there is none."""
    listed = [shown] if isinstance(shown, Motion | Retargeted) else list(shown)
    if not listed:
        raise ConfigError('shown: expected at least one motion, got none')
    return listed


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
    actors = [_actor(body) for body in bodies(shown)]
    last_s = max(float(actor.times_s[-1]) for actor in actors)
    ending = None if path is None else Path(path).suffix.lower()
    if path is not None and ending in film.SUFFIXES:
        film.check_film(Path(path), fps)
        size_px = film.film_size(Path(path), size_px)
        times = film.film_instants(0.0, last_s, fps)
        film.check_length(Path(path), size_px, len(times))
        scenes = line_up(actors, times, View(azimuth_deg), _texts(actors, size_px))
        with closing(film.film_pictures(scenes, lambda count: None)) as pictures:
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
