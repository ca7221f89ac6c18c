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
        self._solids: dict[tuple[str, int], tuple[float, str, SceneSolid]] = {}
        self._groups: dict[str, None] = {REAL: None}

    def add(self, marker: Marker) -> None:
        """Take a cube, sphere or cylinder of possible numbers; of too many the oldest goes."""
        group, key = marker.ns, (marker.ns, marker.id)
        if marker.type not in SHAPES or max(len(group), len(marker.text)) > MAX_TEXT:
            return
        place, turn, size = marker.pose.position, marker.pose.orientation, marker.scale
        position, extents = (np.array([v.x, v.y, v.z]) for v in (place, size))
        rotation = np.array([turn.w, turn.x, turn.y, turn.z])
        colour = (marker.color.r, marker.color.g, marker.color.b, marker.color.a)
        numbers = np.concatenate((position, rotation, extents, colour))
        if not np.all(np.abs(numbers) <= MAX_COORDINATE_M):  # also of NaN
            return
        if group not in self._groups and len(self._groups) >= MAX_GROUPS:
            return
        self._groups.setdefault(group)
        shape = SHAPES[marker.type]
        solid = SceneSolid(group, str(marker.id), shape, position, rotation, extents, colour)
        lifetime_s = marker.lifetime.sec + 1e-9 * marker.lifetime.nanosec
        self._solids.pop(key, None)  # then the first is the oldest
        self._solids[key] = (time.monotonic() + (lifetime_s or np.inf), marker.text, solid)
        if len(self._solids) > MAX_SOLIDS:
            del self._solids[next(iter(self._solids))]

    def groups(self) -> tuple[str, ...]:
        """Return the namespaces seen so far, and the performer's objects."""
        return tuple(self._groups)

    def shown(self, group: str, side_by_side: bool) -> list[SceneSolid]:
        """Return the living solids of a group; only side by side both worlds have shared ones."""
        alive = self._alive(group)
        solids = [solid for _, solid in alive]
        if group != REAL:
            return solids
        shared = self._alive(ENVIRONMENT)
        if not side_by_side:
            places = [(*solid.position, *solid.size) for _, solid in shared]
            return [s for s in solids if (*s.position, *s.size) not in places]
        own = {text for text, _ in alive}
        copies = (solid for text, solid in shared if text not in own)
        return solids + [s._replace(group=REAL, name=f'copy_{s.name}') for s in copies]

    def _alive(self, group: str) -> list[tuple[str, SceneSolid]]:
        now = time.monotonic()
        found = ((key, *value) for key, value in self._solids.items())
        return [
            (text, solid) for key, until, text, solid in found if key[0] == group and until > now
        ]
