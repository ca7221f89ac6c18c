# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which joint of a clip file carries which segment, whatever the names: from tree, bones and motion.

Two long chains of equal length hang from the pelvis, two more from the chest above it. Hip, knee
and ankle, shoulder, elbow and wrist are those joints of a chain whose bones have the most human
shares (DrillisContini1966); toes point forward, without any knees, which says where left is.
"""

from itertools import combinations

import numpy as np
from puppet_core.clips.clip_file import ClipFile
from puppet_core.math import Floats

_FRAMES = 200  # to tell the left from the right
_MIN_EQUAL = 0.85  # shorter over longer chain of a pair
_MIN_SHARE = 0.3  # of an arm's chain over a leg's
_MIN_BEND = 0.5  # sine; a foot that goes on along its shank has no toes
_MIN_SIDE = 0.3  # cosine; below it toes and knees do not tell the left from the right
_TINY = 1e-12
# Parts of a limb and what follows; upper over lower part, what is before and after both over both
_LEG = ('thigh', 'shank', 'foot', 'toe'), np.array([0.0, 0.2, 0.23])
_ARM = ('upper_arm', 'forearm', 'hand', 'fingers'), np.array([np.log(1.1), 0.45, 0.33])


def joints_by_structure(clip: ClipFile) -> dict[str, int] | str:
    """Return the joint of each segment, and of toes and fingers, or what was not found."""
    tree = _Tree(clip)
    choices = [
        (legs, arms)
        for legs, arms in combinations(tree.pairs(), 2)
        if (path := clip.path_down(legs[1], arms[1]))
        and path[0] not in legs[2:]
        and arms[0] > _MIN_SHARE * legs[0]
    ]
    if not choices:
        return 'no pair of arms above a pair of legs'
    legs, arms = max(choices, key=lambda pairs: pairs[0][0] + pairs[1][0])
    lower, upper = (
        [tree.limb(k, _LEG[1]) for k in legs[2:]],
        [tree.limb(k, _ARM[1]) for k in arms[2:]],
    )
    points = clip.thinned(_FRAMES).world()[1]
    hips, knees, ankles, toes = (
        np.stack([points[:, limb[k]] for limb in lower], axis=1) for k in (0, 1, 2, -1)
    )
    shanks, feet = ankles - knees, toes - ankles
    # Toes point forward, shanks bend backward: both products point to the left.
    lefts = np.cross(feet, shanks)
    sines = np.linalg.norm(lefts, axis=2) / np.maximum(
        np.linalg.norm(feet, axis=2) * np.linalg.norm(shanks, axis=2), _TINY
    )
    if sines.mean() < _MIN_BEND:
        lefts = np.cross(knees - hips, shanks)
    across = hips[:, 0] - hips[:, 1]
    left = _cosine(across, lefts.sum(axis=1))
    if abs(left) < _MIN_SIDE:
        return 'neither toes nor knees that point forward'
    same = _cosine(across, points[:, upper[0][0]] - points[:, upper[1][0]])
    roles = {'pelvis': legs[1], 'chest': arms[1]} | tree.trunk(legs, arms)
    for limbs, (parts, _), sign in ((lower, _LEG, left), (upper, _ARM, left * same)):
        for side, limb in zip(('left', 'right'), limbs if sign > 0.0 else limbs[::-1]):
            roles |= {f'{side}_{p}': k for p, k in zip(parts, limb) if not clip.is_tip(k)}
    return roles


_Pair = tuple[float, int, int, int]  # length of the shorter chain [m], joint, its two children


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

    def pairs(self) -> list[_Pair]:
        """Return pairs of equally long chains, those nearer to the root first."""
        return [
            (float(min(self.reach[a], self.reach[b])), joint, a, b)
            for joint, inner in enumerate(self.inner)
            for a, b in combinations(inner, 2)
            if min(self.reach[a], self.reach[b]) > _MIN_EQUAL * max(self.reach[a], self.reach[b])
        ]

    def limb(self, first: int, shares: Floats) -> list[int]:
        """Return the three joints of a limb, and what comes after them on the longest way down."""
        chain = [first]
        while children := self.clip.children(chain[-1]):
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

        best = min(places, key=unlikely, default=(0, 0, 0))
        return [*(chain[k] for k in best), *chain[best[-1] + 1 :]]

    def trunk(self, legs: _Pair, arms: _Pair) -> dict[str, int]:
        """Return spine and head, if there are any."""
        found = {}
        path = self.clip.path_down(legs[1], arms[1]) or ()
        if len(path) > 1:
            found['spine'] = path[0]
        neck: list[int] = []
        below = [k for k in self.inner[arms[1]] if k not in arms[2:]]
        while below and (not neck or len(below) == 1):
            neck.append(max(below, key=lambda k: self.reach[k]))
            below = self.inner[neck[-1]]
        if neck:
            # a last joint without a bone is the head's end, where neck and head are there already
            is_end = len(neck) > 2 and self.reach[neck[-1]] == self.bones[neck[-1]]
            found['head'] = neck[-2 if is_end else -1]
        return found


def _cosine(a: Floats, b: Floats) -> float:
    """Return the mean cosine, by lengths, of the angle between vectors (n, 3)."""
    sizes = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(np.sum(a * b) / max(np.sum(sizes), _TINY))
