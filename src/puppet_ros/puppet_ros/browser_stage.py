# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What every picture in the browser begins with: a page, light, a floor, and bodies on it.

Draws with viser, which only the programs that show something need. The meshes of a body are
made once for each character and hang on sixteen frames; a new posture only moves these.

"""

from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
import socket

import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.skeleton import SEGMENTS
from puppet_core.urdf_shape import Part
from puppet_ros.solid_scene import as_bytes
import viser

STAGE = '/stage'
LOOPBACK = '127.0.0.1'
PREFERRED_PORT = 8080
CAMERA_FIELD_RAD = 0.62
SKY_TOP, SKY_BOTTOM = (198, 208, 220), (240, 242, 244)
FLOOR_COLOUR, LINE_COLOUR, SECTION_COLOUR = (232, 233, 235), (214, 217, 221), (190, 195, 201)
FLOOR_EXTENT_M = 40.0
OUT_OF_SIGHT = (0.0, 0.0, -50.0)  # of bodies before their first posture [m]


class BrowserStage:
    """A page with an empty scene, served until it is closed."""

    def __init__(self, host: str = LOOPBACK, port: int = 0) -> None:
        """
        Start the server.

        Parameters
        ----------
        host, port : str, int
            Where to listen; port 0 takes 8080 or, if that is taken, any free one.

        """
        with redirect_stdout(StringIO()):  # viser's banner; the address is said by the caller
            self.server = viser.ViserServer(
                host=host, port=port or _free_port(host), label='puppet', verbose=False
            )
            """Of viser."""
        self.address = f'http://{host}:{self.server.get_port()}'
        """What to open in a browser."""
        _build(self.server.scene)
        self.root = self.server.scene.add_frame(STAGE, show_axes=False)
        """What everything stands on."""
        self.server.scene.add_grid(
            f'{STAGE}/floor', FLOOR_EXTENT_M, FLOOR_EXTENT_M, cell_size=0.5, section_size=1.0,
            cell_color=LINE_COLOUR, section_color=SECTION_COLOUR, shadow_opacity=0.30,
            plane_color=FLOOR_COLOUR, plane_opacity=1.0, fade_distance=22.0, fade_strength=1.5,
            position=(0.0, 0.0, -0.002),
        )  # fmt: skip

    @property
    def is_watched(self) -> bool:
        """Whether a browser shows the page."""
        return bool(self.server.get_clients())

    def look(self, place: tuple[float, ...], target: tuple[float, ...]) -> None:
        """Set from where a browser that opens the page looks, and where to [m]."""
        camera = self.server.initial_camera
        camera.position, camera.look_at, camera.fov = place, target, CAMERA_FIELD_RAD

    def close(self) -> None:
        """Stop the server."""
        with redirect_stdout(StringIO()):
            self.server.stop()


class BodyNodes:
    """The nodes of one body, under a frame of its own."""

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        self._scene = scene
        self.world = scene.add_frame(f'{STAGE}/{name}', show_axes=False)
        """What the body moves in."""
        self._frames = [
            scene.add_frame(f'{STAGE}/{name}/{s}', show_axes=False, position=OUT_OF_SIGHT)
            for s in SEGMENTS
        ]
        self.parts: list[tuple[Part, viser.MeshHandle]] = []
        """What is drawn."""

    def set_parts(self, parts: Sequence[Part], is_pale: bool = False) -> None:
        """Show another body."""
        for _, handle in self.parts:
            handle.remove()
        self.parts = []
        for number, part in enumerate(parts):
            colour = paled(part.colour) if is_pale else part.colour
            handle = self._scene.add_mesh_simple(
                f'{self._frames[part.segment].name}/{number}', part.vertices, part.triangles,
                color=as_bytes(colour), receive_shadow=False,
            )  # fmt: skip
            self.parts.append((part, handle))

    def move(self, q_world: Quats, p_world: Vec3s) -> None:
        """Put the segments, shapes (16, 4) and (16, 3) [m]."""
        for frame, q, p in zip(self._frames, q_world, p_world):
            frame.wxyz, frame.position = q, p


def paled(colour: tuple[float, float, float]) -> Floats:
    """Return a colour nearer to white: of a body that stands back behind another."""
    return 0.30 + 0.70 * np.array(colour)


def _build(scene: viser.SceneApi) -> None:
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
