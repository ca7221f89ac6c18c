# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_clip render`: performer and puppets of a clip or bag, as a picture or a film."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
import math
from pathlib import Path

import numpy as np
from puppet_core.drawing import Picture, save_png
from puppet_core.io import ConfigError, progress
from puppet_core.math import Floats
from puppet_core.procedural import SCRIPTS, SHOW
from puppet_retarget.offline import arguments as clip_arguments
from puppet_view.render import film
from puppet_view.render.actors import Actor, line_up, near_objects
from puppet_view.render.camera import FOLLOW, KINDS, View, VIEWS_DEG
from puppet_view.render.cast import Casting
from puppet_view.render.image import MAX_SIDE_PX
from puppet_view.render.strip import even_instants, GUTTER_PX, render_strip, StripRow, Texts

MAX_INSTANTS = 24
MIN_SIDE_PX = 64
FILM_PX, PICTURE_PX = 1280, 1600
MAX_FPS = 240.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    text = '.bvh, .amc or .c3d, or a bag with postures'
    add('clip', nargs='?', metavar='CLIP', type=clip_arguments.clip_path, help=text)
    add('-o', '--out', type=Path, metavar='PNG', help='picture to write; or use --video')
    add('--script', choices=tuple(SCRIPTS), help='built-in performance instead of a clip')
    text = f'same as --script {SHOW}'
    add('--procedural', action='store_const', const=SHOW, dest='script', help=text)
    add('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    add(
        '--character',
        '--characters',
        type=clip_arguments.listed,
        metavar='A,B',
        dest='characters',
        help='bodies to draw, names or files; performer is the captured body, recorded the '
        'puppets in a bag; default performer,sally,blubby, or all bodies in a bag',
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument('--frame', type=int, metavar='I', help='draw frame I, bodies side by side')
    text = 'draw N instants, one row per body'
    which.add_argument('--strip', type=int, metavar='N', help=text)
    which.add_argument(
        '--times', type=_numbers, metavar='S,S', help='draw these times [s], one row per body'
    )
    which.add_argument('--video', type=Path, metavar='FILE', help='render a video, .mp4 or .gif')
    add(
        '--seconds',
        type=_span,
        metavar='A:B',
        help='only this part [s]; either end may be omitted',
    )
    _add_looks(parser)
    clip_arguments.add_solver_options(parser)
    clip_arguments.add_tuning_options(parser, has_procedural=True)
    clip_arguments.add_clip_options(parser, has_props=True)


def _add_looks(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group('looks').add_argument
    text = 'how the camera moves; default %(default)s'
    add('--camera', choices=KINDS, default=FOLLOW, help=text)
    text = 'camera direction, relative to the way the performer faces halfway through'
    add('--view', choices=tuple(VIEWS_DEG), help=text)
    text = 'camera direction as an angle: 0 in front of the performer, 90 on its left; default -60'
    add('--azimuth-deg', type=float, metavar='A', help=text)
    text = 'camera elevation; default %(default)s'
    add('--elevation-deg', type=float, default=8.0, metavar='E', help=text)
    add('--size', type=_size, metavar='WxH', help='size of an instant or a video, in pixels')
    text = f'width; default {PICTURE_PX} for pictures, {FILM_PX} for videos; even for .mp4'
    add('--width-px', type=int, metavar='W', help=text)
    add('--importance', action='store_true', help='colour limbs by importance and draw a legend')
    add('--no-labels', action='store_true', help='draw no text')
    add(
        '--fps',
        type=float,
        default=30.0,
        metavar='F',
        help='frame rate of a video; default %(default)s',
    )
    text = 'playback speed of a video; default %(default)s'
    add('--speed', type=float, default=1.0, metavar='K', help=text)


def settle(arguments: argparse.Namespace) -> None:
    """Fill in what follows from the arguments; ConfigError for one that does not fit."""
    if (arguments.clip is None) == (arguments.script is None):
        raise ConfigError('CLIP: expected a clip or --script, got both or neither')
    if arguments.props and (arguments.script or clip_arguments.is_bag(arguments.clip)):
        raise ConfigError('--props: expected a clip with it, got a bag or a built-in performance')
    is_film = arguments.video is not None
    if (arguments.out is None) != is_film:
        got = 'both' if is_film else 'neither'
        raise ConfigError(f'--out: expected either --out or --video, got {got}')
    arguments.out = arguments.video or arguments.out
    _check_numbers(arguments)
    if is_film:
        film.check_film(arguments.out, arguments.fps)
    name = '--video' if is_film else '--out'
    clip_arguments.check_output(arguments.out, name, '' if is_film else '.png')
    clip_arguments.require_other_files(
        {'CLIP': arguments.clip, '--asf': arguments.asf, '--props': arguments.props},
        {name: arguments.out},
    )
    width = arguments.width_px or (FILM_PX if is_film else PICTURE_PX)
    arguments.size = arguments.size or (width, width * 9 // 16)
    if arguments.azimuth_deg is None:
        arguments.azimuth_deg = VIEWS_DEG[arguments.view] if arguments.view else -60.0


def _check_numbers(arguments: argparse.Namespace) -> None:
    def option(name: str) -> str:
        return '--' + name.replace('_', '-')

    for one, other in (('view', 'azimuth_deg'), ('size', 'width_px')):
        if getattr(arguments, one) is not None and getattr(arguments, other) is not None:
            raise ConfigError(f'{option(one)}: expected it or {option(other)}, got both')
    if arguments.times is not None and len(arguments.times) > MAX_INSTANTS:
        raise ConfigError(f'--times: expected at most {MAX_INSTANTS}, got {len(arguments.times)}')
    for name, low, high in (
        ('width_px', 200, MAX_SIDE_PX),
        ('strip', 1, MAX_INSTANTS),
        ('elevation_deg', -60.0, 85.0),
        ('azimuth_deg', -3600.0, 3600.0),
        ('fps', 1.0, MAX_FPS),
        ('speed', 0.01, 100.0),
    ):
        value = getattr(arguments, name)
        if value is not None and not low <= value <= high:
            raise ConfigError(
                f'{option(name)}: expected {low:g} <= value <= {high:g}, got {value:g}'
            )


def still_times(arguments: argparse.Namespace, n_frames: int, rate_hz: float) -> Floats:
    """Return the instants of a picture, (n,) [s]; ConfigError for what is not in the clip."""
    if arguments.times is not None:
        end = (n_frames - 1) / rate_hz
        for time in arguments.times:
            if not 0.0 <= time <= end + 1e-9:
                raise ConfigError(f'--times: expected 0 .. {end:.3f} s, got {time:g}')
        return np.array(arguments.times)
    first, last = _frame_span(arguments, n_frames, rate_hz)
    if arguments.strip is not None:
        frames = [first + int(i) for i in even_instants(last - first + 1, arguments.strip)]
    else:
        middle = last // 2 if first == 0 else (first + last) // 2
        frames = [middle if arguments.frame is None else arguments.frame]
    for frame in frames:
        if not 0 <= frame < n_frames:
            raise ConfigError(f'frames: expected 0 .. {n_frames - 1}, got {frame}')
    return np.array(frames) / rate_hz


def film_times(arguments: argparse.Namespace, n_frames: int, rate_hz: float) -> Floats:
    """Return the instants of a film, (n,) [s]; ConfigError for what is not in the clip."""
    first, last = _seconds(arguments.seconds, n_frames / rate_hz)
    return film.film_instants(first, last, arguments.fps, arguments.speed)


def _frame_span(arguments: argparse.Namespace, n_frames: int, rate_hz: float) -> tuple[int, int]:
    start, end = _seconds(arguments.seconds, n_frames / rate_hz)
    first = min(math.ceil(start * rate_hz - 1e-6), n_frames - 1)
    return first, max(math.ceil(end * rate_hz - 1e-6) - 1, first)


def _seconds(span: tuple[float, float] | None, end: float) -> tuple[float, float]:
    first, last = span or (0.0, math.inf)
    last = end if math.isinf(last) else last
    if not 0.0 <= first < last <= end + 1e-6:
        raise ConfigError(f'--seconds: expected 0 <= A < B <= {end:.3f}, got {first:g}:{last:g}')
    return first, last


def _numbers(text: str) -> Sequence[float]:
    """Return numbers with commas between; argparse shows the error."""
    try:
        values = [float(word) for word in text.split(',')]
    except ValueError:
        values = [math.nan]
    if not all(math.isfinite(value) for value in values):
        raise argparse.ArgumentTypeError(f'expected numbers with commas between, got {text!r}')
    return values


def _span(text: str) -> tuple[float, float]:
    start, colon, end = text.partition(':')
    try:
        span = float(start or 0.0), float(end or 'inf')
    except ValueError:
        colon = ''
    if not colon or math.isnan(span[0]) or math.isnan(span[1]):
        raise argparse.ArgumentTypeError(f'expected A:B in seconds, got {text!r}')
    return span


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition('x')
    if not (width.isdecimal() and height.isdecimal()) or not all(
        MIN_SIDE_PX <= int(side) <= MAX_SIDE_PX for side in (width, height)
    ):
        raise argparse.ArgumentTypeError(
            f'expected WxH, each {MIN_SIDE_PX} .. {MAX_SIDE_PX} pixels, got {text!r}'
        )
    return int(width), int(height)


EXAMPLE = 'example: ./puppet render walk.bvh --strip 5 -o walk.png'


def run(arguments: argparse.Namespace) -> str:
    """Draw and save, return a line about the result; nothing is written with a PuppetError."""
    settle(arguments)
    cast = Casting(arguments)
    span = cast.span
    if arguments.video is not None:
        return _film(cast, arguments, span)
    times = still_times(arguments, *span)
    actors = _with_near_objects(cast, times)
    if arguments.strip is None and arguments.times is None:
        texts = _texts(actors, arguments, arguments.size)
        picture = line_up(actors, times, _view(arguments), texts).picture(0)
    else:
        picture = _strip(actors, times, arguments)
    save_png(arguments.out, picture)
    height, width = picture.shape[:2]
    frames = ', '.join(f'{time * span[1]:.4g}' for time in times)
    return f'{arguments.out}: {width} x {height} pixels, frame {frames}'


def _film(cast: Casting, arguments: argparse.Namespace, span: tuple[int, float]) -> str:
    times, fps = film_times(arguments, *span), arguments.fps
    width, height = size_px = film.film_size(arguments.out, arguments.size)
    film.check_length(arguments.out, size_px, len(times))
    actors = _with_near_objects(cast, times)
    captions = [] if arguments.no_labels else [f'{time:.2f} s' for time in times]
    texts = _texts(actors, arguments, size_px)
    scenes = line_up(actors, times, _view(arguments), texts, captions)
    with progress(f'draw {arguments.out.name}', len(times)) as advance:
        pictures = film.film_pictures(scenes, advance)
        try:
            film.save_film(arguments.out, pictures, len(times), fps)
        finally:
            pictures.close()  # or what waits to be drawn would be, after Ctrl-C
    return (
        f'{arguments.out}: {width} x {height} pixels, {len(times)} frames, '
        f'{len(times) / fps:.2f} s at {fps:g} a second'
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
    return Texts(size_px, tuple(actor.title for actor in actors), arguments.importance)


def _strip(actors: Sequence[Actor], times: Floats, arguments: argparse.Namespace) -> Picture:
    has_labels = not arguments.no_labels
    rows = []
    for actor in actors:
        cells = [[actor.body_at(float(time))] for time in times]
        around = [actor.objects_at(float(time)) for time in times]
        rows.append(StripRow(actor.title if has_labels else '', cells, (), around))
    captions = [f'{time:.2f} s' for time in times] if has_labels else []
    width = arguments.size[0]
    side = (width + GUTTER_PX) // len(times) - GUTTER_PX
    has_legend = arguments.importance and has_labels
    strip = render_strip(rows, captions, (side, side * 10 // 9), _view(arguments), has_legend)
    rest = ((0, 0), (0, width - strip.shape[1]), (0, 0))
    return np.pad(strip, rest, constant_values=255)
