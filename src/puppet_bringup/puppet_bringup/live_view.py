# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The browser's picture: both bodies, the objects around them, what matters and how it runs.

Draws with viser and knows no ROS. The meshes of a body are made once for each character and
hang on sixteen frames; a new posture only moves these.

"""

from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
import socket

import numpy as np
from puppet_bringup.body_shape import Part
from puppet_bringup.solid_scene import as_bytes, SceneSolid, SolidScene
from puppet_bringup.view_panel import ViewPanel
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.importance_colour import importance_colour
from puppet_core.skeleton import LIMB_SEGMENTS, N_SEGMENTS, SEGMENTS
import viser

PERFORMER, PUPPET = 'performer', 'puppet'
STAGE = '/stage'
REAL, RANGE_BALLS = 'real', 'range_balls'
LOOPBACK = '127.0.0.1'
PREFERRED_PORT = 8080
SIDE_STEP_M = (-1.9, 0.0, 0.0)  # of the performer's world from the puppet's, side by side
CAMERA_FROM, CAMERA_TO = (7.0, -0.9, 2.15), (0.0, 0.98, 0.66)
CAMERA_FIELD_RAD = 0.62
SKY_TOP, SKY_BOTTOM = (198, 208, 220), (240, 242, 244)
FLOOR_COLOUR, LINE_COLOUR, SECTION_COLOUR = (232, 233, 235), (214, 217, 221), (190, 195, 201)
FLOOR_EXTENT_M = 40.0
FOLLOW_CENTRE = (0.9, 0.2, 0.0)  # where a followed performer is kept [m]
FOLLOW_SHARE = 0.04  # of the way to the performer that the stage moves in a frame
LIMB_TINTS = (0.0, 0.25, 0.8)  # how far upper, lower and end segment turn with importance
OUT_OF_SIGHT = (0.0, 0.0, -50.0)  # of bodies before their first posture [m]
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
        with redirect_stdout(StringIO()):  # viser's banner; the address is said by the caller
            self._server = viser.ViserServer(
                host=host, port=port or _free_port(host), label='puppet', verbose=False
            )
        self.address = f'http://{host}:{self._server.get_port()}'
        """What to open in a browser."""
        self.panel = ViewPanel(self._server.gui, on_setting, characters, self._arrange, follow)
        self._parts: dict[str, list[tuple[Part, viser.MeshHandle]]] = {}
        self._solids: dict[str, SolidScene] = {}
        self._build_stage()
        self._arrange()

    @property
    def is_side_by_side(self) -> bool:
        """Whether the performer's world stands beside the puppet's."""
        return self.panel.side_by_side

    @property
    def is_watched(self) -> bool:
        """Whether a browser shows the page."""
        return bool(self._server.get_clients())

    def set_body(self, who: str, parts: Sequence[Part]) -> None:
        """Show another body for PERFORMER or PUPPET."""
        for _, handle in self._parts.pop(who, []):
            handle.remove()
        self._parts[who] = []
        for number, part in enumerate(parts):
            colour = part.colour if who == PUPPET else _paled(part.colour)
            handle = self._server.scene.add_mesh_simple(
                f'{self._frames[who][part.segment].name}/{number}', part.vertices, part.triangles,
                color=as_bytes(colour), receive_shadow=False,
            )  # fmt: skip
            self._parts[who].append((part, handle))

    def move_body(self, who: str, q_world: Quats, p_world: Vec3s) -> None:
        """Put a body's segments, shapes (16, 4) and (16, 3) [m]."""
        with self._server.atomic():
            if who == PERFORMER:
                self._follow(p_world[0])
            for frame, q, p in zip(self._frames[who], q_world, p_world):
                frame.wxyz, frame.position = q, p

    def set_importance(self, importances: Floats) -> None:
        """Turn the puppet's hands and feet, and a little its limbs, to importance's colour."""
        tint, share = np.zeros((N_SEGMENTS, 3)), np.zeros(N_SEGMENTS)
        for limb, importance in enumerate(importances):
            for segment, strength in zip(LIMB_SEGMENTS[limb], LIMB_TINTS):
                tint[segment] = importance_colour(float(importance))
                share[segment] = round(strength * float(importance), 2)
        for part, handle in self._parts.get(PUPPET, []):
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
            self._solids[group] = SolidScene(self._server.scene, f'{STAGE}/{world}/{group}')
        self._solids[group].show([solid for solid in solids if not _is_floor(solid)])

    def close(self) -> None:
        """Stop the server."""
        with redirect_stdout(StringIO()):
            self._server.stop()

    def _build_stage(self) -> None:
        scene = self._server.scene
        scene.set_up_direction('+z')
        scene.set_background_image(_sky())
        scene.configure_environment_map(None)
        scene.configure_default_lights(enabled=False)
        scene.add_light_hemisphere(
            '/lights/sky', sky_color=(255, 255, 255), ground_color=(170, 165, 158), intensity=1.9
        )
        scene.add_light_directional(
            '/lights/sun', color=(255, 247, 236), intensity=2.2, cast_shadow=True,
            position=(4.0, -3.0, 7.0),
        )  # fmt: skip
        self._stage = scene.add_frame(STAGE, show_axes=False)
        scene.add_grid(
            f'{STAGE}/floor', FLOOR_EXTENT_M, FLOOR_EXTENT_M, cell_size=0.5, section_size=1.0,
            cell_color=LINE_COLOUR, section_color=SECTION_COLOUR, shadow_opacity=0.30,
            plane_color=FLOOR_COLOUR, plane_opacity=1.0, fade_distance=22.0, fade_strength=1.5,
            position=(0.0, 0.0, -0.002),
        )  # fmt: skip
        self._worlds = {
            who: scene.add_frame(f'{STAGE}/{who}', show_axes=False) for who in (PERFORMER, PUPPET)
        }
        self._frames = {
            who: [
                scene.add_frame(f'{STAGE}/{who}/{s}', show_axes=False, position=OUT_OF_SIGHT)
                for s in SEGMENTS
            ]
            for who in (PERFORMER, PUPPET)
        }
        camera = self._server.initial_camera
        camera.position, camera.look_at, camera.fov = CAMERA_FROM, CAMERA_TO, CAMERA_FIELD_RAD

    def _arrange(self) -> None:
        """Put the performer's world beside the puppet's, or into it."""
        step = SIDE_STEP_M if self.panel.side_by_side else (0.0, 0.0, 0.0)
        self._worlds[PERFORMER].position = step

    def _follow(self, root: Vec3) -> None:
        """Move the stage so that the performer stays in the picture, or put it back."""
        wanted = np.append(-root[:2], 0.0) if self.panel.follow else np.zeros(3)
        wanted = wanted + (FOLLOW_CENTRE if self.panel.follow else 0.0)
        step = FOLLOW_SHARE * (wanted - self._stage.position)
        if np.linalg.norm(step) > 1e-4:
            self._stage.position = self._stage.position + step


def _is_floor(solid: SceneSolid) -> bool:
    return bool(solid.size[2] < FLAT_M and min(solid.size[:2]) > WIDE_M)


def _paled(colour: tuple[float, float, float]) -> Floats:
    """Return a colour nearer to white: the performer stands back behind the puppet."""
    return 0.30 + 0.70 * np.array(colour)


def _sky() -> np.ndarray:
    """Return a picture that runs from one shade to another, top to bottom."""
    share = np.linspace(0.0, 1.0, 64)[:, None, None]
    sky = (1.0 - share) * np.array(SKY_TOP) + share * np.array(SKY_BOTTOM)
    return np.round(np.broadcast_to(sky, (64, 4, 3))).astype(np.uint8)


def _free_port(host: str) -> int:
    for port in (PREFERRED_PORT, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    return PREFERRED_PORT
