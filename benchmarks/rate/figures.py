# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Figures 7 to 11 of ChoiKo2000 from our own runs, and the walk as stick figures (fig. 6)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.line_chart import Line, line_chart
from benchmarks.rate import swing as rate_swing
from benchmarks.rate import walk as rate_walk
from benchmarks.rate.experiments import Run
from benchmarks.rate.run import flexion, RateClip, RateResult, task_track
import numpy as np
from PIL import Image, ImageDraw
from puppet_core.drawing import BLUE, DARK, Picture, RED, TEXT_COLOUR
from puppet_core.math import Floats, Quats, Vec3, Vec3s
from puppet_core.math import quaternions as qb
from puppet_retarget.rate_control import BodyTree

SOURCE_COLOUR, PRINTED_COLOUR, OUR_COLOUR = DARK, RED, BLUE
AXES = ('forward', 'to the left', 'up')
PIECE_S = (5.0, 6.2)  # of fig. 8: the left foot's swing that ends near frame 180
JOINTS = (('hip', 0), ('knee', 1), ('ankle', 2), ('ball of the foot', 3))

STRIP_PX, FINER, MARGIN_PX = (1000, 420), 3, 16
STRIP_FRAMES = tuple(range(122, 182, 6))
FLOOR_COLOUR, LEFT_COLOUR, RIGHT_COLOUR = (190, 195, 200), (31, 98, 168), (204, 92, 32)
HEEL = np.array([-rate_walk.HEEL_M, 0.0, -rate_walk.ANKLE_M])
TIP = np.array([rate_walk.TOES_M, 0.0, 0.0])


def figures(run: Run, swings: Sequence[Run], hits: Sequence[Run]) -> Iterator[tuple[str, Picture]]:
    """Yield name and picture of each figure."""
    yield 'rate_figure_7', end_effector_figure(run)
    yield 'rate_figure_8', magnified_figure(run)
    yield 'rate_figure_9', joint_figure(run)
    yield 'rate_walk', strip(run)
    yield 'rate_swing', swing_strip(swings)
    yield 'rate_hits', hit_strip(hits)


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


SWING_PX, SWING_ROW_PX = 1000, 180
SWING_FRAMES = (42, 55, 60, 63, 68, 78)  # from the wind-up to the follow-through
HIT_FRAME = rate_swing.AIM_FRAMES[1]
TURN_RAD = 0.9  # from which the batter is seen, from the front to the left
BAT_M, HEAD_M, HIP_M, BALL_M = 0.6, 0.10, 0.09, 0.045
KNEES_M, SHOWN_M = ((0.05, 0.16, 0.6), (0.05, -0.16, 0.6)), (0.6, 2.05)  # how high: what is drawn
LIMB_COLOURS = {1: TEXT_COLOUR, 7: LEFT_COLOUR, 10: RIGHT_COLOUR}  # by the first segment
DIRECTIONS = (('farther', 'nearer'), ('to the left', 'to the right'), ('higher', 'lower'))
BAT_COLOUR, LEG_COLOUR, BALL_COLOUR = (150, 110, 60), (205, 208, 212), (210, 45, 40)
Pose = tuple[Quats, Vec3s]


class SwingRow(NamedTuple):
    title: str
    rest: Pose | None  # A first picture without a bat, if there is one
    result: RateResult | RateClip
    ball: Vec3 | None = None  # Where the bat is to hit [m]


def swing_strip(runs: Sequence[Run]) -> Picture:
    """Return figs. 10 and 11: batter and characters, each at rest, then as it swings."""
    source = runs[0].clip
    rows = [SwingRow('batter', _rest(source.source), source)]
    rows += [
        SwingRow(name, _rest(run.body), run.ours)
        for name, run in zip(rate_swing.PROPORTIONS, runs)
    ]
    return _swings(rows)


def hit_strip(runs: Sequence[Run]) -> Picture:
    """Return the batter's swing, and the same swing with other hit points, each with its ball."""
    clip = runs[0].clip

    def hit_by(palms: Vec3s) -> Vec3:
        grip, bat = rate_swing.bat_of(palms)
        return grip + rate_swing.SPOT_M * bat

    palms = np.stack([task_track(task, clip)[HIT_FRAME] for task in clip.tasks[:2]])
    rows = [SwingRow('batter', None, clip, hit_by(palms))]
    for run in runs:
        shift = run.clip.script.positions[HIT_FRAME, 0] - palms[0]
        along = [
            f'{100.0 * abs(by):.0f} cm {words[0 if by > 0.0 else 1]}'
            for by, words in zip(shift, DIRECTIONS)
            if abs(by) > 0.005
        ]
        ball = hit_by(run.clip.script.positions[HIT_FRAME, :2])
        rows.append(SwingRow(', '.join(along) or 'as the batter', None, run.ours, ball))
    return _swings(rows)


def _rest(body: BodyTree) -> Pose:
    q, p = np.tile([1.0, 0.0, 0.0, 0.0], (len(body.names), 1)), body.offsets.copy()
    for i, parent in enumerate(body.parents):
        p[i] = p[parent] + body.offsets[i] if i else rate_swing.HIPS_M
    return q, p


def _swings(rows: Sequence[SwingRow]) -> Picture:
    """
    Return a row of instants for each swing.

    The thighs are only drawn: the pelvis of all is the batter's.
    """
    size = SWING_PX, SWING_ROW_PX * len(rows)
    image = Image.new('RGB', (size[0] * FINER, size[1] * FINER), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    scale = (SWING_ROW_PX - MARGIN_PX) / (SHOWN_M[1] - SHOWN_M[0])
    for number, row in enumerate(rows):
        text = (FINER * 8, FINER * (number * SWING_ROW_PX + 6))
        draw.text(text, row.title, TEXT_COLOUR, font_size=15 * FINER)
        q, p = row.result.q_world, row.result.p_world
        for column, frame in enumerate((None, *SWING_FRAMES)):
            middle = (column + 0.5) * SWING_PX / (len(SWING_FRAMES) + 1)
            place = middle, (number + 1) * SWING_ROW_PX - MARGIN_PX
            pose = row.rest if frame is None else (q[frame], p[frame])
            if pose is not None:
                ball = row.ball if frame == HIT_FRAME else None
                _batter(draw, pose, (place, scale), frame is not None, ball)
    return np.asarray(image.resize(size, Image.Resampling.LANCZOS))


def _batter(
    draw: ImageDraw.ImageDraw,
    pose: Pose,
    frame: tuple[tuple[float, float], float],
    has_bat: bool,
    ball: Vec3 | None,
) -> None:
    """Draw an upper body with its bat as lines, from its left and front."""
    (q, p), (place, scale) = pose, frame
    across = np.array([-np.sin(TURN_RAD), np.cos(TURN_RAD), 0.0])

    def pixel(point: Floats) -> tuple[float, float]:
        return (
            FINER * (place[0] + scale * float(point @ across)),
            FINER * (place[1] - scale * (point[2] - SHOWN_M[0])),
        )

    def line(points: Sequence[Floats], colour: tuple[int, int, int], px: int = 3) -> None:
        draw.line([pixel(point) for point in points], colour, px * FINER, joint='curve')

    def disc(middle: Vec3, radius: float, colour: tuple[int, int, int]) -> None:
        (x, y), size = pixel(middle), FINER * scale * radius
        draw.ellipse((x - size, y - size, x + size, y + size), colour)

    for side, knee in zip((1.0, -1.0), KNEES_M):
        hip = p[0] + qb.rotate(q[0], np.array([0.0, side * HIP_M, 0.0]))
        line((p[0], hip, np.array(knee)), LEG_COLOUR)
    middle = p[rate_swing.HEAD] + [0.0, 0.0, HEAD_M]
    line((*p[[0, *rate_swing.TORSO, rate_swing.HEAD]], middle), LIMB_COLOURS[1], 4)
    disc(middle, HEAD_M, LIMB_COLOURS[1])
    palms = []
    for arm, side in zip(rate_swing.ARMS, (1.0, -1.0)):
        palm = qb.rotate(q[arm[2]], np.array([0.0, side * rate_swing.GRIP_M, 0.0])) + p[arm[2]]
        palms.append(palm)
        line((p[rate_swing.TOP], *p[list(arm)], palm), LIMB_COLOURS[arm[0]])
    if ball is not None:
        disc(ball, BALL_M, BALL_COLOUR)
    if has_bat:
        grip, along = rate_swing.bat_of(np.array(palms))
        line((grip, palms[1] + BAT_M * along), BAT_COLOUR, 4)


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
