# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One clip through the live models in a loop: importance and solver."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from puppet_core.body import (
    Character,
    ContinuousEuler,
    JOINT_NAMES,
    LIMB_SEGMENTS,
    Motion,
    NO_PROPS,
    Posture,
    Props,
)
from puppet_core.clips import bvh_text
from puppet_core.io import ConfigError, cut
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.robots import SUFFIXES, trajectory_data
from puppet_retarget.importance import (
    Environment,
    IMPORTANCE,
    ImportanceConfig,
    ImportanceModel,
    MAX_RESTS,
    ProximityResult,
    REST_WIDTH,
    ROW,
    SELF_ROW,
    SelfInteractionConfig,
)
from puppet_retarget.offline.quality import MotionArrays
from puppet_retarget.solvers import (
    HEAD,
    make_solver,
    Solver,
    SOLVER_NAMES,
    SolverConfig,
    SolverOutput,
)

BVH = '.bvh'
MOTION_SUFFIXES = (BVH, *SUFFIXES)
MAX_LISTED = 500  # characters of the names of props in an error
PROGRESS_FRAMES = 100  # from one report of progress to the next


@dataclass(frozen=True, slots=True)
class RetargetJob:
    character: Character
    environment: Environment  # Solids around the performer, with counterparts
    solver: str = SOLVER_NAMES[0]
    importance: ImportanceConfig = ImportanceConfig()
    tuning: SolverConfig = SolverConfig()
    self_interaction: SelfInteractionConfig = SelfInteractionConfig()


@dataclass(frozen=True, slots=True)
class RetargetResult:
    puppet: MotionArrays  # The puppet in its own world
    q_world: Quats  # The puppet's segment orientations in world, shape (n, 16, 4)
    p_world: Vec3s  # The puppet's joints in world, shape (n, 16, 3) [m]
    rows: Floats  # Importance rows, shape (n, 4, 8)
    # Rows of the self-interaction, shape (n, 8, SELF_ROW), or their first columns
    self_rows: Floats
    goal_errors: Floats  # Shape (n, 4) [m]
    penetrations: Floats  # Shape (n, 4) [m]
    self_depths: Floats  # Depth of the general end-effectors inside the puppet, shape (n, 8) [m]
    body_iterations: Floats  # Shape (n,)
    frame_ms: Floats  # Time of each frame in importance and solver, shape (n,) [ms]
    joint_importances: Floats  # Of elbows and knees in the environment, shape (n, 4)
    rests: Floats  # What else of the body is at objects, shape (n, MAX_RESTS, REST_WIDTH)
    # Joints of a puppet that is a robot, shape (n, joints) [rad]; of others (n, 0)
    robot_angles: Floats
    # Objects that move, over time: the performer's, and the puppet's in its own world
    moving: Props = NO_PROPS
    puppet_moving: Props = NO_PROPS

    def motion(self, character: Character, rate_hz: float) -> Motion:
        p = self.puppet
        posed = p.root_positions, p.rotations, p.end_effectors
        return Motion(character.skeleton, rate_hz, *posed, self.puppet_moving)

    def joints(self, character: Character) -> tuple[tuple[str, ...], Floats]:
        """Return names and angles (n, j) [rad] of all joints, a robot's in its URDF's order."""
        robot = character.robot
        if robot is None:
            split = ContinuousEuler()
            return JOINT_NAMES, np.array([split.step(q).copy() for q in self.puppet.rotations])
        order = robot.urdf_order
        return tuple(robot.published_names[i] for i in order), self.robot_angles[:, order]

    def file_data(self, character: Character, rate_hz: float, suffix: str) -> bytes:
        """Return the puppet's motion as the bytes of a file, one of MOTION_SUFFIXES."""
        if suffix == BVH:
            return bvh_text(self.motion(character, rate_hz)).encode()
        pelvis = self.puppet.root_positions, self.q_world[:, 0]
        return trajectory_data(character, rate_hz, pelvis, self.joints(character), suffix)


def performer_arrays(motion: Motion) -> MotionArrays:
    return MotionArrays(motion.root_positions, motion.rotations, motion.end_effectors)


def retarget_motion(
    motion: Motion,
    job: RetargetJob,
    progress: Callable[[int], object] | None = None,
    solver: Solver | None = None,
    self_columns: int = SELF_ROW,
) -> RetargetResult:
    """
    Run every frame of a motion through importance and solver, as the live nodes do.

    `progress` gets the number of frames done since its last call; `solver` replaces that of the
    job; `self_columns` of the self-interaction's rows are kept, which take most of the memory.
    Raises ConfigError if an object follows what is not among the motion's props.
    """
    skeleton, character = motion.skeleton, job.character
    for item in job.environment.objects:
        if item.follows and item.follows not in motion.props.names:
            got = cut(', '.join(motion.props.names), MAX_LISTED) or 'none'
            wanted = f'props of the motion with {item.follows!r}, which {item.name} follows'
            raise ConfigError(f'environment: expected {wanted}, got {got}')
    solver = solver or make_solver(
        job.solver, character, job.environment, skeleton.leg_length, job.tuning
    )
    joints = character.robot.published_names if character.robot else ()
    model = ImportanceModel(job.environment, job.importance, job.self_interaction, skeleton)
    n, rotations = motion.n_frames, motion.rotations.copy()
    roots, points = motion.root_positions.copy(), motion.end_effectors.copy()
    velocities = motion.end_effector_velocities()
    segments = np.ascontiguousarray(motion.world_segments()[1])
    hips = np.ascontiguousarray(segments[:, LIMB_SEGMENTS[2:, 0]].mean(axis=1))
    result = _empty_result(n, self_columns, len(joints))

    def step(i: int) -> tuple[ProximityResult, SolverOutput]:
        props = motion.props.at(i)
        posture = Posture(roots[i], rotations[i], points[i], velocities[i], props)
        near = model.step(round(i * 1e9 / motion.rate_hz), posture, segments[i])
        assert near is not None  # a motion is finite
        dt = 1.0 / motion.rate_hz if i > 0 else np.inf
        given = roots[i], hips[i], rotations[i], near.rows, dt, near.self_rows, near.moving
        out = solver.solve(*given, segments[i, HEAD], near.rests)
        return near, out

    step(0)
    model.reset()  # the call above only compiled
    moving, puppet_moving = list[Props](), list[Props]()
    puppet = result.puppet
    for i in range(n):
        start = perf_counter()
        near, out = step(i)
        result.robot_angles[i] = out.angles
        result.frame_ms[i] = (perf_counter() - start) * 1e3
        puppet.root_positions[i], puppet.rotations[i] = out.root_position, out.rotations
        puppet.end_effectors[i] = out.end_effectors
        result.joint_importances[i] = near.rows[4:, IMPORTANCE]
        result.rows[i], result.self_rows[i] = near.rows[:4], near.self_rows[:, :self_columns]
        result.rests[i] = near.rests
        moving.append(near.moving)
        puppet_moving.append(out.moving)
        for name in _OF_SOLVER:
            getattr(result, name)[i] = getattr(out, name)
        if progress is not None and i % PROGRESS_FRAMES == PROGRESS_FRAMES - 1:
            progress(PROGRESS_FRAMES)
    return replace(
        result, moving=Props.over_time(moving), puppet_moving=Props.over_time(puppet_moving)
    )


_OF_SOLVER = (
    'q_world',
    'p_world',
    'goal_errors',
    'penetrations',
    'self_depths',
    'body_iterations',
)


def _empty_result(n: int, self_columns: int, n_joints: int) -> RetargetResult:
    return RetargetResult(
        MotionArrays(np.empty((n, 3)), np.empty((n, 16, 4)), np.empty((n, 8, 3))),
        np.empty((n, 16, 4)),
        np.empty((n, 16, 3)),
        np.empty((n, 4, ROW)),
        np.empty((n, 8, self_columns)),
        np.empty((n, 4)),
        np.empty((n, 4)),
        np.empty((n, 8)),
        np.zeros(n),
        np.empty(n),
        np.empty((n, 4)),
        np.empty((n, MAX_RESTS, REST_WIDTH)),
        np.empty((n, n_joints)),
    )


def require_finite(result: RetargetResult) -> None:
    """Raise a RuntimeError that names the first frame that is not finite."""
    puppet = result.puppet
    finite = np.isfinite(puppet.root_positions).all(axis=1)
    finite &= np.isfinite(puppet.rotations).all(axis=(1, 2))
    if not finite.all():
        raise RuntimeError(f'frame {np.argmin(finite)}: expected a finite posture, got another')
