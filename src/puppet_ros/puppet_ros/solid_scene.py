# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Solids in the browser's scene, each node made once and then only changed.

A node that is made anew many times a second arrives late in the browser, and its later
movements are lost; so nodes of solids that go are hidden, and shown again when they return.

"""

from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Quat, Vec3
from puppet_core.unit_meshes import closed_cylinder, unit_sphere
import viser

OPAQUE = 0.999
MAX_NODES = 4000  # of a group, hidden ones included


class SceneSolid(NamedTuple):
    """A solid of the environment, a goal or a range ball."""

    group: str
    """'environment', 'real', 'goals' or 'range_balls'."""

    name: str
    """Unique within the group."""

    shape: str
    """'cube', 'sphere' or 'cylinder'."""

    position: Vec3
    """Centre [m]."""

    rotation: Quat
    """Shape (4,)."""

    size: Vec3
    """Full extents [m]."""

    colour: tuple[float, float, float, float]
    """Red, green, blue, opacity."""


class SolidScene:
    """The nodes of one group of solids under a parent node."""

    def __init__(self, scene: viser.SceneApi, parent: str) -> None:
        self._scene = scene
        self._parent = parent
        self._nodes: dict[tuple[str, str], viser.MeshHandle | viser.BoxHandle] = {}
        self._shown: dict[tuple[str, str], SceneSolid] = {}

    def show(self, solids: list[SceneSolid]) -> None:
        """Show exactly these solids."""
        wanted = {(solid.name, solid.shape): solid for solid in solids}
        for key in self._shown.keys() - wanted.keys():
            self._nodes[key].visible = False
            del self._shown[key]
        for key, solid in wanted.items():
            if key not in self._nodes:
                self._nodes[key] = self._make(solid)
            self._change(self._nodes[key], solid, self._shown.get(key))
            self._shown[key] = solid
        if len(self._nodes) > MAX_NODES:
            for key in self._nodes.keys() - self._shown.keys():
                self._nodes.pop(key).remove()

    def _make(self, solid: SceneSolid) -> viser.MeshHandle | viser.BoxHandle:
        """Return a node of unit size at the origin."""
        name = f'{self._parent}/{solid.shape}_{solid.name}'
        casts_shadow = solid.colour[3] > OPAQUE
        if solid.shape == 'cube':
            return self._scene.add_box(name, cast_shadow=casts_shadow)
        vertices, faces = closed_cylinder() if solid.shape == 'cylinder' else unit_sphere()
        if solid.shape == 'sphere':
            vertices = 0.5 * vertices
        return self._scene.add_mesh_simple(name, vertices, faces, cast_shadow=casts_shadow)

    def _change(
        self, node: viser.MeshHandle | viser.BoxHandle, new: SceneSolid, old: SceneSolid | None
    ) -> None:
        node.position, node.wxyz = new.position, new.rotation
        if old is None or not np.array_equal(old.size, new.size):
            x, y, z = (float(extent) for extent in new.size)
            node.scale = (x, y, z)
        if old is None or old.colour != new.colour:
            node.color = as_bytes(new.colour)
            opacity = new.colour[3]
            node.opacity = None if opacity > OPAQUE else opacity
        if old is None:
            node.visible = True


def as_bytes(colour: Floats | tuple[float, ...]) -> tuple[int, int, int]:
    """Return red, green, blue in 0 .. 1 as 0 .. 255."""
    red, green, blue = (round(255.0 * float(np.clip(c, 0.0, 1.0))) for c in colour[:3])
    return red, green, blue
