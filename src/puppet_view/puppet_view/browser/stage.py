# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The viser scene that all pages share: server, camera, light, floor, and solids."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
import socket
from typing import NamedTuple

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Quat, Vec3, Vec3s
import trimesh
import viser

STAGE = '/stage'
LOOPBACK = '127.0.0.1'
EVERYWHERE = ('0.0.0.0', '::', '')
OPEN_WARNING = 'whoever reaches this address over the network sees the page and can use it'
PREFERRED_PORT = 8080
CAMERA_FIELD_RAD = 0.62  # from top to bottom
NARROW = 1.0  # width over height below which the camera steps back
SHEET_SHARE = 0.17  # of the picture's height that a narrow one is moved up by, over the controls
PANEL_PX = 340  # width of the controls in a wide window
SUN_NEAR_M, SUN_LEFT_M, SUN_HIGH_M = 4.0, 3.0, 7.0  # of the light, towards the viewer
SKY_TOP, SKY_BOTTOM = (198, 208, 220), (240, 242, 244)
FLOOR_COLOUR, LINE_COLOUR, SECTION_COLOUR = (232, 233, 235), (214, 217, 221), (190, 195, 201)
FLOOR_EXTENT_M = 40.0

OPAQUE = 0.999
ROUND_STEPS = 24  # around solids
MAX_NODES = 4000  # of a group, hidden ones included


class _OwnServer(viser.ViserServer):
    """Serves only on the given address."""

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Refuse a way in from the internet, which any browser may ask for."""
        return None


class BrowserStage:
    """A page with an empty scene, served until it is closed."""

    def __init__(self, host: str = LOOPBACK, port: int = 0) -> None:
        """Start the server; port 0 is 8080 or any free one. ConfigError for a host not here."""
        port = _free_port(host, port)
        with redirect_stdout(StringIO()):  # viser's banner; the address is reported by the caller
            self.server = _OwnServer(host=host, port=port, label='puppet', verbose=False)
        self.address = f'http://{_reachable(host)}:{self.server.get_port()}'  # what to open
        self._view = np.array([5.0, 0.0, 1.5]), np.array([0.0, 0.0, 0.9])
        self.server.on_client_connect(self._fit)
        self._sun = _build(self.server.scene)
        # what everything stands on
        self.root = self.server.scene.add_frame(STAGE, show_axes=False)
        self.server.scene.add_grid(
            f'{STAGE}/floor',
            FLOOR_EXTENT_M,
            FLOOR_EXTENT_M,
            cell_size=0.5,
            section_size=1.0,
            cell_color=LINE_COLOUR,
            section_color=SECTION_COLOUR,
            shadow_opacity=0.30,
            plane_color=FLOOR_COLOUR,
            plane_opacity=1.0,
            fade_distance=22.0,
            fade_strength=1.5,
            position=(0.0, 0.0, -0.002),
        )

    @property
    def is_watched(self) -> bool:
        return bool(self.server.get_clients())

    def look(self, place: tuple[float, ...], target: tuple[float, ...]) -> None:
        """Set from where a browser looks at first, and where to [m], beside the controls."""
        self._view = np.array(place), np.array(target)
        camera = self.server.initial_camera
        camera.position, camera.look_at, camera.fov = place, target, CAMERA_FIELD_RAD
        away = (self._view[0] - self._view[1]) * (1.0, 1.0, 0.0)
        away /= np.linalg.norm(away)
        left = np.cross(away, (0.0, 0.0, 1.0))
        self._sun.position = SUN_NEAR_M * away + SUN_LEFT_M * left + (0.0, 0.0, SUN_HIGH_M)

    def _fit(self, client: viser.ClientHandle) -> None:
        place, target = self._view
        camera = client.camera
        away = place - target
        high = 2.0 * np.tan(0.5 * CAMERA_FIELD_RAD) * np.linalg.norm(away)
        if camera.aspect < NARROW:
            away = away * NARROW / max(camera.aspect, 0.3)
            target = target - (0.0, 0.0, SHEET_SHARE * high * NARROW / camera.aspect)
        else:
            right = np.cross((0.0, 0.0, 1.0), away)
            covered = 0.5 * PANEL_PX / max(camera.image_width, PANEL_PX)
            target = target + covered * high * camera.aspect * right / np.linalg.norm(right)
        camera.position, camera.look_at = target + away, target

    def follow(self, places: Sequence[Vec3] | Vec3s, fraction: float) -> None:
        """Move all a part of the way to having the place between some [m] in the middle."""
        centre = 0.5 * (np.min(places, axis=0) + np.max(places, axis=0))
        away = centre * (-1.0, -1.0, 0.0) - self.root.position
        if np.linalg.norm(away) > 1e-3:
            self.root.position = self.root.position + fraction * away

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Send what changes within this as one picture, without waiting for more."""
        with self.server.atomic():
            yield
        self.server.flush()

    def close(self) -> None:
        with redirect_stdout(StringIO()):
            self.server.stop()


def is_open(host: str) -> bool:
    """Return whether other machines can reach a server that listens there."""
    return host != 'localhost' and not host.startswith('127.') and host != '::1'


def _build(scene: viser.SceneApi) -> viser.DirectionalLightHandle:
    scene.set_up_direction('+z')
    scene.set_background_image(_sky())
    scene.configure_environment_map(None)
    scene.configure_default_lights(enabled=False)
    scene.add_light_hemisphere(
        '/lights/sky', sky_color=(255, 255, 255), ground_color=(170, 165, 158), intensity=1.9
    )
    return scene.add_light_directional(
        '/lights/sun',
        color=(255, 247, 236),
        intensity=2.2,
        cast_shadow=True,
        position=(SUN_NEAR_M, SUN_LEFT_M, SUN_HIGH_M),
    )


def _sky() -> np.ndarray:
    """Return a picture that runs from one shade to another, top to bottom."""
    share = np.linspace(0.0, 1.0, 64)[:, None, None]
    sky = (1.0 - share) * np.array(SKY_TOP) + share * np.array(SKY_BOTTOM)
    return np.round(np.broadcast_to(sky, (64, 4, 3))).astype(np.uint8)


def _reachable(host: str) -> str:
    """Return the address to open where a server listens on all of the machine's."""
    if host not in EVERYWHERE:
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(('192.0.2.1', 9))  # sends nothing: asks which address would be used
        except OSError:
            return socket.gethostname()
        return str(probe.getsockname()[0])


def _free_port(host: str, port: int) -> int:
    """Return the port, or for 0 the preferred or any free one; refuse what cannot be had."""
    if not 0 <= port <= 65535:
        raise ConfigError(f'--port: expected 0 .. 65535, got {port}')
    try:
        family, kind, _, _, place = socket.getaddrinfo(
            host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        socket.create_server(place, family=family).close()
    except (OSError, UnicodeError) as err:
        raise ConfigError(
            f'--host: expected a name or address of this machine, got {host!r}: {err}'
        ) from None
    for wanted in (port,) if port else (PREFERRED_PORT, 0):
        try:
            with socket.create_server((place[0], wanted, *place[2:]), family=family) as probe:
                return int(probe.getsockname()[1])
        except OSError as err:
            refused = err.strerror
    raise ConfigError(f'--port: expected a free port, got {port}: {refused}')


class SceneSolid(NamedTuple):
    group: str  # 'environment', 'real', 'goals' or 'range_balls'
    name: str  # unique within the group
    shape: str  # 'cube', 'sphere' or 'cylinder'
    position: Vec3  # centre [m]
    rotation: Quat  # shape (4,)
    size: Vec3  # full extents [m]
    colour: tuple[float, float, float, float]  # red, green, blue, opacity


class SolidScene:
    """The nodes of one group of solids under a parent node."""

    def __init__(self, scene: viser.SceneApi, parent: str) -> None:
        self._scene = scene
        self._parent = parent
        self._nodes: dict[tuple[str, str], viser.MeshHandle | viser.BoxHandle] = {}
        self._shown: dict[tuple[str, str], SceneSolid] = {}

    def show(self, solids: list[SceneSolid]) -> None:
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
        name = f'{self._parent}/{solid.shape}_{solid.name}'
        casts_shadow = solid.colour[3] > OPAQUE
        if solid.shape == 'cube':
            return self._scene.add_box(name, cast_shadow=casts_shadow)
        if solid.shape == 'sphere':
            mesh = trimesh.creation.uv_sphere(0.5, (ROUND_STEPS // 2, ROUND_STEPS))
        else:  # sharp where its ends begin
            mesh = trimesh.creation.cylinder(0.5, 1.0, ROUND_STEPS).smooth_shaded
        shape = np.array(mesh.vertices), np.array(mesh.faces)
        return self._scene.add_mesh_simple(name, *shape, cast_shadow=casts_shadow)

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
