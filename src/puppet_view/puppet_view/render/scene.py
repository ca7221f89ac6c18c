# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What is in a picture: bodies in a posture and solid objects, and their triangle meshes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import Capsule as SegmentCapsule
from puppet_core.body import Character, N_SEGMENTS, Posture, Rods, world_segments
from puppet_core.math import Floats, Ints, Quat, quaternions, Quats, Vec3, Vec3s
from puppet_core.robots import drawn_robot, DrawnRobot, Part

Singles = NDArray[np.float32]
OBJECT_COLOUR = (0.72, 0.60, 0.46)
FLATNESS_M2 = 4e-5  # how far a capsule's mesh may be inside it, times its radius
HIDDEN_M = 0.001  # so deep in another capsule, a triangle is left out
BLEND_SHARE = 0.5  # of a radius: how far the normals of touching capsules run into each other
SHARP_COSINE = 0.8  # of the angle between a triangle and its neighbours
ROUND_SECTIONS = 64  # of a cylinder
KEPT_CHARACTERS = 16  # whose meshes are kept
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
NO_BOUNDS = Rods(np.empty((0, 3)), np.empty((0, 3)), np.empty(0))


class Body(NamedTuple):
    character: Character  # its shape and colours
    q_world: Quats  # orientation of each segment in world, shape (16, 4)
    p_world: Vec3s  # position of each segment's joint in world, shape (16, 3) [m]
    # Red, green, blue in 0 .. 1 per segment, shape (16, 3); NaN keeps the character's own
    segment_colours: Floats | None = None

    @classmethod
    def in_posture(
        cls, character: Character, posture: Posture, shift: Vec3 | float = 0.0
    ) -> 'Body':
        """Return a body in a posture, moved by `shift` [m]."""
        root = np.asarray(posture.root_position) + shift
        rotations = np.asarray(posture.rotations)[None]
        q_world, p_world = world_segments(character.skeleton, root[None], rotations)
        return cls(character, q_world[0], p_world[0])

    @classmethod
    def at_rest(cls, character: Character, shift: Vec3 | float = 0.0) -> 'Body':
        """Return a body in the T-pose with its soles on the floor, moved by `shift` [m]."""
        root = np.array([0.0, 0.0, character.skeleton.rest_root_height])
        zeros = np.zeros((8, 3))
        posture = Posture(root, np.tile(UPRIGHT, (N_SEGMENTS, 1)), zeros, zeros)
        return cls.in_posture(character, posture, shift)

    def capsules(self) -> tuple[Vec3s, Vec3s, Floats, Floats]:
        """Return starts (n, 3), ends (n, 3), radii (n,) [m] in world and colours (n, 3)."""
        capsules = sorted(self.character.capsules, key=lambda capsule: capsule.segment)
        segments = np.array([c.segment for c in capsules], dtype=np.int64)
        q, p = self.q_world[segments], self.p_world[segments]
        starts = p + quaternions.rotate(q, _rows([c.start for c in capsules]))
        ends = p + quaternions.rotate(q, _rows([c.end for c in capsules]))
        colours = _rows([self.character.colour_of(c) for c in capsules])
        return starts, ends, np.array([c.radius for c in capsules]), self._own(colours, segments)

    def surface(self) -> 'Surface':
        mesh = _body_mesh(self.character)
        vertices, normals = np.empty_like(mesh.vertices), np.empty_like(mesh.normals)
        q, p = self.q_world, self.p_world
        if mesh.robot is not None:
            q, p = mesh.robot.poses(q, p)
        for frame, rows in mesh.rows.items():
            turn = quaternions.rotate(q[frame], np.eye(3)).astype(np.float32)
            place = p[frame].astype(np.float32)
            vertices[rows] = mesh.vertices[rows] @ turn + place
            normals[rows] = mesh.normals[rows] @ turn
        q, p = q[list(mesh.rows)], p[list(mesh.rows)]
        starts, ends, radii = mesh.bounds
        bounds = Rods(p + quaternions.rotate(q, starts), p + quaternions.rotate(q, ends), radii)
        colours = self._own(mesh.colours, mesh.segments)[mesh.part_of_face]
        return Surface(vertices, mesh.faces, normals[mesh.faces], colours, bounds, mesh.owner)

    def _own(self, colours: Floats, segments: Ints) -> Floats:
        if self.segment_colours is None:
            return colours
        own = np.asarray(self.segment_colours, dtype=np.float64)[segments]
        return np.where(np.isfinite(own), own, colours)


class Solid(NamedTuple):
    position: Vec3  # centre in world, shape (3,) [m]
    size: Vec3  # full extents of a box; radius, radius, length of a cylinder, shape (3,) [m]
    orientation: Quat = UPRIGHT  # own frame in world, shape (4,)
    is_cylinder: bool = False  # whether it is a cylinder about its own z axis
    colour: tuple[float, float, float] = OBJECT_COLOUR  # red, green, blue in 0 .. 1

    def surface(self) -> 'Surface':
        import trimesh

        make = trimesh.creation
        mesh = make.cylinder(1.0, 1.0, ROUND_SECTIONS) if self.is_cylinder else make.box()
        mesh = mesh.smooth_shaded  # but for its edges
        normals = mesh.vertex_normals[mesh.faces]
        turn = quaternions.rotate(self.orientation, np.eye(3))
        vertices = mesh.vertices * self.size @ turn + self.position
        colours, owner = np.tile(self.colour, (len(mesh.faces), 1)), np.full(len(mesh.faces), -1)
        return Surface(vertices, mesh.faces, normals @ turn, colours, NO_BOUNDS, owner)


class Capsule(NamedTuple):
    """A ball or capsule that belongs to no body: an environment's sphere, a marker."""

    start: Vec3  # one end of the core line in world, shape (3,) [m]
    end: Vec3  # the other end; equal to `start` for a ball [m]
    radius: float  # [m]
    colour: tuple[float, float, float] = OBJECT_COLOUR  # red, green, blue in 0 .. 1

    def surface(self) -> 'Surface':
        vertices, faces = _capsule_mesh(self.start, self.end, self.radius)
        normals = from_core(vertices, self.start, self.end)[0] / self.radius
        bounds = Rods(self.start[None], self.end[None], np.array([self.radius]))
        colours, owner = np.tile(self.colour, (len(faces), 1)), np.zeros(len(faces), np.int64)
        return Surface(vertices, faces, normals[faces], colours, bounds, owner)


SceneObject = Solid | Capsule


class Surface(NamedTuple):
    vertices: np.ndarray  # float32 or float64, shape (n, 3) [m]
    faces: Ints  # shape (m, 3)
    normals: np.ndarray  # likewise, outward at each corner of each face, shape (m, 3, 3)
    colours: Floats  # red, green, blue in 0 .. 1, of each face, shape (m, 3)
    bounds: Rods  # few capsules about as large: what hides the sky from others
    owner: Ints  # which of the bounds is around a face, -1 for none, shape (m,)
    firsts: Sequence[int] = (0,)  # first vertex of each item in it


def moved(item: Any, shift: Vec3) -> Any:
    """Return a Body, Solid or Capsule that is moved by `shift` [m]."""
    if isinstance(item, Body):
        return item._replace(p_world=item.p_world + shift)
    if isinstance(item, Capsule):
        return item._replace(start=item.start + shift, end=item.end + shift)
    return item._replace(position=item.position + shift)


def placed(item: SceneObject, position: Vec3, orientation: Quat) -> SceneObject:
    """Return what is given in a frame of its own where that frame is in world [m]."""
    if isinstance(item, Capsule):
        start, end = (
            quaternions.rotate(orientation, p) + position for p in (item.start, item.end)
        )
        return item._replace(start=start, end=end)
    turn = quaternions.multiply(orientation, item.orientation)
    place = quaternions.rotate(orientation, item.position) + position
    return item._replace(position=place, orientation=turn)


def joined(bodies: Sequence[Body], objects: Sequence[SceneObject]) -> Surface | None:
    """Return the surface of everything in a picture, or None if there is nothing."""
    items = [*(body for body in bodies if body.character.capsules), *objects]
    if not items:
        return None
    surfaces = [item.surface() for item in items]
    first = np.cumsum([0] + [len(s.vertices) for s in surfaces])
    owners = np.cumsum([0] + [len(s.bounds.radii) for s in surfaces])
    bounds = (np.concatenate([s.bounds[k] for s in surfaces]) for k in range(3))
    return Surface(
        np.concatenate([s.vertices for s in surfaces]).astype(np.float32),
        np.concatenate([s.faces + n for s, n in zip(surfaces, first)]).astype(np.int32),
        np.concatenate([s.normals for s in surfaces]).astype(np.float32),
        np.concatenate([s.colours for s in surfaces]),
        Rods(*bounds),
        np.concatenate([np.where(s.owner < 0, -1, s.owner + n) for s, n in zip(surfaces, owners)]),
        first[:-1].tolist(),
    )


class _BodyMesh(NamedTuple):
    """The shape of a character: a mesh for each capsule, in its segment's frame."""

    vertices: Singles
    normals: Singles
    faces: Ints
    part_of_face: Ints
    rows: dict[int, slice]  # vertices of each segment, or link of a robot
    segments: Ints  # of each part
    colours: Floats  # of each part, (n, 3)
    bounds: Rods  # of each of the segments in rows
    owner: Ints  # which of the bounds is around a face
    robot: DrawnRobot | None = None  # whose links these are


_meshes: dict[int, tuple[object, _BodyMesh]] = {}  # with the capsules, whose identity is the key


def _body_mesh(character: Character) -> _BodyMesh:
    key = id(character.capsules)
    if key not in _meshes:
        if len(_meshes) >= KEPT_CHARACTERS:
            _meshes.clear()
        robot = drawn_robot(character)
        mesh = _make_body_mesh(character) if robot is None else _robot_mesh(robot)
        _meshes[key] = character.capsules, mesh
    return _meshes[key][1]


def _make_body_mesh(character: Character) -> _BodyMesh:
    """Return the meshes of a character's capsules without what is inside others."""
    capsules = sorted(character.capsules, key=lambda capsule: capsule.segment)
    colours = _rows([character.colour_of(capsule) for capsule in capsules])
    turns = np.tile(UPRIGHT, (1, N_SEGMENTS, 1))
    rest = world_segments(character.skeleton, np.zeros((1, 3)), turns)[1][0]
    meshes = [_capsule_mesh(c.start, c.end, c.radius) for c in capsules]
    normals, faces = [], []
    for i, (capsule, (vertices, triangles)) in enumerate(zip(capsules, meshes)):
        same = np.flatnonzero(np.all(colours == colours[i], axis=1))
        near = [(capsules[k], rest[capsules[k].segment]) for k in same]
        normals.append(_blended_normals(vertices + rest[capsule.segment], near, capsule.radius))
        hidden = np.zeros(len(vertices), dtype=bool)
        for k, other in enumerate(capsules):
            if k != i and other.segment == capsule.segment:
                inside = from_core(vertices, other.start, other.end)[1] < other.radius - HIDDEN_M
                hidden |= inside if inside[triangles].all(axis=1).any() else False
        faces.append(triangles[~hidden[triangles].all(axis=1)])
    places = [vertices for vertices, _ in meshes]
    first = np.cumsum([0, *map(len, places)])
    segments = np.array([capsule.segment for capsule in capsules])
    rows, bounds = {}, []
    for segment in np.unique(segments).tolist():
        low, high = np.searchsorted(segments, (segment, segment + 1))
        rows[segment] = slice(int(first[low]), int(first[high]))
        bounds.append(_bound(np.concatenate(places[low:high])))
    part_of_face = np.repeat(np.arange(len(meshes)), [*map(len, faces)])
    return _BodyMesh(
        np.concatenate(places).astype(np.float32),
        np.concatenate(normals).astype(np.float32),
        np.concatenate([triangles + n for triangles, n in zip(faces, first)]),
        part_of_face,
        rows,
        segments,
        colours,
        Rods(*(np.array(column) for column in zip(*bounds))),
        np.searchsorted(list(rows), segments)[part_of_face],
    )


def _robot_mesh(robot: DrawnRobot) -> _BodyMesh:
    """Return the meshes of a robot's links, each triangle with corners of its own."""
    corners, normals = zip(*map(_creased, robot.parts))
    counts = np.array([len(c) for c in corners])
    first, links = np.cumsum([0, *counts]), np.array([part.link for part in robot.parts])
    rows, bounds = {}, []
    for link in np.unique(links).tolist():
        low, high = np.searchsorted(links, (link, link + 1))
        rows[link] = slice(int(first[low]), int(first[high]))
        bounds.append(_bound(np.concatenate(corners[low:high])))
    part_of_face = np.repeat(np.arange(len(counts)), counts // 3)
    return _BodyMesh(
        np.concatenate(corners).astype(np.float32),
        np.concatenate(normals).astype(np.float32),
        np.arange(first[-1]).reshape(-1, 3),
        part_of_face,
        rows,
        np.array([part.segment for part in robot.parts]),
        _rows([part.colour for part in robot.parts]),
        Rods(*(np.array(column) for column in zip(*bounds))),
        np.searchsorted(list(rows), links)[part_of_face],
        robot,
    )


def _creased(part: Part) -> tuple[Vec3s, Vec3s]:
    """Return corners of triangles and their normals, (3 m, 3): edges stay sharp."""
    import trimesh

    mesh = trimesh.Trimesh(part.vertices, part.triangles)  # with merged vertices
    flat = np.repeat(mesh.face_normals, 3, axis=0)
    smooth = mesh.vertex_normals[mesh.faces.ravel()]
    is_sharp = np.sum(flat * smooth, axis=1) < SHARP_COSINE
    return mesh.triangles.reshape(-1, 3), np.where(is_sharp[:, None], flat, smooth)


def _capsule_mesh(start: Vec3, end: Vec3, radius: float) -> tuple[Vec3s, Ints]:
    """Return vertices (n, 3) [m] and triangles (m, 3) of a capsule."""
    import trimesh

    core = end - start
    length = float(np.linalg.norm(core))
    sections = int(np.ceil(np.pi / np.arccos(max(1.0 - FLATNESS_M2 / radius**2, 0.0))))
    sections = 2 * max(sections // 2 + 1, 4)
    mesh = trimesh.creation.capsule(length, radius, (sections, sections))  # along z, centred
    axis = core if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    turn = trimesh.geometry.align_vectors([0.0, 0.0, 1.0], axis)[:3, :3]
    return mesh.vertices @ turn.T + 0.5 * (start + end), np.asarray(mesh.faces)


def from_core(places: Vec3s, start: Vec3, end: Vec3) -> tuple[Vec3s, Floats]:
    """Return offsets (n, 3) and distances (n,) of places from a capsule's core line [m]."""
    core = end - start
    along = np.clip((places - start) @ core / max(float(core @ core), 1e-12), 0.0, 1.0)
    offsets = places - start - along[:, None] * core
    return offsets, np.linalg.norm(offsets, axis=1)


def _blended_normals(
    places: Vec3s, capsules: Sequence[tuple[SegmentCapsule, Vec3]], radius: float
) -> Vec3s:
    """Return normals that run from one capsule into the next: joints appear filled."""
    normals = np.zeros_like(places)
    for capsule, joint in capsules:
        blend = BLEND_SHARE * min(capsule.radius, radius)
        offsets, apart = from_core(places, joint + capsule.start, joint + capsule.end)
        weight = np.maximum(1.0 - np.abs(apart - capsule.radius) / blend, 0.0) ** 2
        normals += (weight / np.maximum(apart, 1e-9))[:, None] * offsets
    return normals / np.maximum(np.linalg.norm(normals, axis=1), 1e-9)[:, None]


def _bound(vertices: Vec3s) -> tuple[Vec3, Vec3, float]:
    """Return start, end and radius of a capsule about as large as a mesh [m]."""
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    axis = np.linalg.svd(vertices - middle, full_matrices=False)[2][0]
    along = (vertices - middle) @ axis
    across = np.linalg.norm(vertices - middle - along[:, None] * axis, axis=1)
    radius = float(np.quantile(across, 0.7))
    low, high = along.min() + radius, along.max() - radius
    if low > high:
        low = high = 0.5 * (low + high)
    return middle + low * axis, middle + high * axis, radius


def _rows(points: Sequence[Sequence[float] | Floats]) -> Vec3s:
    return np.array(points, dtype=np.float64).reshape(-1, 3)
