# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet bench robots`: what robots make of clips, measured on their own links and solids.

A clip is given to each robot; what counts is the trajectory file that comes of it. A sole is what
of a foot is within SOLE_BAND_M of its lowest point, and it is planted in the frames in which the
performer's is. Limbs touch where solids of two links are in each other that are neither next to
each other nor so at the zero pose; MuJoCo tells, where it is installed. Flips, whips, snaps, pops
and directions are those of the segments that the robot's joints turn, as a puppet's are measured.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
import sys
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.command import bench_command, bench_parser
import numpy as np
from numpy.typing import NDArray
from puppet_core.body import LIMB_SEGMENTS, Motion, motion_measures, N_SEGMENTS, PARENTS, TURNING
from puppet_core.drawing import Picture, save_png
from puppet_core.io import ConfigError, InputFileError, progress
from puppet_core.math import Floats, Ints, quaternions, Quats, Vec3s
from puppet_core.robots import character_from_urdf, LinkKinematics, RobotMap
from puppet_core.robots.drawn import shape_meshes
from puppet_core.robots.robot_files import read_robot_file
from puppet_core.robots.soles import SOLE_BAND_M
from puppet_retarget.importance import IMPORTANCE
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import retarget_motion, smoothness, table
from puppet_retarget.offline.limit_use import limit_use, Limits
from puppet_retarget.offline.posture_measures import direction_angles_deg, free_limbs
from puppet_retarget.offline.quality import planted_feet
from puppet_retarget.offline.self_contact import body_distances_m, MovingBody, performer_body
from puppet_retarget.offline.whole_motion import performer_arrays, RetargetResult
from puppet_retarget.solvers import SOLVER_NAMES
from puppet_view.render import Body, Camera, even_instants, render_scene

DESCRIPTION = 'Measure how well robots follow clips.'
EXAMPLE = 'example: ./puppet bench robots g1.urdf talos.urdf --clips walk.bvh,dance.bvh'
SUNK_M, FLOATING_M, TOUCH_M = 0.01, 0.01, 0.005  # beyond the floor, above it, in each other
NEAR_LIMIT_RAD = 0.01
TOL = 1e-6
INSTANTS = 6
SIZED = ('box', 'sphere', 'cylinder', 'capsule')
CELL_PX, VIEW_DEG = (240, 300), 35.0
GMR = 'gmr'
UP = np.array([0.0, 0.0, 1.0])


Touching = list[dict[tuple[int, int], float]]


class Trajectory(NamedTuple):
    """A robot over time, its joints in the order of its URDF."""

    rate_hz: float
    base: Vec3s  # Root link, shape (n, 3) [m]
    q_base: Quats  # Shape (n, 4)
    angles: Floats  # Shape (n, j) [rad]
    frame_ms: float  # Median time of a frame


class MeasuredRobot:
    """A robot's links with their solids, its soles and its limits."""

    def __init__(self, path: Path) -> None:
        """Take a URDF, xacro or MJCF; InputFileError says why it is refused."""
        made = character_from_urdf(path, RobotMap(), path.stem)
        assert made.character.robot is not None
        self.character, self.robot = made.character, made.character.robot
        self.urdf = read_robot_file(path)
        self.names = [self.robot.published_names[i] for i in self.robot.urdf_order]
        self.links = LinkKinematics(path, self.robot.urdf, self.names)
        joints = {joint.name: joint for joint in self.urdf.joints}
        # a joint between root and pelvis moves what is above it
        inward = {joint.name for joint in self.urdf.path_to(self.robot.pelvis or self.urdf.root)}
        self._moved = {
            name: self.links.links.index(joint.parent if name in inward else joint.child)
            for name, joint in joints.items()
        }
        self.lower = np.array([joints[name].lower for name in self.names])
        self.upper = np.array([joints[name].upper for name in self.names])
        speeds = dict(zip(self.robot.names, self.robot.speeds))
        self.speeds = np.array([speeds.get(name, np.inf) for name in self.names])
        self.notes = made.notes
        self.meshes = list(self.solids())
        """Each solid with the index of its link."""
        self.corners = self._corners()
        """Corners of each link with solids in its frame, by its index."""
        self.bodies = self._bodies()
        rows = [sum((self._joints(s) for s in LIMB_SEGMENTS[limb]), []) for limb in range(4)]
        counts = [len(row) for row in rows]
        self.chains = (
            f'arms {counts[0]} + {counts[1]}, legs {counts[2]} + {counts[3]}, '
            f'trunk {len(self._joints(1) + self._joints(2))}, head {len(self._joints(3))}'
        )
        self.soles = [self._sole(joints[row[-1]].child) for row in rows[2:]]

    def world(self, motion: Trajectory) -> tuple[Quats, Vec3s]:
        """Return all links in world, (n, l, 4) and (n, l, 3) [m]."""
        return self.links.world(motion.base, motion.q_base, motion.angles)

    def solids(self) -> Iterator[tuple[int, Any]]:
        """Return the mesh of each solid with the index of its link, in whose frame it is."""
        import trimesh

        for index, name in enumerate(self.links.links):
            for shape in self.urdf.links[name].shapes:
                size = shape.size
                if shape.kind in SIZED and np.all(size > TOL):
                    for mesh in shape_meshes(self.urdf.path, shape):
                        yield index, mesh
                elif shape.kind == 'hull' and np.linalg.matrix_rank(size - size[0], TOL) == 3:
                    yield index, trimesh.convex.convex_hull(size).apply_transform(shape.pose)

    def segments(self, links: tuple[Quats, Vec3s]) -> tuple[Quats, Vec3s]:
        """Return our segments of links in world, (n, 16, 4) and (n, 16, 3) [m]."""
        robot, skeleton = self.robot, self.character.skeleton
        held = dict(robot.held)
        angles = np.array([[held.get(name, 0.0) for name in self.names]])
        zero = Trajectory(1.0, np.zeros((1, 3)), robot.facing[None], angles, 0.0)
        q_zero, p_zero = (values[0] for values in self.world(zero))
        pelvis = self.links.links.index(robot.pelvis or self.links.links[0])
        carriers: list[int] = []
        for segment in range(N_SEGMENTS):
            joints = robot.joints_of(segment)
            above = carriers[PARENTS[segment]] if segment else pelvis
            carriers.append(self._moved[robot.names[joints[-1]]] if joints else above)
        q = quaternions.multiply(links[0][:, carriers], quaternions.conjugate(q_zero[carriers]))
        p = links[1][:, carriers] - quaternions.rotate(q, p_zero[carriers] - p_zero[pelvis])
        places = p + quaternions.rotate(q, robot.centres(skeleton))
        return quaternions.multiply(q, quaternions.conjugate(robot.rest)), places

    def still(self) -> Trajectory:
        """Return the zero pose, upright."""
        angles = np.zeros((1, len(self.names))).clip(self.lower, self.upper)
        return Trajectory(1.0, np.zeros((1, 3)), self.robot.facing[None], angles, 0.0)

    def _corners(self) -> dict[int, Vec3s]:
        corners: dict[int, list[Vec3s]] = {}
        for index, mesh in self.meshes:
            points = np.asarray(mesh.vertices)
            if np.linalg.matrix_rank(points - points[0], TOL) == 3:
                points = np.asarray(mesh.convex_hull.vertices)
            corners.setdefault(index, []).append(points)
        return {index: np.concatenate(parts) for index, parts in corners.items()}

    def _joints(self, segment: int) -> list[str]:
        return [self.robot.names[j] for j in self.robot.joints_of(segment)]

    def _bodies(self) -> Ints:
        """Return for each link the first of those that are fixed to it."""
        bodies, moved = [0], set(self.robot.names)
        for index, joint in enumerate(self.urdf.joints, start=1):
            turns = joint.kind in TURNING and (joint.name in moved or joint.mimic is not None)
            bodies.append(index if turns else bodies[self.links.parents[index]])
        return np.array(bodies)

    def _sole(self, link: str) -> tuple[int, Vec3s]:
        """Return the link of a foot and middle and corners of its sole, in that link's frame."""
        foot = self.links.links.index(link)
        q, p = (values[0] for values in self.world(self.still()))
        points = np.concatenate(
            [p[[foot]]]
            + [
                quaternions.rotate(q[i], np.asarray(mesh.vertices)) + p[i]
                for i, mesh in self.meshes
                if self.bodies[i] == self.bodies[foot]
            ]
        )
        low = points[points[:, 2] < points[:, 2].min() + SOLE_BAND_M]
        middle = 0.5 * (low.min(axis=0) + low.max(axis=0))
        middle[2] = points[:, 2].min()
        low = np.concatenate([middle[None], low])
        return foot, quaternions.rotate(quaternions.conjugate(q[foot]), low - p[foot])


class Collisions:
    """Which links of a robot are in each other, by MuJoCo: its links as free bodies."""

    def __init__(self, robot: MeasuredRobot) -> None:
        import mujoco

        self._mujoco, self._robot = mujoco, robot
        meshes, geoms = '', [''] * len(robot.links.links)
        for name, (index, mesh) in enumerate(robot.meshes):
            corners = ' '.join(f'{value:.7g}' for value in mesh.vertices.ravel())
            meshes += f'<mesh name="{name}" vertex="{corners}"/>'
            geoms[index] += f'<geom type="mesh" mesh="{name}"/>'
        bodies = ''.join(
            f'<body name="{i}"><freejoint/><inertial pos="0 0 0" mass="1" '
            f'diaginertia="1 1 1"/>{geom}</body>'
            for i, geom in enumerate(geoms)
        )
        text = f'<mujoco><asset>{meshes}</asset><worldbody>{bodies}</worldbody></mujoco>'
        self._model: Any = mujoco.MjModel.from_xml_string(text)
        self._data: Any = mujoco.MjData(self._model)
        self._allowed: set[tuple[int, int]] = set()
        parents = robot.bodies[np.maximum(robot.links.parents, 0)]
        for i, body in enumerate(robot.bodies):
            for k, other in enumerate(robot.bodies):
                if body == other or parents[body] == other or parents[other] == body:
                    self._allowed.add((i, k))
        self._allowed |= set(self._touching(robot.still(), 0.0)[0])

    def frames(self, motion: Trajectory) -> Touching:
        """Return for each frame the pairs of links that are in each other, and how deep [m]."""
        return self._touching(motion, TOUCH_M)

    def _touching(self, motion: Trajectory, depth: float) -> Touching:
        model, data, found = self._model, self._data, []
        for q, p in zip(*self._robot.world(motion)):
            data.qpos[:] = np.hstack([p, q]).ravel()
            self._mujoco.mj_kinematics(model, data)
            self._mujoco.mj_comPos(model, data)
            self._mujoco.mj_collision(model, data)
            contact = data.contact
            deep = contact.dist < -depth
            links = model.geom_bodyid[contact.geom[deep]] - 1
            pairs: dict[tuple[int, int], float] = {}
            for (i, k), distance in zip(links.tolist(), contact.dist[deep].tolist()):
                if (i, k) not in self._allowed:
                    pairs[i, k] = max(pairs.get((i, k), 0.0), -distance)
            found.append(pairs)
        return found


def slide_mm_s(soles: Vec3s, planted: NDArray[np.bool_], rate_hz: float) -> float:
    """Return the mean speed over the floor [mm/s] of planted soles (n, 2, 3)."""
    return motion_measures.slide_mm_s(soles * [1.0, 1.0, 0.0], planted, rate_hz)


HEAD = (
    "slide (performer's), mm/s",
    'floating, %',
    'deepest sole, mm',
    '> 5 mm, %',
    '> 10 mm, %',
    'over position, speed',
    'at limits, % (most)',
    'jerk, rad/s³',
    'touching, % (most)',
    'ms a frame',
)


def figures(
    robot: MeasuredRobot,
    motion: Trajectory,
    planted: NDArray[np.bool_],
    performer: float,
    touch: Touching | None,
) -> list[str]:
    """Return the cells of one robot on one clip; `planted` (n, 2) is of the performer."""
    q, p = robot.world(motion)
    soles = [quaternions.rotate(q[:, [i]], points) + p[:, [i]] for i, points in robot.soles]
    lowest = np.stack([sole[..., 2].min(axis=1) for sole in soles], axis=1)
    middles = np.stack([sole[:, 0] for sole in soles], axis=1)
    rates = np.diff(motion.angles, axis=0) * motion.rate_hz
    room = np.minimum(motion.angles - robot.lower, robot.upper - motion.angles)
    near = np.mean(room < NEAR_LIMIT_RAD, axis=0) * np.isfinite(robot.speeds)
    jerk = np.diff(rates, n=2, axis=0) * motion.rate_hz**2
    sunk = lowest.min(axis=1)
    use = limit_use(motion.angles, motion.rate_hz, Limits(robot.lower, robot.upper, robot.speeds))
    touching = '–'
    if touch is not None:
        count = Counter(pair for pairs in touch for pair in pairs)
        touching = f'{100.0 * np.mean([bool(pairs) for pairs in touch]):.1f}'
        for pair, times in count.most_common(1):
            names = ', '.join(robot.links.links[i] for i in pair)
            touching += f' ({names} {100.0 * times / len(touch):.1f})'
    worst = int(np.argmax(near))
    return [
        f'{slide_mm_s(middles, planted, motion.rate_hz):.0f} ({performer:.0f})',
        f'{100.0 * np.mean(lowest[planted] > FLOATING_M):.1f}',
        f'{max(-1e3 * sunk.min(), 0.0):.0f}',
        f'{100.0 * np.mean(sunk < -0.5 * SUNK_M):.1f}',
        f'{100.0 * np.mean(sunk < -SUNK_M):.1f}',
        f'{use["position"]}, {use["speed"]}',
        f'{100.0 * near.mean():.1f} ({robot.names[worst]} {100.0 * near[worst]:.0f})',
        f'{np.sqrt(np.mean(jerk**2)):.0f}',
        touching,
        f'{motion.frame_ms:.2f}',
    ]


BODY_HEAD = (
    'deepest link, mm (which)',
    '> 10 mm, %',
    'deepest in itself, mm (which)',
    'flips',
    'whips',
    'snaps',
    'pops',
    'free segments, deg: median / worst',
    'upper arms off, deg',
    'knees more bent, deg',
)


def body_figures(
    robot: MeasuredRobot,
    motion: Trajectory,
    performer: MovingBody,
    captured: Motion,
    is_free: NDArray[np.bool_],
    touch: Touching | None,
) -> list[str]:
    """Return the cells on all of one robot's body on one clip; limbs are free in (n, 4)."""
    links = robot.world(motion)
    q_world, p_world = robot.segments(links)
    depths = link_depths_m(robot, links)
    deepest = max(depths, key=lambda index: float(depths[index].max()))
    sunk = np.stack(list(depths.values())).max(axis=0)
    leaping = smoothness.leaping_frames(performer_arrays(captured), captured.rate_hz)
    local = joint_rotations(q_world)
    turns = local, captured.rotations, captured.rate_hz, leaping
    flips, pops = (
        measure(of(q_world, p_world), of(performer.q_world, performer.p_world), *rest)
        for measure, of, rest in (
            (smoothness.flips, smoothness.bend_offsets, (leaping,)),
            (smoothness.pops, smoothness.limb_directions, (captured.rate_hz, leaping)),
        )
    )
    angles = direction_angles_deg(performer.p_world, p_world)
    free = angles[is_free & ~leaping[:, None]]
    knees = [np.median(knee_bends_deg(p)) for p in (p_world, performer.p_world)]
    return [
        f'{1e3 * max(float(depths[deepest].max()), 0.0):.0f} ({robot.links.links[deepest]})',
        f'{100.0 * np.mean(sunk > SUNK_M):.1f}',
        _deepest_touch(robot, touch),
        *(str(int(found.sum())) for found in (flips, smoothness.whips(*turns))),
        *(str(int(found.sum())) for found in (smoothness.snaps(*turns), pops)),
        f'{np.median(free):.1f} / {free.max():.1f}' if free.size else '–',
        f'{np.median(angles[:, :2, 0]):.0f}',
        f'{knees[0] - knees[1]:.0f}',
    ]


def link_depths_m(robot: MeasuredRobot, links: tuple[Quats, Vec3s]) -> dict[int, Floats]:
    """Return how deep each link with solids is in the floor, less than 0 above, (n,) [m]."""
    depths = {}
    for index, corners in robot.corners.items():
        # the height of a corner v is p_z + (q v)_z = p_z + v (q* z)
        up = quaternions.rotate(
            quaternions.conjugate(links[0][:, index]), np.array([0.0, 0.0, 1.0])
        )
        depths[index] = -(up @ corners.T).min(axis=1) - links[1][:, index, 2]
    return depths


def joint_rotations(q_world: Quats) -> Quats:
    """Return each segment's rotation in its parent, (n, 16, 4); the pelvis's is in world."""
    local = quaternions.multiply(
        quaternions.conjugate(q_world[:, np.maximum(PARENTS, 0)]), q_world
    )
    local[:, 0] = q_world[:, 0]
    return local


def knee_bends_deg(p_world: Vec3s) -> Floats:
    """Return the angle between thigh and shank of both legs, shape (n, 2) [deg]."""
    lines = np.diff(p_world[:, LIMB_SEGMENTS[2:]], axis=2)
    lines /= np.linalg.norm(lines, axis=-1, keepdims=True)
    return np.degrees(np.arccos(np.sum(lines[:, :, 0] * lines[:, :, 1], axis=-1).clip(-1.0, 1.0)))


def _deepest_touch(robot: MeasuredRobot, touch: Touching | None) -> str:
    if touch is None:
        return '–'
    pairs = [(depth, pair) for frame in touch for pair, depth in frame.items()]
    if not pairs:
        return '0'
    depth, pair = max(pairs)
    return f'{1e3 * depth:.0f} ({", ".join(robot.links.links[i] for i in pair)})'


# The peer: GMR (YanjieZe/GMR) where it can be imported.


def gmr_modules() -> list[Any]:
    """Return MuJoCo and GMR's solver, reader and robots; ConfigError where one is not there."""
    gmr = 'general_motion_retargeting'
    names = ('mujoco', f'{gmr}.motion_retarget', f'{gmr}.utils.lafan1', f'{gmr}.params')
    try:
        return [import_module(name) for name in names]
    except ImportError as err:
        raise ConfigError(f'--peer {GMR}: expected YanjieZe/GMR, there is no {err.name}') from err


def gmr_trajectory(gmr: Sequence[Any], robot: MeasuredRobot, clip: Path) -> Trajectory | None:
    """Return what GMR makes of a LAFAN1 clip for its robot of the same joints, None without."""
    mujoco, module, lafan, known = gmr
    for name in known.IK_CONFIG_DICT['bvh']:
        file = known.ROBOT_XML_DICT[name]
        model = mujoco.MjModel.from_xml_path(str(file)) if file.is_file() else None
        joints = [model.joint(i).name for i in range(1, model.njnt)] if model else []
        if set(joints) == set(robot.names):
            break
    else:
        return None
    frames, height = lafan.load_lafan1_file(str(clip))
    solver = module.GeneralMotionRetargeting('bvh', name, actual_human_height=height)
    solver.retarget(frames[0])
    states, times = [], []
    for frame in frames:
        start = perf_counter()
        states.append(solver.retarget(frame))
        times.append(1e3 * (perf_counter() - start))
    state = np.array(states)
    angles = state[:, 7:][:, [joints.index(joint) for joint in robot.names]]
    return Trajectory(30.0, state[:, :3], state[:, 3:7], angles, float(np.median(times)))


# Pictures.


def picture_row(robot: MeasuredRobot, result: RetargetResult, name: str) -> Picture:
    """Return pictures of a robot beside each other."""
    from PIL import Image, ImageDraw, ImageFont

    tall = 1.1 * robot.character.skeleton.leg_length
    cells = []
    for i in even_instants(len(result.q_world), INSTANTS):
        x, y, _ = result.p_world[i, 0]
        middle = np.array([x, y, 0.9 * tall])
        ahead = quaternions.rotate(result.q_world[i, 0], np.array([1.0, 0.0, 0.0]))
        side = np.array([ahead[0] - ahead[1], ahead[1] + ahead[0], 0.25])
        camera = Camera(middle + 3.6 * tall * side, middle, VIEW_DEG)
        body = Body(robot.character, result.q_world[i], result.p_world[i])
        cells.append(render_scene([body], camera, CELL_PX))
    canvas = Image.fromarray(np.concatenate(cells, axis=1))
    draw = ImageDraw.Draw(canvas)
    draw.text((8, 6), name, (40, 40, 40), ImageFont.load_default(18))
    return np.asarray(canvas)


# The command.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('robots', nargs='+', type=Path, metavar='URDF', help='URDF, xacro or MJCF')
    parser.add_argument(
        '--clips', type=clip_arguments.listed, required=True, metavar='A,B', help='clips'
    )
    parser.add_argument(
        '--peer', choices=(GMR,), help='another solver to measure as well, on LAFAN1 clips'
    )
    parser.add_argument('--picture', type=Path, metavar='PNG', help='the robots in the last clip')
    clip_arguments.add_tuning_options(parser)
    clip_arguments.add_clip_options(parser)


def run(arguments: argparse.Namespace) -> str:
    """
    Measure everything asked for; return Markdown tables.

    Raises
    ------
    PuppetError : for bad input.

    """
    gmr = gmr_modules() if arguments.peer else None
    clips = {Path(p): clip_arguments.read_clip(p, arguments) for p in arguments.clips}
    chains, rows, bodies, strips = [], [], [], []
    with progress('robots', len(arguments.robots) * len(clips), unit='clip') as advance:
        for path in arguments.robots:
            try:
                robot = MeasuredRobot(path)
            except InputFileError as err:
                chains.append([path.stem, f'refused: {err}', '', ''])
                advance(len(clips))
                continue
            skeleton, remarks = robot.character.skeleton, '; '.join(robot.notes) or 'none'
            chains.append([path.stem, robot.chains, f'{skeleton.leg_length:.2f}', remarks])
            touch = Collisions(robot) if find_spec('mujoco') else None
            for file, motion in clips.items():
                planted = planted_feet(performer_arrays(motion), motion.rate_hz)
                slide = slide_mm_s(motion.end_effectors[:, 2:4], planted, motion.rate_hz)
                slide *= robot.character.scale_for(motion.skeleton.leg_length)
                result, ours = our_trajectory(robot, motion, arguments)
                made = {path.stem: ours}
                peer = gmr_trajectory(gmr, robot, file) if gmr else None
                if peer is not None:
                    made[f'{path.stem} by GMR'] = peer
                performer = performer_body(motion)
                is_free = free_limbs_of(robot, performer, motion, result)
                for title, trajectory in made.items():
                    touching = touch.frames(trajectory) if touch else None
                    cells = figures(robot, trajectory, planted, slide, touching)
                    rows.append([title, file.stem, *cells])
                    cells = body_figures(robot, trajectory, performer, motion, is_free, touching)
                    bodies.append([title, file.stem, *cells])
                advance(1)
            if arguments.picture:
                strips.append(picture_row(robot, result, path.stem))
    if not rows:
        refusals = '\n'.join(row[1] for row in chains)
        raise ConfigError(f'expected a robot to measure, got none\n{refusals}')
    if strips:
        save_png(arguments.picture, np.concatenate(strips))
    found = table(['robot', 'joints found', 'legs, m', 'remarks'], chains)
    tables = [table(['robot', 'clip', *HEAD], rows), table(['robot', 'clip', *BODY_HEAD], bodies)]
    return '\n\n'.join([found, *tables])


def free_limbs_of(
    robot: MeasuredRobot, performer: MovingBody, motion: Motion, result: RetargetResult
) -> NDArray[np.bool_]:
    """Return which limbs of who follows a clip are asked for their gesture alone, (n, 4)."""
    character = robot.character
    puppet = MovingBody(
        character.skeleton,
        character.capsules,
        result.q_world,
        result.p_world,
        result.puppet.end_effectors,
    )
    environment = np.maximum(result.rows[..., IMPORTANCE], result.joint_importances)
    scale = character.scale_for(motion.skeleton.leg_length)
    distances = body_distances_m(performer)
    return free_limbs(performer, puppet, distances, scale, environment, motion.rate_hz)


def our_trajectory(
    robot: MeasuredRobot, motion: Motion, arguments: argparse.Namespace
) -> tuple[RetargetResult, Trajectory]:
    """Return what the suite makes of a clip, and that as its trajectory file has it."""
    environment = clip_arguments.find_environment(arguments.environment)
    job = clip_arguments.tuning(arguments.settings).job(
        robot.character, environment, SOLVER_NAMES[0]
    )
    result = retarget_motion(motion, job)
    data = np.load(BytesIO(result.file_data(robot.character, motion.rate_hz, '.npz')))
    frame_ms = float(np.median(result.frame_ms))
    return result, Trajectory(
        motion.rate_hz, data['base_pos_w'], data['base_quat_w'], data['joint_pos'], frame_ms
    )


def parser() -> argparse.ArgumentParser:
    return bench_parser('robots', DESCRIPTION, EXAMPLE, add_arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench; return the exit code."""
    return bench_command(parser(), run, argv)


if __name__ == '__main__':
    sys.exit(main())
