# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What is in a picture: bodies in a posture and solid objects, as arrays for the renderer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import check_array, Floats, Ints, Quat, Quats, read_only, Vec3, Vec3s
from puppet_core.character import Capsule, Character
from puppet_core.errors import ConfigError
from puppet_core.posture import Posture, world_segments
from puppet_core.skeleton import N_SEGMENTS
from puppet_retarget.importance import object_distance as shapes
from puppet_retarget.importance.environment import Environment
from puppet_retarget.offline.picture_ray_kernels import BOX_SOLID, CYLINDER_SOLID, SceneArrays

GAMMA = 2.2  # screen values to linear light
OBJECT_COLOUR = (0.72, 0.60, 0.46)
LIGHT_DIRECTION = (0.38, 0.42, 0.82)  # towards the light; turned with the camera


@dataclass(frozen=True, slots=True)
class Body:
    """A character in a posture."""

    character: Character
    """Its shape and colours."""

    q_world: Quats
    """Orientation of each segment in world, shape (16, 4)."""

    p_world: Vec3s
    """Position of each segment's joint in world, shape (16, 3) [m]."""

    segment_colours: Floats | None = None
    """Red, green, blue in 0 .. 1 per segment, shape (16, 3); NaN keeps the character's own."""

    title: str = ''
    """Written at its feet."""

    def __post_init__(self) -> None:
        for name, width in (('q_world', 4), ('p_world', 3)):
            values = check_array(name, getattr(self, name), (N_SEGMENTS, width))
            object.__setattr__(self, name, read_only(values))
        if self.segment_colours is not None:
            shape = np.shape(self.segment_colours)
            if shape != (N_SEGMENTS, 3):
                raise ConfigError(f'segment_colours: expected shape (16, 3), got {shape}')

    @classmethod
    def in_posture(
        cls, character: Character, posture: Posture, title: str = '', shift: Vec3 | None = None
    ) -> 'Body':
        """Return a body in a posture, moved by `shift` [m] if given."""
        root = np.asarray(posture.root_position) + (0.0 if shift is None else shift)
        q_world, p_world = world_segments(
            character.skeleton, root[None], np.asarray(posture.rotations)[None]
        )
        return cls(character, q_world[0], p_world[0], None, title)

    @classmethod
    def at_rest(cls, character: Character, title: str = '', shift: Vec3 | None = None) -> 'Body':
        """Return a body in the T-pose with its soles on the floor, moved by `shift` [m]."""
        root = np.array([0.0, 0.0, character.skeleton.rest_root_height])
        rotations = np.tile([1.0, 0.0, 0.0, 0.0], (N_SEGMENTS, 1))
        zeros = np.zeros((8, 3))
        return cls.in_posture(character, Posture(root, rotations, zeros, zeros), title, shift)

    def capsules(self) -> tuple[Vec3s, Vec3s, Floats, Floats]:
        """Return starts (n, 3), ends (n, 3), radii (n,) [m] in world and colours (n, 3)."""
        capsules = self._sorted_capsules()
        segments = np.array([c.segment for c in capsules], dtype=np.int64)
        q, p = self.q_world[segments], self.p_world[segments]
        starts = p + quaternion_batch.rotate(q, _rows([c.start for c in capsules]))
        ends = p + quaternion_batch.rotate(q, _rows([c.end for c in capsules]))
        colours = _rows([self.character.colour_of(c) for c in capsules])
        if self.segment_colours is not None:
            own = np.asarray(self.segment_colours, dtype=np.float64)[segments]
            colours = np.where(np.isfinite(own), own, colours)
        return starts, ends, np.array([c.radius for c in capsules], dtype=np.float64), colours

    def parts(self) -> Ints:
        """Return the segment of each capsule in `capsules`, shape (n,)."""
        return np.array([c.segment for c in self._sorted_capsules()], dtype=np.int64)

    def _sorted_capsules(self) -> list[Capsule]:
        return sorted(self.character.capsules, key=lambda capsule: capsule.segment)


@dataclass(frozen=True, slots=True)
class Solid:
    """A box or an upright cylinder in its own frame."""

    position: Vec3
    """Centre in world, shape (3,) [m]."""

    size: Vec3
    """Full extents of a box; radius, radius, length of a cylinder, shape (3,) [m]."""

    orientation: Quat = (1.0, 0.0, 0.0, 0.0)  # type: ignore[assignment]
    """Own frame in world, shape (4,)."""

    is_cylinder: bool = False
    """Whether it is a cylinder about its own z axis."""

    colour: tuple[float, float, float] = OBJECT_COLOUR
    """Red, green, blue in 0 .. 1."""

    def __post_init__(self) -> None:
        for name, width in (('position', 3), ('size', 3), ('orientation', 4)):
            values = check_array(name, getattr(self, name), (width,))
            object.__setattr__(self, name, read_only(values))


@dataclass(frozen=True, slots=True)
class Pill:
    """A ball or capsule that belongs to no body: an environment's sphere, a marker."""

    start: Vec3
    """One end of the core line in world, shape (3,) [m]."""

    end: Vec3
    """The other end; equal to `start` for a ball [m]."""

    radius: float
    """[m]."""

    colour: tuple[float, float, float] = OBJECT_COLOUR
    """Red, green, blue in 0 .. 1."""

    def __post_init__(self) -> None:
        for name in ('start', 'end'):
            values = check_array(name, getattr(self, name), (3,))
            object.__setattr__(self, name, read_only(values))


def moved(item: Any, shift: Vec3) -> Any:
    """Return a Body, Solid or Pill that is moved by `shift` [m]."""
    if isinstance(item, Body):
        return replace(item, p_world=item.p_world + shift)
    if isinstance(item, Pill):
        return replace(item, start=item.start + shift, end=item.end + shift)
    return replace(item, position=item.position + shift)


def objects_of(
    environment: Environment, puppet: bool = False, world_scale: float = 1.0
) -> tuple[Solid | Pill, ...]:
    """Return the solids of the performer's or the puppet's environment; planes are left out."""
    objects: list[Solid | Pill] = []
    for scene_object in environment.objects:
        place = scene_object.puppet if puppet else scene_object.real
        scale = world_scale if puppet else 1.0
        position, size = scale * place.position, scale * place.size
        if scene_object.shape in (shapes.BOX, shapes.CYLINDER):
            is_cylinder = scene_object.shape == shapes.CYLINDER
            objects.append(Solid(position, size, place.orientation, is_cylinder))
        elif scene_object.shape in (shapes.SPHERE, shapes.CAPSULE):
            along = 0.5 * size[2] * (scene_object.shape == shapes.CAPSULE)
            half = quaternion_batch.rotate(place.orientation, np.array([0.0, 0.0, along]))
            objects.append(Pill(position - half, position + half, float(size[0])))
    return tuple(objects)


def scene_arrays(
    bodies: Sequence[Body], objects: Sequence[Solid | Pill], right: Vec3, ahead: Vec3
) -> SceneArrays:
    """
    Return everything in the picture as arrays.

    The light comes over the viewer's left shoulder: `right` and `ahead` are the camera's
    axes, of which only the level parts count.

    """
    bodies = [body for body in bodies if body.character.capsules]
    pills = [item for item in objects if isinstance(item, Pill)]
    solids = [item for item in objects if isinstance(item, Solid)]
    groups = [body.capsules() for body in bodies]
    numbers = [body.parts() for body in bodies]
    if pills:
        groups.append(_pill_rows(pills))
        numbers.append(np.zeros(len(pills), dtype=np.int64))
    starts, ends, radii, colours = (
        np.concatenate([np.zeros((0, 3) if k != 2 else 0)] + [group[k] for group in groups])
        for k in range(4)
    )
    parts = [N_SEGMENTS * i + number for i, number in enumerate(numbers)]
    halves = np.array([np.where([s.is_cylinder] * 3, [1, 1, 0.5], 0.5) * s.size for s in solids])
    return SceneArrays(
        _capsule_rows(starts, ends, radii),
        np.column_stack((
            0.5 * (starts + ends), radii + 0.5 * np.linalg.norm(ends - starts, axis=1)
        )),
        np.concatenate([np.zeros(0, dtype=np.int64), *parts]),
        _linear(colours),
        np.array([CYLINDER_SOLID if s.is_cylinder else BOX_SOLID for s in solids], np.int64),
        np.array([s.position for s in solids]).reshape(-1, 3),
        np.array([s.orientation for s in solids]).reshape(-1, 4),
        halves.reshape(-1, 3),
        np.array([_ball_of(s, half) for s, half in zip(solids, halves)]).reshape(-1, 4),
        _linear(np.array([s.colour for s in solids], dtype=np.float64).reshape(-1, 3)),
        _light(right, ahead),
    )  # fmt: skip


def _capsule_rows(starts: Vec3s, ends: Vec3s, radii: Floats) -> Floats:
    cores = ends - starts
    return np.column_stack((starts, cores, np.sum(cores * cores, axis=1), radii))


def _rows(points: Sequence[Sequence[float] | Floats]) -> Vec3s:
    return np.array(points, dtype=np.float64).reshape(-1, 3)


def _pill_rows(pills: Sequence[Pill]) -> tuple[Vec3s, Vec3s, Floats, Floats]:
    return (
        np.array([p.start for p in pills]),
        np.array([p.end for p in pills]),
        np.array([p.radius for p in pills]),
        np.array([p.colour for p in pills], dtype=np.float64),
    )


def _ball_of(solid: Solid, half: Vec3) -> Floats:
    reach = np.hypot(half[0], half[2]) if solid.is_cylinder else np.linalg.norm(half)
    return np.append(solid.position, reach)


def _linear(colours: Floats) -> Floats:
    return np.clip(colours, 0.0, 1.0) ** GAMMA


def _light(right: Vec3, ahead: Vec3) -> Vec3:
    level = np.array([1.0, 1.0, 0.0])
    sideways, back = right * level, -ahead * level
    sideways = sideways / np.linalg.norm(sideways)
    back = back / max(np.linalg.norm(back), 1e-9)
    towards = -LIGHT_DIRECTION[0] * sideways + LIGHT_DIRECTION[1] * back
    towards = towards + [0.0, 0.0, LIGHT_DIRECTION[2]]
    return towards / np.linalg.norm(towards)
