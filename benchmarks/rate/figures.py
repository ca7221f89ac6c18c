# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Figures 7 to 11 of ChoiKo2000 from our own runs, and the walk as stick figures (fig. 6)."""

from collections.abc import Iterator, Sequence

from benchmarks.line_chart import Line, line_chart
from benchmarks.rate import swing as rate_swing
from benchmarks.rate import walk as rate_walk
from benchmarks.rate.experiments import Run
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


def figures(run: Run, swings: Sequence[Run]) -> Iterator[tuple[str, Picture]]:
    """Yield name and picture of each figure."""
    yield 'rate_figure_7', end_effector_figure(run)
    yield 'rate_figure_8', magnified_figure(run)
    yield 'rate_figure_9', joint_figure(run)
    yield 'rate_walk', strip(run)
    yield 'rate_swing', swing_strip(swings)


def _times(run: Run) -> Floats:
    return np.arange(len(run.clip.script.bases)) / run.clip.rate_hz


def _tip(run: Run, result: RateResult | RateClip) -> Vec3s:
    """Return the left toe tip, shape (n, 3) [m]."""
    return task_track(run.clip.tasks[0], result)


def end_effector_figure(run: Run) -> Picture:
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


def magnified_figure(run: Run) -> Picture:
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


def joint_figure(run: Run) -> Picture:
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


def strip(run: Run) -> Picture:
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


SWING_PX = (1000, 720)
SWING_FRAMES = (42, 55, 60, 63, 68, 78)  # from the wind-up to the follow-through; 63 hits
TURN_RAD = 0.9  # from which the batter is seen, from the front to the left
BAT_M, HEAD_M, HIP_M = 0.6, 0.10, 0.09
KNEES_M, SHOWN_M = ((0.05, 0.16, 0.6), (0.05, -0.16, 0.6)), (0.6, 2.05)  # how high: what is drawn
LIMB_COLOURS = {1: TEXT_COLOUR, 7: LEFT_COLOUR, 10: RIGHT_COLOUR}  # by the first segment
BAT_COLOUR, LEG_COLOUR = (150, 110, 60), (205, 208, 212)


def swing_strip(runs: Sequence[Run]) -> Picture:
    """
    Return figs. 10 and 11: batter and characters, each at rest, then as it swings.

    The thighs are only drawn: the pelvis of all is the batter's.
    """
    width, height = SWING_PX
    image = Image.new('RGB', (width * FINER, height * FINER), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    source, n = runs[0].clip, len(SWING_FRAMES) + 1
    names = ('batter', *rate_swing.PROPORTIONS)
    bodies = (source.source, *(run.body for run in runs))
    results: tuple[RateResult | RateClip, ...] = (source, *(run.ours for run in runs))
    tall = height / len(names)
    for row, (name, body, result) in enumerate(zip(names, bodies, results)):
        text = (FINER * 8, FINER * (row * tall + 6))
        draw.text(text, name, TEXT_COLOUR, font_size=15 * FINER)
        rest_q, rest_p = np.tile([1.0, 0.0, 0.0, 0.0], (len(body.names), 1)), body.offsets.copy()
        for i, parent in enumerate(body.parents):
            rest_p[i] = rest_p[parent] + body.offsets[i] if i else rate_swing.HIPS_M
        poses = [(rest_q, rest_p), *((result.q_world[f], result.p_world[f]) for f in SWING_FRAMES)]
        for column, (q, p) in enumerate(poses):
            place = (column + 0.5) * width / n, (row + 1) * tall - MARGIN_PX
            _batter(
                draw, (q, p), place, (tall - MARGIN_PX) / (SHOWN_M[1] - SHOWN_M[0]), column > 0
            )
    return np.asarray(image.resize(SWING_PX, Image.Resampling.LANCZOS))


def _batter(
    draw: ImageDraw.ImageDraw,
    pose: tuple[Quats, Vec3s],
    place: tuple[float, float],
    scale: float,
    has_bat: bool,
) -> None:
    """Draw an upper body with its bat as lines, from its left and front."""
    q, p = pose
    across = np.array([-np.sin(TURN_RAD), np.cos(TURN_RAD), 0.0])

    def pixel(point: Floats) -> tuple[float, float]:
        return (
            FINER * (place[0] + scale * float(point @ across)),
            FINER * (place[1] - scale * (point[2] - SHOWN_M[0])),
        )

    def line(points: Sequence[Floats], colour: tuple[int, int, int], px: int = 3) -> None:
        draw.line([pixel(point) for point in points], colour, px * FINER, joint='curve')

    for side, knee in zip((1.0, -1.0), KNEES_M):
        hip = p[0] + qb.rotate(q[0], np.array([0.0, side * HIP_M, 0.0]))
        line((p[0], hip, np.array(knee)), LEG_COLOUR)
    middle = p[rate_swing.HEAD] + [0.0, 0.0, HEAD_M]
    line((*p[[0, *rate_swing.TORSO, rate_swing.HEAD]], middle), LIMB_COLOURS[1], 4)
    x, y = pixel(middle)
    size = FINER * scale * HEAD_M
    draw.ellipse((x - size, y - size, x + size, y + size), LIMB_COLOURS[1])
    palms = []
    for arm, side in zip(rate_swing.ARMS, (1.0, -1.0)):
        palm = qb.rotate(q[arm[2]], np.array([0.0, side * rate_swing.GRIP_M, 0.0])) + p[arm[2]]
        palms.append(palm)
        line((p[rate_swing.TOP], *p[list(arm)], palm), LIMB_COLOURS[arm[0]])
    if has_bat:
        along = qb.rotate(q[rate_swing.ARMS[0][2]], np.array([1.0, 0.0, 0.0]))
        line((0.5 * (palms[0] + palms[1]), palms[1] + BAT_M * along), BAT_COLOUR, 4)


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
