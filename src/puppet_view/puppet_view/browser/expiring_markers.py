# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Markers with their lifetimes, as the solids that the view draws now."""

import time

import numpy as np
from puppet_core.body import MAX_COORDINATE_M
from puppet_view.browser.stage import SceneSolid
from visualization_msgs.msg import Marker

SHAPES = {Marker.CUBE: 'cube', Marker.SPHERE: 'sphere', Marker.CYLINDER: 'cylinder'}
ENVIRONMENT, REAL = 'environment', 'real'
# Whoever makes up names for each message makes more.
MAX_SOLIDS, MAX_GROUPS, MAX_TEXT = 2000, 20, 256


class ExpiringMarkers:
    """The markers of /markers that have not expired."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, int], float] = {}
        self._solids: dict[tuple[str, int], tuple[str, SceneSolid]] = {}
        self._groups: dict[str, None] = {REAL: None}

    def add(self, marker: Marker) -> None:
        """
        Take a marker.

        Other shapes than cubes, spheres and cylinders are passed over, and so are numbers that
        none can have, and names of too many groups; of too many solids the oldest are forgotten.

        """
        if marker.type not in SHAPES or not _is_sound(marker):
            return
        if max(len(marker.ns), len(marker.text)) > MAX_TEXT:
            return
        if marker.ns not in self._groups and len(self._groups) >= MAX_GROUPS:
            return
        self._groups.setdefault(marker.ns)
        key = (marker.ns, marker.id)
        self._solids.pop(key, None)  # then the first is the oldest
        lifetime_s = marker.lifetime.sec + 1e-9 * marker.lifetime.nanosec
        self._until[key] = time.monotonic() + (lifetime_s or np.inf)
        self._solids[key] = (marker.text, solid_of(marker))
        if len(self._solids) > MAX_SOLIDS:
            oldest = next(iter(self._solids))
            del self._solids[oldest], self._until[oldest]

    def groups(self) -> tuple[str, ...]:
        """Return the namespaces seen so far, and the performer's objects."""
        return tuple(self._groups)

    def shown(self, group: str, side_by_side: bool) -> list[SceneSolid]:
        """
        Return the solids of a group that are alive.

        An object that is the same in both worlds is published once; with the worlds side by
        side the performer gets a copy of it.

        """
        alive = self._alive(group)
        if group == REAL and side_by_side:
            own = {text for text, _ in alive}
            alive += [
                (text, solid._replace(group=REAL, name=f'copy_{solid.name}'))
                for text, solid in self._alive(ENVIRONMENT)
                if text not in own
            ]
        return [solid for _, solid in alive]

    def _alive(self, group: str) -> list[tuple[str, SceneSolid]]:
        now = time.monotonic()
        return [
            solid
            for key, solid in self._solids.items()
            if key[0] == group and self._until[key] > now
        ]


def _is_sound(marker: Marker) -> bool:
    place, turn, size = marker.pose.position, marker.pose.orientation, marker.scale
    colour = marker.color
    numbers = (
        place.x,
        place.y,
        place.z,
        turn.w,
        turn.x,
        turn.y,
        turn.z,
        size.x,
        size.y,
        size.z,
        colour.r,
        colour.g,
        colour.b,
        colour.a,
    )
    return all(abs(number) <= MAX_COORDINATE_M for number in numbers)  # false for NaN


def solid_of(marker: Marker) -> SceneSolid:
    """Return a marker of one of the types in SHAPES as a solid."""
    position, rotation, scale = marker.pose.position, marker.pose.orientation, marker.scale
    colour = marker.color
    return SceneSolid(
        group=marker.ns,
        name=str(marker.id),
        shape=SHAPES[marker.type],
        position=np.array([position.x, position.y, position.z]),
        rotation=np.array([rotation.w, rotation.x, rotation.y, rotation.z]),
        size=np.array([scale.x, scale.y, scale.z]),
        colour=(colour.r, colour.g, colour.b, colour.a),
    )
