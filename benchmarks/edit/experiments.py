# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The four experiments of LeeShin1999 table 1, rebuilt: terrain, rope, morph and transition.

With as many frames as in the paper, at its 30 Hz. The walks are captured ones where a folder of
clips is given, else ours. The climb and the terrain are ours in any case: hills by the
paper's numbers, with two doorways; a rope that leans, for a body with longer legs and a
shorter trunk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.edit.morph import bodies_between, morphed, proportioned
from benchmarks.edit.rope import carried_to, climb, grip_constraints, Rope
from benchmarks.edit.walks import square_walk, stooped
import numpy as np
from puppet_core.body import Motion, SEGMENT_INDEX, Skeleton
from puppet_core.clips import load_clip
from puppet_core.io import ConfigError
from puppet_core.procedural import sample
from puppet_edit.editor import Bodies, body_height, Constraint, Surface
from puppet_edit.scene import (
    cut,
    detect_contacts,
    Doorway,
    doorway_at,
    doorway_constraints,
    find_windows,
    firm_poses,
    foot_constraints,
    join,
    on_terrain,
    rough,
    seam_constraints,
    stooping,
    Transition,
)

RATE_HZ = 30.0  # of the paper's clips
TERRAIN, ROPE, MORPH, TRANSITION = 'rough_terrain', 'rope', 'morph', 'transition'
FRAMES = {TERRAIN: 464, ROPE: 275, MORPH: 62, TRANSITION: 119}  # LeeShin1999 table 1
WALK_CLIP, OTHER_CLIP = '02_01.amc', '02_03.amc'  # a walk and a run of one person
SKELETON_FILE = '02.asf'
TERRAIN_SEED = 1
LINTEL = 0.86  # of the body's height, above the ground in the doorway
DOOR_SHARES = (0.16, 0.47)  # of the way walked
FADE_S = 0.6
CHAIN_SEARCH_S, SEAM_SEARCH_S = 0.5, 0.3  # of the clips, for good seams
SNEAK_SPEED = 0.8  # of the stooped walk, over the upright one
_HEAD = (SEGMENT_INDEX['head'],)
_ARMS = tuple(range(4, 10))


@dataclass(frozen=True, slots=True)
class Experiment:
    """A motion, what it has to do, and what stands around it."""

    name: str  # Of FRAMES
    before: Motion  # As it was made or captured
    start: Motion  # What the editor gets
    constraints: tuple[Constraint, ...]  # What it has to do
    free_joints: tuple[int, ...]  # Segments that carry nothing constrained
    bodies: Bodies | None = None  # Lengths of each frame, if they change
    surface: Surface | None = None  # What it walks on, if not the floor
    doorways: tuple[Doorway, ...] = ()  # What it goes through
    rope: Rope | None = None  # What it climbs


class Sources(NamedTuple):
    """The walks that the experiments begin with, all at RATE_HZ and of one body."""

    long_walk: Motion  # At least as long as the terrain's
    stride: Motion  # As long as the morph's
    joined: Transition  # From one gait to another and back


def experiments(skeleton: Skeleton, clips: Path | None = None) -> list[Experiment]:
    """
    Return the four experiments.

    Parameters
    ----------
    skeleton : Skeleton
        Of the walks that are ours, and of the climber.
    clips : Path, optional
        A folder with captured clips.

    Raises
    ------
    PuppetError : if the folder does not have them, or one cannot be read.

    """
    sources = built_in_sources(skeleton) if clips is None else captured_sources(clips)
    return [
        terrain_experiment(sources.long_walk),
        rope_experiment(skeleton),
        morph_experiment(sources.stride),
        transition_experiment(sources.joined),
    ]


def built_in_sources(skeleton: Skeleton) -> Sources:
    """Return walks that are made of formulas."""
    walk = square_walk(skeleton, RATE_HZ).motion
    straight = square_walk(skeleton, RATE_HZ, side_m=6.0).motion
    sneak = stooped(cut(straight, 20, 130))
    slower = sampled(sneak, RATE_HZ, SNEAK_SPEED)
    joined = there_and_back(cut(straight, 0, 80), cut(slower, 0, 55), cut(straight, 30, 150))
    return Sources(
        walk, cut(straight, 30, 30 + FRAMES[MORPH]), trimmed(joined, FRAMES[TRANSITION])
    )


def captured_sources(folder: Path) -> Sources:
    """Return captured walks from a folder or those below it."""
    walk, other = (
        sampled(load_clip(found_in(folder, name), found_in(folder, SKELETON_FILE)), RATE_HZ)
        for name in (WALK_CLIP, OTHER_CLIP)
    )
    chain = walk
    while chain.n_frames < FRAMES[TERRAIN]:
        windows = find_windows(chain, walk, FADE_S, CHAIN_SEARCH_S)
        chain = join(chain, walk, windows).motion
    joined = there_and_back(walk, other, walk)
    start = max(0, (walk.n_frames - FRAMES[MORPH]) // 2)
    return Sources(
        chain, cut(walk, start, start + FRAMES[MORPH]), trimmed(joined, FRAMES[TRANSITION])
    )


def there_and_back(first: Motion, middle: Motion, last: Motion) -> Transition:
    """Return three clips as one, of the middle one as much as good seams leave."""
    windows = find_windows(first, middle, FADE_S, SEAM_SEARCH_S)
    joined = join(first, middle, windows)
    earliest = joined.seams[0].end + 1
    windows = find_windows(joined.motion, last, FADE_S, SEAM_SEARCH_S, earliest)
    return join(joined, last, windows)


def found_in(folder: Path, name: str) -> Path:
    """Return a file of a folder or of those below it; raise ConfigError if there is none."""
    if not folder.is_dir():
        raise ConfigError(f'CLIPS: expected a folder, got {str(folder)!r}')
    found = sorted(folder.rglob(name))
    if not found:
        raise ConfigError(f'CLIPS: expected {name} in {str(folder)!r} or below, got none')
    return found[0]


def sampled(motion: Motion, rate_hz: float, speed: float = 1.0) -> Motion:
    """Return a motion at another rate, or faster or slower."""
    duration_s = (motion.n_frames - 1) / motion.rate_hz
    t = np.arange(int(duration_s / speed * rate_hz) + 1, dtype=np.float64) * (speed / rate_hz)
    return Motion.from_rotations(motion.skeleton, rate_hz, *sample(motion, t))


def trimmed(joined: Transition, n_frames: int) -> Transition:
    """Return as many frames of joined clips, their seams in the middle."""
    first, last = joined.seams[0].start, joined.seams[-1].end
    spare = n_frames - (last - first + 1)
    start = min(max(0, first - spare // 2), joined.motion.n_frames - n_frames)
    part = slice(start, start + n_frames)
    return joined._replace(
        motion=cut(joined.motion, start, start + n_frames),
        seams=tuple(seam._replace(start=seam.start - start) for seam in joined.seams),
        contacts=type(joined.contacts)(joined.contacts.flags[part]),
    )


def terrain_experiment(walk: Motion) -> Experiment:
    """Return a walk that is to go over hills and through two doorways."""
    walk = cut(walk, 0, FRAMES[TERRAIN])
    height = body_height(walk.skeleton)
    surface = rough(TERRAIN_SEED, height)
    adapted = on_terrain(walk, surface)
    doorways = []
    for share in DOOR_SHARES:
        frame = _frame_at(walk, share)
        x, y = walk.root_positions[frame, :2]
        ground = float(surface.height(x, y))
        doorways.append(doorway_at(walk, frame, ground + LINTEL * height))
    constraints = [*adapted.constraints, *doorway_constraints(walk, doorways, surface)]
    start = stooping(walk, doorways, adapted.root_shifts(), surface)
    return Experiment(
        TERRAIN, walk, start, tuple(constraints), _ARMS, None, surface, tuple(doorways)
    )


def rope_experiment(skeleton: Skeleton) -> Experiment:
    """Return a climb for a body with longer legs, shorter trunk and arms, on a leaning rope."""
    source = climb(skeleton, RATE_HZ, FRAMES[ROPE])
    other = proportioned(skeleton, legs=1.2, trunk=0.85, arms=0.9)
    rope = Rope(source.rope.point, np.array([-0.18, 0.0, 1.0]))
    start = carried_to(source, other, rope)
    return Experiment(
        ROPE, source.motion, start, tuple(grip_constraints(source, rope)), _HEAD, rope=rope
    )


def morph_experiment(walk: Motion) -> Experiment:
    """Return a walk of a body that gets long legs and a short trunk, then the reverse."""
    skeleton = walk.skeleton
    n = walk.n_frames
    shapes: Sequence[Skeleton] = (
        skeleton,
        proportioned(skeleton, 1.4, 0.75),
        proportioned(skeleton, 0.75, 1.3),
    )
    bodies = bodies_between(shapes, (0, n // 2, n - 1), n)
    goals = firm_poses(walk, detect_contacts(walk))
    start = morphed(walk, bodies).motion
    constraints = foot_constraints(goals, swings=True)
    return Experiment(MORPH, walk, start, tuple(constraints), (1, 2, *_HEAD, *_ARMS), bodies)


def transition_experiment(joined: Transition) -> Experiment:
    """Return joined clips whose feet have to stand still, over the seams and elsewhere."""
    constraints = seam_constraints(joined, everywhere=True)
    free = (1, 2, *_HEAD, *_ARMS)
    return Experiment(TRANSITION, joined.motion, joined.motion, tuple(constraints), free)


def _frame_at(walk: Motion, share: float) -> int:
    """Return the frame at which a fraction of the way is walked."""
    way = np.cumsum(np.linalg.norm(np.diff(walk.root_positions[:, :2], axis=0), axis=1))
    return int(np.searchsorted(way, share * way[-1]))
