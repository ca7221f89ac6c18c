# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Films: their instants, their pictures, and files of them, all or nothing."""

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import repeat
import math
import os
from pathlib import Path
from typing import Any
import zlib

import numpy as np
from PIL import Image
from puppet_core.drawing import Picture
from puppet_core.io import ConfigError, how_to_install, replacing
from puppet_core.math import Floats
from puppet_view.render.actors import LineUp

MAX_FRAMES = 100_000
CHUNK = 2  # pictures a processor that are drawn before the next are begun
SAMPLES = 2  # rays along each side of a pixel on an edge
MP4, GIF = SUFFIXES = ('.mp4', '.gif')
MAX_GIF_FPS = 50.0  # viewers play faster ones slowly
MAX_GIF_PIXELS = 1_500_000_000  # of all pictures; one takes a little more than a byte
CRF = '20'  # quality of H.264, 0 best to 51
_BT709, _LIMITED = 1, 1  # code points of ITU-T H.273: colours, range
_GIF_TICK_S = 0.01
_PALETTE_PICTURES = 8  # that its colours are taken from
_KEPT_BITS = 0xFC  # of a colour that counts
_COLOURS = 255  # one is left for what stays as it was
_WHOLE = 1e-6  # of a frame


def film_instants(first_s: float, last_s: float, fps: float, speed: float = 1.0) -> Floats:
    """Return a film's times in the clip, at least one, to before the last [s], or ConfigError."""
    count = max(math.ceil((last_s - first_s) * fps / speed - _WHOLE), 1)
    if count > MAX_FRAMES:
        raise ConfigError(f'--video: expected at most {MAX_FRAMES} frames, got {count}')
    return np.asarray(first_s + np.arange(count) * (speed / fps), dtype=np.float64)


def film_pictures(
    scenes: LineUp, advance: Callable[[int], object]
) -> Generator[Picture, None, None]:
    """Yield the picture of each instant, in order, drawn by all processors; report progress."""
    threads = os.cpu_count() or 1
    count, step = len(scenes.shots), CHUNK * threads
    with ThreadPoolExecutor(threads) as pool:
        for first in range(0, count, step):
            instants = range(first, min(first + step, count))
            for picture in pool.map(scenes.picture, instants, repeat(SAMPLES)):
                yield picture
                advance(1)


def check_film(path: Path, fps: float) -> None:
    """Refuse, by a ConfigError, a film that cannot be written, before the work is done."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigError(f'--video: expected a .mp4 or .gif file, got {str(path)!r}')
    if suffix == GIF and fps > MAX_GIF_FPS:
        raise ConfigError(f'--fps: expected at most {MAX_GIF_FPS:g} for a .gif, got {fps:g}')
    if suffix == MP4:
        _codec()


def check_length(path: Path, size_px: tuple[int, int], count: int) -> None:
    """Refuse a GIF that would not fit into memory, by a ConfigError."""
    most = MAX_GIF_PIXELS // (size_px[0] * size_px[1])
    if path.suffix.lower() == GIF and count > most:
        raise ConfigError(
            f'--video: expected at most {most} pictures of {size_px[0]} x {size_px[1]} pixels in '
            f'a .gif, got {count}; an .mp4 may have any number'
        )


def film_size(path: Path, size_px: tuple[int, int]) -> tuple[int, int]:
    """Return width and height that the film can have: those of an MP4 are even."""
    width, height = size_px
    is_mp4 = path.suffix.lower() == MP4
    return (width + width % 2, height + height % 2) if is_mp4 else size_px


def save_film(path: Path, pictures: Iterable[Picture], count: int, fps: float) -> None:
    """Write so many pictures of one size, even for an .mp4; nothing is left on failure."""
    if path.suffix.lower() == MP4:
        _save_mp4(path, pictures, fps)
    else:
        _save_gif(path, pictures, count, fps)


def _codec() -> Any:
    try:
        import av
    except ImportError as err:
        raise ConfigError(
            '--video: expected the package av for .mp4, which is not installed; '
            f'{how_to_install("film", "av")}; or write a .gif'
        ) from err
    return av


def _save_mp4(path: Path, pictures: Iterable[Picture], fps: float) -> None:
    av = _codec()
    with (
        replacing(path) as temporary,
        av.open(
            str(temporary), 'w', format='mp4', options={'movflags': '+faststart'}
        ) as container,
    ):
        stream = None
        for picture in pictures:
            if stream is None:
                stream = container.add_stream('libx264', Fraction(fps).limit_denominator(1001))
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt, stream.options = 'yuv420p', {'crf': CRF}
                context = stream.codec_context
                context.colorspace = context.color_primaries = context.color_trc = _BT709
                context.color_range = _LIMITED
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format='rgb24')
            frame = frame.reformat(
                format='yuv420p', dst_colorspace=_BT709, dst_color_range=_LIMITED
            )
            container.mux(stream.encode(frame))
        if stream is not None:
            container.mux(stream.encode())


def _save_gif(path: Path, pictures: Iterable[Picture], count: int, fps: float) -> None:
    # a picture of a scene packs to a tenth, and all are needed before there is a table
    drawn: list[bytes] = []
    some: list[Picture] = []
    for i, picture in enumerate(pictures):
        drawn.append(zlib.compress(picture.tobytes(), 1))
        if i % max(count // _PALETTE_PICTURES, 1) == 0:
            some.append(picture)
    table, shape = _table(some), some[0].shape
    unpacked = (np.frombuffer(zlib.decompress(data), np.uint8).reshape(shape) for data in drawn)
    images = (
        Image.fromarray(picture).quantize(palette=table, dither=Image.Dither.NONE)
        for picture in unpacked
    )
    ends = np.rint(np.arange(count + 1) / (fps * _GIF_TICK_S)).astype(int)
    with replacing(path) as temporary:
        next(images).save(
            temporary,
            format='GIF',
            save_all=True,
            append_images=images,
            loop=0,
            duration=[int(d) * 10 for d in np.diff(ends)],
            optimize=False,
        )


def _table(some: Sequence[Picture]) -> Image.Image:
    # half by area, half each colour once, or floor and sky would take nearly the whole table
    pixels = np.concatenate(some).reshape(-1, 3)
    colours = np.unique(pixels & _KEPT_BITS, axis=0)
    colours = np.concatenate((colours, pixels[:: max(len(pixels) // len(colours), 1)]))
    return Image.fromarray(colours[None]).quantize(
        _COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
    )
