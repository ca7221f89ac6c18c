# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which joint of a clip file carries which segment, whatever the names: from tree, bones and motion.

Two long chains of equal length hang from the pelvis, two more from the chest above it. Their
joints are those whose bones have the most human shares (DrillisContini1966); toes, without any
knees, say where left is.
"""

from itertools import combinations, permutations

import numpy as np
from puppet_core.clips.clip_file import ClipFile
from puppet_core.math import Floats

_FEW, _MOST = 8, 30  # chains of a joint, and pairs or joints of a chain; bound the search
_FRAMES = 200  # to tell the left from the right
_MIN_EQUAL = 0.85  # shorter over longer chain of a pair
_MIN_SHARE = 0.3  # of an arm's chain over a leg's
_MIN_BEND = 0.5  # sine; a foot that goes on along its shank has no toes
_MIN_VOTES = 0.3  # of the frames for one side being the left, less those for the other
# Parts of a limb and what follows; upper over lower part, what is before and after both over both
_LEG = ('thigh', 'shank', 'foot', 'toe'), np.array([0.0, 0.2, 0.23])
_ARM = ('upper_arm', 'forearm', 'hand', 'fingers'), np.array([np.log(1.1), 0.45, 0.33])


def joints_by_structure(clip: ClipFile) -> dict[str, int] | str:
    """Return the joint of each segment, and of toes and fingers, or what was not found."""
    tree = _Tree(clip)
    choices = [
        (legs, arms)
        for legs, arms in permutations(sorted(tree.pairs(), reverse=True)[:_MOST], 2)
        if (path := clip.path_down(legs[1], arms[1]))
        and path[0] not in legs[2:]
        and arms[0] > _MIN_SHARE * legs[0]
    ]
    if not choices:
        return 'no pair of arms above a pair of legs'
    legs, arms = max(choices, key=lambda pairs: pairs[0][0] + pairs[1][0])
    lower, upper = (
        [tree.limb(k, shares) for k in pair[2:]]
        for pair, (_, shares) in ((legs, _LEG), (arms, _ARM))
    )
    neck = [k for k in tree.inner[arms[1]] if k not in arms[2:]]
    if not neck or not all([*lower, *upper]):
        return 'no neck, or limbs without two bones'
    points = clip.thinned(_FRAMES).world()[1]
    hips, knees, ankles, toes = (
        np.stack([points[:, limb[k]] for limb in lower], axis=1) for k in (0, 1, 2, -1)
    )
    # Toes point forward, shanks bend backward: both products point to the left.
    shanks, feet = ankles - knees, toes - ankles
    lefts = np.cross(feet, shanks)
    sizes = np.linalg.norm((lefts, feet, shanks), axis=3)
    if sizes[0].sum() <= _MIN_BEND * (sizes[1] * sizes[2]).sum():
        lefts = np.cross(knees - hips, shanks)
    across = hips[:, 0] - hips[:, 1]
    votes = np.sum(across * lefts.sum(axis=1), axis=1)
    if abs(votes.sum()) <= _MIN_VOTES * np.abs(votes).sum():
        return 'neither toes nor knees that point forward'
    shoulders = points[:, upper[0][0]] - points[:, upper[1][0]]
    left, same = votes.sum(), np.sum(across * shoulders)
    roles = {'pelvis': legs[1], 'chest': arms[1]}
    if len(path := clip.path_down(legs[1], arms[1]) or ()) > 1:
        roles['spine'] = path[0]
    while neck:
        roles['head'] = max(neck, key=lambda k: tree.reach[k])
        inner = tree.inner[roles['head']]
        neck = inner if len(inner) == 1 else []  # else the face begins
    for limbs, (parts, _), sign in ((lower, _LEG, left), (upper, _ARM, left * same)):
        for side, limb in zip(('left', 'right'), limbs if sign > 0.0 else limbs[::-1]):
            roles |= {f'{side}_{p}': k for p, k in zip(parts, limb) if not clip.is_tip(k)}
    return roles


class _Tree:
    """A file's joints, and how far it is down along the bones."""

    def __init__(self, clip: ClipFile) -> None:
        self.clip = clip
        joints = range(len(clip.parents))
        self.inner = [[k for k in clip.children(j) if not clip.is_tip(k)] for j in joints]
        self.bones = np.linalg.norm(clip.offsets, axis=1)
        self.reach = self.bones.copy()  # from a joint's parent to the farthest end below it [m]
        for joint in reversed(joints[1:]):
            parent = clip.parents[joint]
            through = self.bones[parent] + self.reach[joint]
            self.reach[parent] = max(self.reach[parent], through)

    def pairs(self) -> list[tuple[float, int, int, int]]:
        """Return the shorter length [m], joint and children of pairs of equally long chains."""
        longest = [sorted(inner, key=lambda k: -self.reach[k])[:_FEW] for inner in self.inner]
        return [
            (float(self.reach[short]), joint, long, short)
            for joint, inner in enumerate(longest)
            for long, short in combinations(inner, 2)
            if self.reach[short] > _MIN_EQUAL * self.reach[long]
        ]

    def limb(self, first: int, shares: Floats) -> list[int]:
        """Return the three joints of a limb and what is below on the longest way, [] if none."""
        chain = [first]
        while (children := self.clip.children(chain[-1])) and len(chain) < _MOST:
            chain.append(max(children, key=lambda k: self.reach[k]))
        along = np.cumsum(self.bones[chain])
        # nothing bends below a hand of three fingers
        hands = [at for at, k in enumerate(chain) if at > 1 and len(self.inner[k]) > 2]
        places = combinations(range(min([*hands, len(chain) - 1]) + 1), 3)

        def unlikely(three: tuple[int, ...]) -> float:
            start, middle, end = along[list(three)]
            if not start < middle < end:
                return np.inf
            parts = np.log((middle - start) / (end - middle)), start, along[-1] - end
            return float(np.sum((parts / np.array([1.0, end - start, end - start]) - shares) ** 2))

        best = min(places, key=unlikely, default=())
        return [*(chain[k] for k in best), *chain[best[-1] + 1 :]] if best else []
