# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Figures 7, 8 and 9 of ChoiKo2000 from our own runs, and the walk as stick figures (fig. 6)."""

from collections.abc import Iterator

from benchmarks.line_chart import Line, line_chart
from benchmarks.rate import walk as rate_walk
from benchmarks.rate.experiments import WalkRun
from benchmarks.rate.run import flexion, RateClip, RateResult, task_track
import numpy as np
from PIL import Image, ImageDraw
from puppet_core.drawing import BLUE, DARK, Picture, RED, TEXT_COLOUR
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.math import quaternions as qb

SOURCE_COLOUR, PRINTED_COLOUR, OUR_COLOUR = DARK, RED, BLUE
AXES = ('forward', 'to the left', 'up')
PIECE_S = (5.0, 6.2)  # of fig. 8: the left foot's swing that ends near frame 180
JOINTS = (('hip', 0), ('knee', 1), ('ankle', 2), ('ball of the foot', 3))

STRIP_PX, FINER, MARGIN_PX = (1000, 420), 3, 16
STRIP_FRAMES = tuple(range(122, 182, 6))
FLOOR_COLOUR, LEFT_COLOUR, RIGHT_COLOUR = (190, 195, 200), (31, 98, 168), (204, 92, 32)
HEEL = np.array([-rate_walk.HEEL_M, 0.0, -rate_walk.ANKLE_M])
TIP = np.array([rate_walk.TOES_M, 0.0, 0.0])


def figures(run: WalkRun) -> Iterator[tuple[str, Picture]]:
    """Yield name and picture of each figure."""
    yield 'rate_figure_7', end_effector_figure(run)
    yield 'rate_figure_8', magnified_figure(run)
    yield 'rate_figure_9', joint_figure(run)
    yield 'rate_walk', strip(run)


def _times(run: WalkRun) -> Floats:
    return np.arange(len(run.clip.script.bases)) / run.clip.rate_hz


def _tip(run: WalkRun, result: RateResult | RateClip) -> Vec3s:
    """Return the left toe tip, shape (n, 3) [m]."""
    return task_track(run.clip.tasks[0], result)


def end_effector_figure(run: WalkRun) -> Picture:
    """Return fig. 7: the left toe tip of source and destination, settings as printed."""
    source, found = _tip(run, run.clip), _tip(run, run.printed)
    panels = {
        f'left toe tip {axis} [cm]': [
            Line('destination', 100.0 * found[:, k], PRINTED_COLOUR, 1.9),
            Line('source', 100.0 * source[:, k], SOURCE_COLOUR, 1.1, '--'),
        ]
        for k, axis in enumerate(AXES)
    }
    return line_chart(_times(run), panels)


def magnified_figure(run: WalkRun) -> Picture:
    """Return fig. 8: its height over one second, and how far both settings are from it."""
    times = _times(run)
    piece = (times >= PIECE_S[0]) & (times <= PIECE_S[1])
    source = _tip(run, run.clip)[piece]
    printed, ours = (_tip(run, result)[piece] for result in (run.printed, run.ours))
    height = [
        Line('as printed', 100.0 * printed[:, 2], PRINTED_COLOUR, 1.9),
        Line('ours', 100.0 * ours[:, 2], OUR_COLOUR, 1.5),
        Line('source', 100.0 * source[:, 2], SOURCE_COLOUR, 1.1, '--'),
    ]
    error = [
        Line('as printed', 100.0 * np.linalg.norm(printed - source, axis=1), PRINTED_COLOUR),
        Line('ours', 100.0 * np.linalg.norm(ours - source, axis=1), OUR_COLOUR),
    ]
    return line_chart(
        times[piece], {'left toe tip up [cm]': height, 'distance from the source [cm]': error}
    )


def joint_figure(run: WalkRun) -> Picture:
    """Return fig. 9: the left leg's angles about the sideways axes."""

    def angles(rotations: Quats, joint: int) -> Floats:
        return np.degrees(flexion(rotations[:, joint]))

    panels = {
        f'{name} [deg]': [
            Line('destination', angles(run.ours.rotations, 1 + k), OUR_COLOUR, 1.9),
            Line('source', angles(run.clip.script.imitated, 1 + k), SOURCE_COLOUR, 1.1, '--'),
        ]
        for name, k in JOINTS
    }
    return line_chart(_times(run), panels, 900)


def strip(run: WalkRun) -> Picture:
    """Return source and destination side by side at some frames, seen from their right."""
    width, height = STRIP_PX
    image = Image.new('RGB', (width * FINER, height * FINER), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    half = height // 2
    bodies: tuple[RateResult | RateClip, ...] = (run.clip, run.ours)
    for row, result in enumerate(bodies):
        floor = (row + 1) * half - MARGIN_PX
        draw.line([(0, FINER * floor), (FINER * width, FINER * floor)], FLOOR_COLOUR, FINER)
        draw.text(
            (FINER * 8, FINER * (row * half + 6)),
            ('source', 'destination')[row],
            TEXT_COLOUR,
            font_size=15 * FINER,
        )
        for column, frame in enumerate(STRIP_FRAMES):
            middle = (column + 0.5) * width / len(STRIP_FRAMES)
            _stick(draw, result, frame, (middle, floor), (half - 2 * MARGIN_PX) / 1.1)
    return np.asarray(image.resize(STRIP_PX, Image.Resampling.LANCZOS))


def _stick(
    draw: ImageDraw.ImageDraw,
    result: RateResult | RateClip,
    frame: int,
    place: tuple[float, float],
    scale: float,
) -> None:
    """Draw a body as lines, forward to the right."""
    q, p = result.q_world[frame], result.p_world[frame]
    ahead = qb.rotate(q[0], np.array([1.0, 0.0, 0.0])) * [1.0, 1.0, 0.0]
    ahead /= np.linalg.norm(ahead)

    def pixel(point: Floats) -> tuple[float, float]:
        along = float((point - p[0]) @ ahead)
        return FINER * (place[0] + scale * along), FINER * (place[1] - scale * point[2])

    for first, colour in ((1, LEFT_COLOUR), (5, RIGHT_COLOUR)):
        hip, knee, ankle, ball = p[first : first + 4]
        heel = ankle + qb.rotate(q[first + 2], HEEL)
        tip = ball + qb.rotate(q[first + 3], TIP)
        for line in ((p[0], hip, knee, ankle, heel, ball, tip), (ankle, ball)):
            draw.line([pixel(point) for point in line], colour, 3 * FINER, joint='curve')
