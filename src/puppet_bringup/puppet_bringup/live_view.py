# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The browser's picture: both bodies, the objects around them, what matters and how it runs.

Draws with viser and knows no ROS.

"""

from collections.abc import Callable, Sequence

import numpy as np
from puppet_bringup.view_panel import ViewPanel
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.importance_colour import importance_colour
from puppet_core.skeleton import LIMB_SEGMENTS, N_SEGMENTS
from puppet_core.urdf_shape import Part
from puppet_ros.browser_stage import BodyNodes, BrowserStage, LOOPBACK, STAGE
from puppet_ros.solid_scene import as_bytes, SceneSolid, SolidScene

PERFORMER, PUPPET = 'performer', 'puppet'
REAL, RANGE_BALLS = 'real', 'range_balls'
SIDE_STEP_M = (-1.9, 0.0, 0.0)  # of the performer's world from the puppet's, side by side
CAMERA_FROM, CAMERA_TO = (7.0, -0.9, 2.15), (0.0, 0.98, 0.66)
FOLLOW_CENTRE = (0.9, 0.2, 0.0)  # where a followed performer is kept [m]
FOLLOW_SHARE = 0.04  # of the way to the performer that the stage moves in a frame
LIMB_TINTS = (0.0, 0.25, 0.8)  # how far upper, lower and end segment turn with importance
FLAT_M = 0.02  # thinner and wider objects are the floor, which the grid shows already
WIDE_M = 5.0


class LiveView:
    """One page with a scene and a panel."""

    def __init__(
        self, on_setting: Callable[[str, object], None], characters: tuple[str, ...],
        host: str = LOOPBACK, port: int = 0, follow: bool = False,
    ) -> None:  # fmt: skip
        """
        Start the server.

        Parameters
        ----------
        on_setting : callable
            Called with name and value when somebody moves a control; from another thread.
        characters : tuple of str
            For the drop-down list.
        host, port : str, int
            Where to listen; port 0 takes 8080 or, if that is taken, any free one.
        follow : bool
            Whether to keep the performer in the picture from the start.

        """
        self._stage = BrowserStage(host, port)
        self._stage.look(CAMERA_FROM, CAMERA_TO)
        server = self._stage.server
        self.address = self._stage.address
        """What to open in a browser."""
        self.panel = ViewPanel(server.gui, on_setting, characters, self._arrange, follow)
        self._solids: dict[str, SolidScene] = {}
        self._bodies = {who: BodyNodes(server.scene, who) for who in (PERFORMER, PUPPET)}
        self._arrange()

    @property
    def is_side_by_side(self) -> bool:
        """Whether the performer's world stands beside the puppet's."""
        return self.panel.side_by_side

    @property
    def is_watched(self) -> bool:
        """Whether a browser shows the page."""
        return self._stage.is_watched

    def set_body(self, who: str, parts: Sequence[Part]) -> None:
        """Show another body for PERFORMER or PUPPET."""
        self._bodies[who].set_parts(parts, is_pale=who == PERFORMER)

    def move_body(self, who: str, q_world: Quats, p_world: Vec3s) -> None:
        """Put a body's segments, shapes (16, 4) and (16, 3) [m]."""
        with self._stage.server.atomic():
            if who == PERFORMER:
                self._follow(p_world[0])
            self._bodies[who].move(q_world, p_world)

    def set_importance(self, importances: Floats) -> None:
        """Turn the puppet's hands and feet, and a little its limbs, to importance's colour."""
        tint, share = np.zeros((N_SEGMENTS, 3)), np.zeros(N_SEGMENTS)
        for limb, importance in enumerate(importances):
            for segment, strength in zip(LIMB_SEGMENTS[limb], LIMB_TINTS):
                tint[segment] = importance_colour(float(importance))
                share[segment] = round(strength * float(importance), 2)
        for part, handle in self._bodies[PUPPET].parts:
            own = share[part.segment]
            colour = as_bytes((1.0 - own) * np.array(part.colour) + own * tint[part.segment])
            if tuple(handle.color) != colour:
                handle.color = colour

    def set_solids(self, group: str, solids: list[SceneSolid]) -> None:
        """Show exactly these solids of a group."""
        if group == RANGE_BALLS and not self.panel.range_balls:
            solids = []
        if group not in self._solids:
            world = PERFORMER if group == REAL else PUPPET
            self._solids[group] = SolidScene(self._stage.server.scene, f'{STAGE}/{world}/{group}')
        self._solids[group].show([solid for solid in solids if not _is_floor(solid)])

    def close(self) -> None:
        """Stop the server."""
        self._stage.close()

    def _arrange(self) -> None:
        """Put the performer's world beside the puppet's, or into it."""
        step = SIDE_STEP_M if self.panel.side_by_side else (0.0, 0.0, 0.0)
        self._bodies[PERFORMER].world.position = step

    def _follow(self, root: Vec3) -> None:
        """Move the stage so that the performer stays in the picture, or put it back."""
        wanted = np.append(-root[:2], 0.0) if self.panel.follow else np.zeros(3)
        wanted = wanted + (FOLLOW_CENTRE if self.panel.follow else 0.0)
        step = FOLLOW_SHARE * (wanted - self._stage.root.position)
        if np.linalg.norm(step) > 1e-4:
            self._stage.root.position = self._stage.root.position + step


def _is_floor(solid: SceneSolid) -> bool:
    return bool(solid.size[2] < FLAT_M and min(solid.size[:2]) > WIDE_M)
