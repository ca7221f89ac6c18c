# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip render`: performer and puppets of a clip or bag, as a picture or a film."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from puppet_core.drawing import Picture, save_png
from puppet_core.io import progress
from puppet_core.math import Floats
from puppet_retarget.offline import ConfigFiles
from puppet_view.render import arguments as render_arguments
from puppet_view.render.actors import Actor, line_up, near_objects
from puppet_view.render.camera import View
from puppet_view.render.cast import Casting
from puppet_view.render.film import check_length, film_pictures, film_size, save_film
from puppet_view.render.labels import Texts
from puppet_view.render.strip import render_strip, StripRow

EXAMPLE = 'example: ./puppet render walk.bvh --strip 5 -o walk.png'
add_arguments = render_arguments.add_arguments


def run(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    """
    Draw and save; return a line about the result.

    Raises
    ------
    PuppetError : for bad input; nothing is written then.

    """
    render_arguments.settle(arguments)
    cast = Casting(arguments, files)
    span = cast.span
    if arguments.video is not None:
        return _film(cast, arguments, span)
    times = render_arguments.still_times(arguments, *span)
    actors = _with_near_objects(cast, times)
    if arguments.strip is None and arguments.times is None:
        texts = _texts(actors, arguments, arguments.size)
        picture = line_up(actors, times, _view(arguments), texts).picture(0, arguments.samples)
    else:
        picture = _strip(actors, times, arguments)
    save_png(arguments.out, picture)
    height, width = picture.shape[:2]
    frames = ', '.join(f'{time * span[1]:.4g}' for time in times)
    return f'{arguments.out}: {width} x {height} pixels, frame {frames}'


def _film(cast: Casting, arguments: argparse.Namespace, span: tuple[int, float]) -> str:
    film = render_arguments.film_times(arguments, *span)
    times = film.instants()
    width, height = film_size(arguments.out, arguments.size)
    check_length(arguments.out, (width, height), film.count)
    actors = _with_near_objects(cast, times)
    texts = _texts(actors, arguments, (width, height))
    captions = [] if arguments.no_labels else [f'{time:.2f} s' for time in times]
    scenes = line_up(actors, times, _view(arguments), texts, captions)
    with progress(f'draw {arguments.out.name}', film.count) as advance:
        pictures = film_pictures(scenes, arguments.samples)
        try:
            save_film(arguments.out, _counted(pictures, advance), film.count, film.fps)
        finally:
            pictures.close()  # or what waits to be drawn would be, after Ctrl-C
    return (
        f'{arguments.out}: {width} x {height} pixels, {film.count} frames, '
        f'{film.count / film.fps:.2f} s at {film.fps:g} a second'
    )


def _with_near_objects(cast: Casting, times: Floats) -> list[Actor]:
    """Return the actors with what stands so near that it may matter to them."""
    return [replace(actor, objects=near_objects(actor, times)) for actor in cast.actors()]


def _view(arguments: argparse.Namespace) -> View:
    return View(arguments.azimuth_deg, arguments.elevation_deg, arguments.camera)


def _texts(
    actors: Sequence[Actor], arguments: argparse.Namespace, size_px: tuple[int, int]
) -> Texts:
    if arguments.no_labels:
        return Texts(size_px, has_scale=False)
    titles = tuple(actor.title for actor in actors)
    return Texts(size_px, titles, arguments.importance)


def _strip(actors: Sequence[Actor], times: Floats, arguments: argparse.Namespace) -> Picture:
    has_labels = not arguments.no_labels
    rows = [
        StripRow(
            actor.title if has_labels else '',
            [[actor.body_at(float(time))] for time in times],
            actor.objects,
        )
        for actor in actors
    ]
    captions = [f'{time:.2f} s' for time in times] if has_labels else []
    side = arguments.size[0] // len(times)
    return render_strip(
        rows,
        captions,
        (side, side * 10 // 9),
        arguments.azimuth_deg,
        arguments.elevation_deg,
        arguments.camera,
        arguments.importance and has_labels,
    )


def _counted(pictures: Iterator[Picture], advance: Callable[[int], object]) -> Iterator[Picture]:
    """Yield pictures and report how many."""
    for picture in pictures:
        yield picture
        advance(1)
