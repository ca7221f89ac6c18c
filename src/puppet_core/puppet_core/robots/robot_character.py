# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A humanoid robot's URDF made into a character: joint centres, T-pose, soles and palms, shape.

At the robot's zero pose arms may hang and elbows may be bent. The hinge of an elbow or knee,
and the side to which it bends, define how its limb stands in our T-pose: arms sideways with
forearms that bend forward, legs down with shanks that bend backward; feet and knees say which way
a robot faces. The robot's boxes, cylinders and balls become capsules of our segments, inside the
originals; the meshes of a segment those of a box around them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from puppet_core.body import (
    ADULT_LEG_M,
    AUTO,
    AXES,
    BodyShape,
    Capsule,
    Character,
    default_capsules,
    DEFAULT_SPEED_RAD_S,
    JOINT_NAMES,
    LIMB_SEGMENTS,
    make_tree,
    MAX_OFFSET_M,
    N_SEGMENTS,
    PARENTS,
    Robot,
    RobotTree,
    ROOT,
    SEGMENT_INDEX,
    SEGMENTS,
    Skeleton,
    UrdfRobot,
)
from puppet_core.io import InputFileError
from puppet_core.math import Floats, Quats, two_axis_matrix, Vec3, Vec3s
from puppet_core.math import quaternions as qb
from puppet_core.robots.character_check import require_t_pose
from puppet_core.robots.limbs import (
    axes_centre,
    find_groups,
    group_centres,
    Groups,
    HINT,
    limb_tip,
    MIRROR_TOL_M,
    pelvis_link,
    RobotMap,
    sides_named,
)
from puppet_core.robots.robot_files import read_robot_file
from puppet_core.robots.soles import SOLE_BAND_M, sole_box

MAX_BARS = 5  # capsules beside each other in one box
MIN_RADIUS_M = 1e-3
MAX_CORNERS, CORNER_M = 20, 0.012  # of a segment; a corner that sticks out by more is a ball
ROD_SHARE = 0.6  # of the radius of the capsule that it joins to a joint

PALM_BAND_M = 0.06  # what of a hand is so near to its middle has the palm
PALM_FRACTION = 0.45  # of the way from the wrist to the tip of the hand
WRIST_FRACTION = 0.75  # of the way from the elbow to the tip, where there is no wrist
NECK_M = 0.08  # shoulders to the head's joint of an adult, where there is no neck
ADULT_SOLE_M = (0.055, 0.0, -0.068)  # from the ankle
SOLE_EDGE_M = 0.003  # radius of the capsules along it
SURELY_AHEAD_M = 0.02  # of the ankle is the middle of a sole
SURE = 2.5  # of four knees and feet, each 1 at most
EVEN = 0.2  # fraction of its range by which a hinge must bend farther to one side
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
_LEFT, _DOWN = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, -1.0])


# The robot's shapes as capsules.


def robot_capsules(
    tree: RobotTree, segments: Sequence[int], rest: Quats, centres: Vec3s, skeleton: Skeleton
) -> tuple[Capsule, ...]:
    """
    Return the shape of a robot; a segment without solids has that of a human.

    `segments` is the one of each joint, `rest` (16, 4) turns zero pose to T-pose, `centres`
    (16, 3) are the joint centres at zero pose [m], `skeleton` is what comes of them.
    """
    found: dict[int, list[Capsule]] = {i: [] for i in range(N_SEGMENTS)}
    meshes: dict[int, list[Vec3s]] = {}
    bars = []
    for shape in tree.shapes:
        segment = 0 if shape.body < 0 else segments[shape.body]
        if shape.kind == 'hull':
            meshes.setdefault(segment, []).append(shape.points())
        else:
            bars += [(segment, bar) for bar in _bars(shape)]
    for segment, points in meshes.items():
        bars += [(segment, bar) for bar in _bars_around(np.concatenate(points))]
    for segment in LIMB_SEGMENTS[2:, 2]:
        own = [s.points() for s in tree.shapes if s.body >= 0 and segments[s.body] == segment]
        bars += [(segment, bar) for bar in _sole_edges(np.concatenate(own))] if own else []
    for segment, (start, end, radius) in bars:
        ends = qb.rotate(rest[segment], np.array([start, end]) - centres[segment])
        radius = max(radius, MIN_RADIUS_M)
        found[segment].append(Capsule(segment, ends[0], ends[1], radius))
    for segment, solids in found.items():
        shapes = [s for s in tree.shapes if (0 if s.body < 0 else segments[s.body]) == segment]
        if shapes and solids:
            points = np.concatenate([s.points() for s in shapes]) - centres[segment]
            solids += _corners(segment, qb.rotate(rest[segment], points), solids)
        joints = [np.zeros(3), *skeleton.offsets[PARENTS == segment]]
        solids += [rod for joint in joints if solids for rod in _rods_to(joint, solids)]
    bare = {i for i in range(N_SEGMENTS) if not found[i]}
    if not np.any(skeleton.offsets[2]) and (found[1] or found[2]):
        bare -= {1, 2}  # spine and chest turn about one point: one part
    for capsule in default_capsules(skeleton):
        if capsule.segment in bare:
            found[capsule.segment].append(capsule)
    return tuple(capsule for capsules in found.values() for capsule in capsules)


def _rods_to(joint: Vec3, capsules: Sequence[Capsule]) -> list[Capsule]:
    """Return a capsule that closes the gap between a joint and the nearest capsule, if any."""
    found = []
    for c in capsules:
        core = c.end - c.start
        along = np.clip((joint - c.start) @ core / max(float(core @ core), 1e-12), 0.0, 1.0)
        place = c.start + along * core
        found.append((float(np.linalg.norm(joint - place)) - c.radius, place, c))
    gap, place, nearest = min(found, key=lambda row: row[0])
    rod = Capsule(nearest.segment, place, joint, ROD_SHARE * nearest.radius)
    return [rod] if gap > 0.0 else []


def _corners(segment: int, points: Vec3s, capsules: Sequence[Capsule]) -> list[Capsule]:
    """Return balls for the corners of a segment that its capsules leave out farthest."""
    out = np.min([_distances(points, c) for c in capsules], axis=0)
    found: list[Capsule] = []
    while len(found) < MAX_CORNERS and out.max() > CORNER_M:
        place = points[int(np.argmax(out))]
        found.append(Capsule(segment, place, place, MIN_RADIUS_M))
        out = np.minimum(out, _distances(points, found[-1]))
    return found


def _distances(points: Vec3s, capsule: Capsule) -> Floats:
    """Return how far points are outside of a capsule [m]."""
    core = capsule.end - capsule.start
    along = np.clip((points - capsule.start) @ core / max(float(core @ core), 1e-12), 0.0, 1.0)
    places = capsule.start + along[:, np.newaxis] * core
    return np.asarray(np.linalg.norm(points - places, axis=1) - capsule.radius)


Bar = tuple[Floats, Floats, float]
"""Start, end and radius of a capsule."""


def _bars(shape: BodyShape) -> list[Bar]:
    """Return the capsules of one solid."""
    turn, middle = shape.pose[:3, :3], shape.pose[:3, 3]
    if shape.kind == 'sphere':
        return [(middle, middle, float(shape.size[0]))]
    if shape.kind == 'box':
        return _bars_in(turn, middle, shape.size)
    radius, length = shape.size
    length += 2.0 * radius * (shape.kind == 'capsule')
    if length >= 2.0 * radius:
        half = (0.5 * length - radius) * turn[:, 2]
        return [(middle - half, middle + half, float(radius))]
    disc = np.array([np.sqrt(np.pi) * radius] * 2 + [length])  # of the disc's own area
    return _bars_in(turn, middle, disc)


def _bars_around(points: Vec3s) -> list[Bar]:
    """Return the capsules of the smallest box around some points."""
    import trimesh

    to_box, edges = trimesh.bounds.oriented_bounds(points)
    box = np.linalg.inv(to_box)
    return _bars_in(box[:3, :3], box[:3, 3], edges)


def _sole_edges(points: Vec3s) -> list[Bar]:
    """Return capsules in a foot's sole, thin ones along both sides as far as it reaches."""
    low, high = sole_box(points)
    size = np.array([*(high - low)[:2], SOLE_BAND_M])
    slab = _bars_in(np.eye(3), low + 0.5 * size, size, MAX_BARS)
    (x, y, z), (end, other, _) = low + SOLE_EDGE_M, high - SOLE_EDGE_M
    edges = sorted((y, other))
    return slab + [(np.array([x, s, z]), np.array([end, s, z]), SOLE_EDGE_M) for s in edges]


def _bars_in(turn: Floats, middle: Vec3, edges: Floats, least: int = 1) -> list[Bar]:
    """Return the capsules in a box, beside each other, so many at least."""
    edges = np.maximum(edges, 2.0 * MIN_RADIUS_M)
    thin, wide, long = np.argsort(edges)
    radius = 0.5 * float(edges[thin])
    n = int(np.clip(np.ceil(edges[wide] / edges[thin] - 0.3), least, MAX_BARS))
    half = (0.5 * edges[long] - radius) * turn[:, long]
    places = np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1)
    return [
        (middle + place - half, middle + place + half, radius)
        for place in places[:, None] * (0.5 * edges[wide] - radius) * turn[:, wide]
    ]


# The character.


class RobotCharacter(NamedTuple):
    """A character with its robot, and what a user should know of how it came about."""

    character: Character
    notes: tuple[str, ...]


def character_from_urdf(path: str | Path, robot_map: RobotMap, name: str = '') -> RobotCharacter:
    """Return a humanoid robot's character; raise InputFileError naming what its file lacks."""
    urdf = read_robot_file(Path(path))
    if {joint.name for joint in urdf.joints} >= set(JOINT_NAMES) and not robot_map.segments:
        # of a character, as the suite describes it
        ours = {s: tuple(f'{s}_{axis}' for axis in AXES) for s in SEGMENTS[1:]}
        robot_map = replace(robot_map, segments=ours)
    body = _faced_body(urdf, robot_map)
    tree, groups = body.tree, body.groups
    skeleton = body.skeleton()
    longest = float(np.abs(skeleton.offsets).max())
    if not longest <= MAX_OFFSET_M:
        hint = 'lengths in a URDF are metres, not millimetres'
        wanted = f'joints up to {MAX_OFFSET_M:g} m apart'
        raise InputFileError(path, wanted, f'{longest:g} m', hint=hint)
    order = [j for s in SEGMENTS for j in groups.get(s, ())]
    segment_of = {j: SEGMENT_INDEX[s] for s, group in groups.items() for j in group}
    robot = Robot(
        urdf.path,
        urdf.text,
        tuple(tree.names[j] for j in order),
        np.array([segment_of[j] for j in order]),
        tree.axes[order],
        tree.origins[order],
        np.array([tree.joints[j].lower for j in order]),
        np.array([tree.joints[j].upper for j in order]),
        np.array([tree.joints[j].speed or DEFAULT_SPEED_RAD_S for j in order]),
        body.rest,
        tuple(body.held.items()),
        qb.from_matrix(tree.facing),
        tree.pelvis if tree.pelvis != urdf.root else '',
    )
    segments = [segment_of[j] for j in range(len(tree.joints))]
    capsules = robot_capsules(tree, segments, body.rest, body.centres, skeleton)
    character = Character(
        name or urdf.name,
        f'Robot {urdf.name}, {len(order)} joints',
        skeleton,
        capsules,
        world_scale=AUTO,
        robot=robot,
    )
    require_t_pose(character, urdf.path, f'{HINT}, or mend the limits of these')
    return RobotCharacter(character, tuple(body.notes))


def _faced_body(urdf: UrdfRobot, robot_map: RobotMap) -> '_Body':
    """Return a robot that faces as its map says, or as its knees and feet do."""
    if robot_map.facing is not None:
        return _Body(urdf, robot_map.facing, robot_map.segments)
    facing = np.eye(3)
    try:
        body = _Body(urdf, facing, robot_map.segments)
    except InputFileError as err:
        # limbs that are no mirror images across X may be across Y
        facing = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        try:
            body = _Body(urdf, facing, robot_map.segments)
        except InputFileError:
            raise err from None
    # feet or knees alone are no reason to turn a robot against its names
    sure = SURE if sides_named(body.tree, body.groups) > 0 else 0.0
    if body.forward < -sure:
        facing = facing * [[-1.0], [-1.0], [1.0]]
        body = _Body(urdf, facing, robot_map.segments)
    forward = facing[0].round().astype(int).tolist()
    if sides_named(body.tree, body.groups) < 0:
        wanted = f'left limbs on the left of the root link, whose feet and knees face {forward}'
        hint = f'say in a file for --map which way it faces, as forward: {forward}'
        raise InputFileError(urdf.path, wanted, 'right ones by their names', hint=hint)
    if facing[0, 0] < 1.0:
        body.notes.append(f'forward: {forward} in the axes of the root link, by knees and feet')
    return body


def _require_our_tree(tree: RobotTree, groups: Groups) -> None:
    """Refuse joints of a segment that do not hang on the segment before."""
    for index, segment in enumerate(SEGMENTS[1:], start=1):
        above = int(PARENTS[index])
        while above > 0 and not groups.get(SEGMENTS[above]):
            above = int(PARENTS[above])
        before = groups[SEGMENTS[above]][-1] if above > 0 else ROOT
        for joint in groups.get(segment, ()):
            if tree.parents[joint] != before:
                expected = f'{segment}: {tree.names[joint]} to hang on the {SEGMENTS[above]}'
                hangs_on = tree.names[tree.parents[joint]] if tree.parents[joint] >= 0 else 'root'
                raise InputFileError(
                    tree.urdf.path, expected, f'it hangs on {hangs_on}', hint=HINT
                )
            before = joint


class _Body:
    """Centres and rest rotations of one robot, in the axes of its zero pose."""

    def __init__(
        self, urdf: UrdfRobot, facing: Floats, named: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.notes: list[str] = []
        whole = make_tree(urdf, facing, with_mimics=True)
        pelvis = pelvis_link(whole, named)
        whole = make_tree(urdf, facing, with_mimics=True, pelvis=pelvis)
        found = find_groups(whole, named, self.notes)
        moved = {whole.names[j] for group in found.values() for j in group}
        self.held = {
            joint.name: float(np.clip(0.0, joint.lower, joint.upper))
            for joint in whole.joints
            if joint.turns and joint.name not in moved
        }
        self.tree = make_tree(urdf, facing, moved, self.held, pelvis=pelvis)
        self.groups: Groups = {
            s: tuple(self.tree.names.index(whole.names[j]) for j in group)
            for s, group in found.items()
        }
        _require_our_tree(self.tree, self.groups)
        self.forward = 0.0
        """How much knees and feet point forward, -1 to 1 each of four."""
        self.centres = np.zeros((N_SEGMENTS, 3))
        self.rest: Quats = np.tile(_IDENTITY, (N_SEGMENTS, 1))
        self._ends = np.zeros((4, 3))
        for limb in range(4):
            self._place_limb(limb)
        self._mend_soles()
        self._place_trunk()

    def skeleton(self) -> Skeleton:
        """Return the skeleton in the T-pose."""
        offsets = np.zeros((N_SEGMENTS, 3))
        steps = self.centres[1:] - self.centres[PARENTS[1:]]
        offsets[1:] = qb.rotate(self.rest[PARENTS[1:]], steps)
        hands = LIMB_SEGMENTS[:, 2]
        points = qb.rotate(self.rest[hands], self._ends - self.centres[hands])
        # nanometres are noise, and files with 1e-19 in them are hard to read
        return Skeleton(np.round(offsets, 9) + 0.0, np.round(points, 9) + 0.0)

    def _place_limb(self, limb: int) -> None:
        tree, segments = self.tree, LIMB_SEGMENTS[limb]
        rows = [self.groups.get(SEGMENTS[s], ()) for s in segments]
        upper, lower, end = group_centres(tree, rows)
        assert upper is not None and lower is not None
        tip = limb_tip(tree, sum(rows, ()))
        if end is None:
            end = lower + WRIST_FRACTION * (tip - lower)
            self.notes.append(f'{SEGMENTS[segments[2]]}: no joints of its own, it is rigid')
        self.centres[segments] = upper, lower, end
        hinge, straight = self._hinge(rows[1], upper, lower, end, is_leg=limb > 1)
        side = 1.0 if limb % 2 == 0 else -1.0
        if limb > 1:
            goal = two_axis_matrix(_DOWN, _LEFT)
            self._ends[limb] = self._sole(limb, rows, end)
        else:
            # palms down, forearms bend forward: about -Z on the left
            goal = two_axis_matrix(side * _LEFT, side * _DOWN)
            self._ends[limb] = end + PALM_FRACTION * (tip - end)
        turned = goal @ two_axis_matrix(lower - upper, hinge).T
        self.rest[segments[0]] = qb.from_matrix(turned)
        self.rest[segments[1]] = qb.multiply(self.rest[segments[0]], qb.exp(hinge * straight))
        if limb < 2:
            self.rest[segments[2]] = self.rest[segments[1]]
            self._ends[limb] += self._to_skin(limb, set(rows[2]) or {rows[1][-1]})

    def _to_skin(self, limb: int, bodies: set[int]) -> Vec3:
        """Return the way from the middle of a hand to its palm, which is below in the T-pose."""
        rest = self.rest[LIMB_SEGMENTS[limb, 2]]
        x, y, z = qb.rotate(rest, self.tree.points(bodies) - self._ends[limb]).T
        beside = z[(np.abs(y) < PALM_BAND_M) & (np.abs(x) < PALM_BAND_M)]
        down = np.array([0.0, 0.0, min(beside.min(initial=0.0), 0.0)])
        return np.asarray(qb.rotate(qb.conjugate(rest), down))

    def _hinge(
        self, row: tuple[int, ...], upper: Vec3, lower: Vec3, end: Vec3, is_leg: bool
    ) -> tuple[Vec3, float]:
        """Return the unit axis of bending and the angle about it that straightens the limb."""
        tree, along, on = self.tree, lower - upper, end - lower
        across = [abs(tree.axes[j] @ along) / np.linalg.norm(along) for j in row]
        joint = row[int(np.argmin(across))]
        if min(across) > 0.9:
            wanted, line = f'{tree.names[joint]}: a hinge across the limb', tree.joints[joint].line
            raise InputFileError(tree.urdf.path, wanted, 'one along it', line, hint=HINT)
        axis, data = tree.axes[joint], tree.joints[joint]
        square = np.eye(3) - np.outer(axis, axis)
        u, v = square @ on, square @ along
        straight = float(np.arctan2(axis @ np.cross(u, v), u @ v))
        ahead, behind = data.upper - straight, straight - data.lower
        if not abs(ahead - behind) > EVEN * (ahead + behind):
            # bends as far to both sides: forearms go forward, or up; shanks backward
            way = np.cross(axis, along)
            forward = way[0] if abs(way[0]) > 0.1 * np.linalg.norm(way) else way[2]
            ahead, behind = (0.0, forward) if is_leg else (forward, 0.0)
        elif is_leg:
            self.forward += axis[1] if ahead > behind else -axis[1]
        if not data.lower - 1e-6 <= straight <= data.upper + 1e-6:
            text = f'{data.name}: does not get straight, which would be {straight:.2f} rad'
            self.notes.append(text)
        return (axis, straight) if ahead > behind else (-axis, -straight)

    def _sole(self, limb: int, rows: list[tuple[int, ...]], ankle: Vec3) -> Vec3:
        """Return the middle of what of the foot is lowest, not finite where nothing says."""
        points = self.tree.points(set(rows[2]) or {rows[1][-1]})
        if not len(points):
            return np.full(3, np.nan)
        low, high = sole_box(points)
        middle = 0.5 * (low + high)
        self.forward += float(np.clip((middle[0] - ankle[0]) / SURELY_AHEAD_M, -1.0, 1.0))
        return np.array([middle[0], middle[1], low[2]])

    def _mend_soles(self) -> None:
        """Take an adult's soles where there are none, or none that mirror each other."""
        left, right = self._ends[2:]
        if np.linalg.norm(left * [1.0, -1.0, 1.0] - right) < MIRROR_TOL_M:
            return
        ankles = self.centres[LIMB_SEGMENTS[2:, 2]]
        lengths = np.linalg.norm(self.centres[LIMB_SEGMENTS[2:, 0]] - ankles, axis=1)
        self._ends[2:] = ankles + np.outer(lengths / ADULT_LEG_M, ADULT_SOLE_M)
        self.notes.append(
            'soles: no solids or meshes of the feet that mirror each other say where they are; '
            'those of an adult were taken, mend interaction_points_m'
        )

    def _place_trunk(self) -> None:
        shoulders, hips = (self.centres[LIMB_SEGMENTS[k : k + 2, 0]].mean(axis=0) for k in (0, 2))
        leg = np.linalg.norm(hips - self._ends[2:].mean(axis=0))
        spine, chest, head = (self._centre(name) for name in ('spine', 'chest', 'head'))
        if spine is None and chest is None:
            spine, chest = (hips + k / 3.0 * (shoulders - hips) for k in (1, 2))
            self.notes.append('trunk: no joints between legs and arms, it is rigid')
        spine = chest if spine is None else spine
        chest = spine if chest is None else chest
        if head is None:
            head = shoulders + [0.0, 0.0, NECK_M * leg / ADULT_LEG_M]
            self.notes.append('head: no joints of its own, it is rigid')
        assert spine is not None and chest is not None
        self.centres[1:4] = spine, chest, head

    def _centre(self, segment: str) -> Vec3 | None:
        index = list(self.groups.get(segment, ()))
        return axes_centre(self.tree.axes[index], self.tree.origins[index]) if index else None
