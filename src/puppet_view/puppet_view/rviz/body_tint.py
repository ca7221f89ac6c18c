# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The puppet's limbs in the colour of their importance, over a robot model that cannot change its.

Each capsule of a limb that matters is drawn again, a little thicker, so that it hides the one
of the RobotModel without fighting for the same pixels, in a mixture of its own colour and that
of the importance. They move with the links' frames: only what changes its colour is sent.

"""

from typing import NamedTuple

import numpy as np
from puppet_core.body import Capsule, Character, LIMB_SEGMENTS, LIMBS, SEGMENTS
from puppet_core.marker_spec import (
    CYLINDER_SHAPE,
    IDENTITY,
    importance_colour,
    MarkerSpec,
    SPHERE_SHAPE,
)
from puppet_core.math import Floats, Quat, Vec3

TINTS = (0.2, 0.6, 0.95)  # how far upper, lower and end segment turn at importance 1
SKIN_M = 0.003  # thicker than the model's capsule
STEPS = 20  # of importance with a colour of their own
MIN_CORE_M = 1e-6
LIFETIME_S = 1.5
KEEP_ALIVE_NS = 500_000_000


class _Solid(NamedTuple):
    shape: str
    segment: int
    position: Vec3
    orientation: Quat
    size: Vec3
    colour: tuple[float, float, float]
    tint: float


class BodyTint:
    """The coloured limbs of one puppet."""

    def __init__(self, character: Character, prefix: str) -> None:
        """
        Prepare the limbs.

        Parameters
        ----------
        character : Character
            Whose capsules. A robot's links are not our segments: it has no coloured limbs.
        prefix : str
            Put before a segment's name, it gives the TF frame, as in 'puppet/'.

        """
        self._prefix = prefix
        capsules = () if character.robot is not None else character.capsules
        self._limbs = [
            [
                solid
                for segment, tint in zip(segments, TINTS)
                for capsule in capsules
                if capsule.segment == segment
                for solid in _solids(capsule, character.colour_of(capsule), tint)
            ]
            for segments in LIMB_SEGMENTS
        ]
        self._shown = [0] * len(LIMBS)
        self._sent_ns: list[int | None] = [None] * len(LIMBS)

    def step(self, importances: Floats, now_ns: int) -> tuple[MarkerSpec, ...]:
        """
        Return the solids to send now.

        Parameters
        ----------
        importances : ndarray, shape (4,)
            Of the end-effectors, in 0 .. 1; what is not finite counts as 0.
        now_ns : int
            Time that does not jump [ns].

        """
        markers: list[MarkerSpec] = []
        for limb, importance in enumerate(np.nan_to_num(importances)):
            level = round(STEPS * float(np.clip(importance, 0.0, 1.0)))
            sent_ns = self._sent_ns[limb]
            is_old = sent_ns is None or now_ns - sent_ns >= KEEP_ALIVE_NS
            if level == self._shown[limb] and (level == 0 or not is_old):
                continue  # at 0 the last ones expire
            self._shown[limb], self._sent_ns[limb] = level, now_ns
            markers += self._limb(limb, level / STEPS)
        return tuple(markers)

    def _limb(self, limb: int, importance: float) -> list[MarkerSpec]:
        warm = np.array(importance_colour(importance))
        markers = []
        for index, solid in enumerate(self._limbs[limb]):
            share = solid.tint * importance
            red, green, blue = (1.0 - share) * np.array(solid.colour) + share * warm
            markers.append(
                MarkerSpec(
                    LIMBS[limb],
                    index,
                    solid.shape,
                    solid.position,
                    solid.orientation,
                    solid.size,
                    (float(red), float(green), float(blue), 1.0),
                    frame=self._prefix + SEGMENTS[solid.segment],
                )
            )
        return markers


def _solids(capsule: Capsule, colour: tuple[float, float, float], tint: float) -> list[_Solid]:
    """Return what a capsule is drawn with, in its segment's frame."""
    radius = capsule.radius + SKIN_M
    core = capsule.end - capsule.start
    length = float(np.linalg.norm(core))
    ends = [capsule.start] if length <= MIN_CORE_M else [capsule.start, capsule.end]
    solids = [
        _Solid(
            SPHERE_SHAPE, capsule.segment, end, IDENTITY, np.full(3, 2.0 * radius), colour, tint
        )
        for end in ends
    ]
    if length > MIN_CORE_M:
        size = np.array([2.0 * radius, 2.0 * radius, length])
        middle = 0.5 * (capsule.start + capsule.end)
        turn = _turn_of_z(core / length)
        solids.append(_Solid(CYLINDER_SHAPE, capsule.segment, middle, turn, size, colour, tint))
    return solids


def _turn_of_z(direction: Vec3) -> Quat:
    """Return the shortest turn of +Z into a unit direction."""
    w = 1.0 + direction[2]
    if w < MIN_CORE_M:
        return np.array([0.0, 1.0, 0.0, 0.0])  # half a turn about x
    turn = np.array([w, -direction[1], direction[0], 0.0])
    return turn / np.linalg.norm(turn)
