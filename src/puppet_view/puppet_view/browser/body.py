# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A body in the browser's scene: meshes made once for each character, on frames that move."""

from collections.abc import Sequence

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, N_SEGMENTS, PARENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.marker_spec import importance_colour
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_core.robots import Part
from puppet_view.browser.stage import as_bytes, STAGE
import viser

OUT_OF_SIGHT = (0.0, 0.0, -50.0)  # of bodies before their first posture [m]
STILL = 1e-5  # what moves or turns by less is not sent again [m, -]
LIMB_TINTS = (0.0, 0.25, 0.8)  # how far upper, lower and end segment turn with importance
ABOVE_HEAD_M = 0.08


class BodyNodes:
    """The nodes of one body, which hang on each other as its segments do."""

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        """Make the frames, out of sight; nothing hangs on them yet."""
        self._scene = scene
        self.world = scene.add_frame(f'{STAGE}/{name}', show_axes=False)  # what the body moves in
        self._frames: list[viser.FrameHandle] = []
        for segment, parent in zip(SEGMENTS, PARENTS):
            above = self._frames[parent].name if self._frames else self.world.name
            place = (0.0, 0.0, 0.0) if self._frames else OUT_OF_SIGHT
            self._frames.append(
                scene.add_frame(f'{above}/{segment}', show_axes=False, position=place)
            )
        self._sent_q = np.full((N_SEGMENTS, 4), np.nan)
        self._sent_p = np.full((N_SEGMENTS, 3), np.nan)
        self._caption: viser.LabelHandle | None = None
        self._links: dict[int, viser.FrameHandle] = {}  # of a robot, in the body's world
        self.parts: list[tuple[Part, viser.MeshHandle]] = []  # what is drawn

    def set_parts(self, parts: Sequence[Part], is_pale: bool = False) -> None:
        for _, handle in self.parts:
            handle.remove()
        for frame in self._links.values():
            frame.remove()
        self.parts, self._links = [], {}
        for number, part in enumerate(parts):
            if is_pale:
                red, green, blue = paled(part.colour).tolist()
                part = part._replace(colour=(red, green, blue))
            is_link = part.link >= 0
            if is_link and part.link not in self._links:
                name = f'{self.world.name}/link{part.link}'
                self._links[part.link] = self._scene.add_frame(name, show_axes=False)
            above = self._links[part.link] if is_link else self._frames[part.segment]
            handle = self._scene.add_mesh_simple(
                f'{above.name}/{number}',
                part.vertices,
                part.triangles,
                color=as_bytes(part.colour),
                flat_shading=is_link,  # its edges are sharp
                receive_shadow=False,
            )
            self.parts.append((part, handle))

    def set_caption(self, text: str) -> None:
        """Write above the head; '' for nothing."""
        if self._caption is not None and self._caption.text != text:
            self._caption.remove()
            self._caption = None
        if text and self._caption is None:
            head = SEGMENT_INDEX['head']
            tops = [p.vertices[:, 2].max() for p, _ in self.parts if p.segment == head]
            self._caption = self._scene.add_label(
                f'{self._frames[head].name}/caption',
                text,
                anchor='bottom-center',
                position=(0.0, 0.0, max(tops, default=0.2) + ABOVE_HEAD_M),
            )

    def set_importance(self, importances: Floats) -> None:
        """Turn hands and feet, and a little the limbs, to importance's colour, shape (4,)."""
        tint, share = np.zeros((N_SEGMENTS, 3)), np.zeros(N_SEGMENTS)
        for limb, importance in enumerate(importances):
            for segment, strength in zip(LIMB_SEGMENTS[limb], LIMB_TINTS):
                tint[segment] = importance_colour(float(importance))
                share[segment] = round(strength * float(importance), 2)
        for part, handle in self.parts:
            own = share[part.segment]
            colour = as_bytes((1.0 - own) * np.array(part.colour) + own * tint[part.segment])
            if tuple(handle.color) != colour:
                handle.color = colour

    def move(self, q_world: Quats, p_world: Vec3s) -> None:
        """Put the segments, shapes (16, 4) and (16, 3) [m]."""
        above = quaternions.conjugate(q_world[PARENTS[1:]])
        q, p = np.array(q_world), np.array(p_world)
        q[1:] = quaternions.multiply(above, q_world[1:])
        p[1:] = quaternions.rotate(above, p_world[1:] - p_world[PARENTS[1:]])
        turned = ~(np.abs(q - self._sent_q).max(axis=1) < STILL)  # also where nothing was sent
        shifted = ~(np.abs(p - self._sent_p).max(axis=1) < STILL)
        for i in np.flatnonzero(turned):
            self._frames[i].wxyz = q[i]
        for i in np.flatnonzero(shifted):
            self._frames[i].position = p[i]
        self._sent_q[turned], self._sent_p[shifted] = q[turned], p[shifted]

    def move_links(self, q_world: Quats, p_world: Vec3s) -> None:
        """Put the links of a robot, shapes (l, 4) and (l, 3) [m]."""
        for link, frame in self._links.items():
            frame.wxyz, frame.position = q_world[link], p_world[link]

    def places(self) -> Vec3s:
        """Return where the segments' joints are shown in the body's world, shape (16, 3) [m]."""
        q, p = self._sent_q.copy(), self._sent_p.copy()
        for i in range(1, N_SEGMENTS):
            above = q[PARENTS[i]]
            p[i] = p[PARENTS[i]] + quaternions.rotate(above, p[i])
            q[i] = quaternions.multiply(above, q[i])
        return p


def paled(colour: tuple[float, float, float]) -> Floats:
    """Return a colour nearer to white: of a body that stands back behind another."""
    return 0.30 + 0.70 * np.array(colour)
