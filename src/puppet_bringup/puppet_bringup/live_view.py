# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The browser's picture: all bodies, the objects around them, what matters and how it runs.

Draws with viser and knows no ROS.

"""

from collections.abc import Callable, Sequence

import numpy as np
from puppet_bringup.view_panel import ViewPanel
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.urdf_shape import Part
from puppet_ros.browser_body import BodyNodes
from puppet_ros.browser_stage import BrowserStage, LOOPBACK, STAGE
from puppet_ros.solid_scene import SceneSolid, SolidScene

PERFORMER, PUPPET = 'performer', 'puppet'
REAL, RANGE_BALLS = 'real', 'range_balls'
# between neighbours in the row: the performer, the puppet, and what other puppets there are
SIDE_STEP_M = np.array([2.4, 0.0, 0.0])
CAMERA_FROM, CAMERA_TO = (4.6, -3.5, 2.4), (0.0, 0.0, 0.8)
STEP_BACK = 0.22  # of the camera's distance, for each puppet after the first
FOLLOW_SHARE = 0.03  # of the way to the bodies that the stage moves in a frame
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
            Whether to keep the bodies in the middle of the picture from the start.

        """
        self._stage = BrowserStage(host, port)
        server = self._stage.server
        self.address = self._stage.address
        """What to open in a browser."""
        self.panel = ViewPanel(server.gui, on_setting, characters, self._arrange, follow)
        self._solids: dict[str, SolidScene] = {}
        self._bodies: dict[str, BodyNodes] = {}
        self._captions: dict[str, str] = {}
        self._roots: dict[str, Vec3] = {}
        for who in (PERFORMER, PUPPET):
            self._bodies[who] = BodyNodes(server.scene, who)
        self._arrange()

    @property
    def is_side_by_side(self) -> bool:
        """Whether the performer's world stands beside the puppet's."""
        return self.panel.side_by_side

    @property
    def is_watched(self) -> bool:
        """Whether a browser shows the page."""
        return self._stage.is_watched

    def set_body(self, who: str, parts: Sequence[Part], caption: str = '') -> None:
        """
        Show another body.

        Parameters
        ----------
        who : str
            PERFORMER, PUPPET, or another name: that of one more puppet at the end of the row.
        parts : sequence of Part
            What it looks like.
        caption : str
            Written above its head.

        """
        if who not in self._bodies:
            self._bodies[who] = BodyNodes(self._stage.server.scene, who)
        self._captions[who] = caption
        self._bodies[who].set_caption('')
        self._bodies[who].set_parts(parts, is_pale=who == PERFORMER)
        self._arrange()

    def move_bodies(self, postures: dict[str, tuple[Quats, Vec3s]]) -> None:
        """Put bodies' segments by name, shapes (16, 4) and (16, 3) [m], all in one instant."""
        with self._stage.at_once():
            for who, (q_world, p_world) in postures.items():
                if who in self._bodies:
                    self._bodies[who].move(q_world, p_world)
                    self._roots[who] = p_world[0]
            self._follow()

    def set_importance(self, importances: Floats) -> None:
        """Turn the puppets' hands and feet, and a little their limbs, to importance's colour."""
        for who, body in self._bodies.items():
            if who != PERFORMER:
                body.set_importance(importances)

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
        """Put the worlds beside each other, or into one, and look at all of them."""
        others = [who for who in self._bodies if who not in (PERFORMER, PUPPET)]
        for number, who in enumerate((PERFORMER, PUPPET, *sorted(others)), start=-1):
            shift = number * SIDE_STEP_M if self.panel.side_by_side else np.zeros(3)
            self._bodies[who].world.position = shift
        for who, body in self._bodies.items():
            body.set_caption(self._captions.get(who, '') if self.panel.names else '')
        back = 1.0 + STEP_BACK * len(others)
        place = CAMERA_TO + back * np.subtract(CAMERA_FROM, CAMERA_TO)
        self._stage.look(tuple(place.tolist()), CAMERA_TO)

    def _follow(self) -> None:
        """Move the stage so that the bodies stay in the picture, if that is wanted."""
        if not self.panel.follow or not self._roots:
            return
        places = [root + self._bodies[who].world.position for who, root in self._roots.items()]
        middle = 0.5 * (np.min(places, axis=0) + np.max(places, axis=0)) * (1.0, 1.0, 0.0)
        step = FOLLOW_SHARE * (-middle - self._stage.root.position)
        if np.linalg.norm(step) > 1e-4:
            self._stage.root.position = self._stage.root.position + step


def _is_floor(solid: SceneSolid) -> bool:
    return bool(solid.size[2] < FLAT_M and min(solid.size[:2]) > WIDE_M)
