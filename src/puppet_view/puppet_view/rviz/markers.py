# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What RViz and the browser show besides the bodies, as plain descriptions without ROS.

Solids of the environment (`environment_markers`), goals coloured by importance (`goal_markers`),
and the range balls around the goals (Shin2002 fig. 5.3): those of the environment in
`range_ball_markers`, those of the puppet's own body in `self_ball_markers`. No message carries
the latter, so `SelfBallView` computes them from performer, importance and puppet by the solver's
kernel; where the published posture was blended after a gap, or joint limits bent the torso, they
fit the visible posture. `MarkerBoard` limits the rate of the topic; the caller passes the time.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from puppet_core.body import (
    Character,
    end_effector_positions,
    END_EFFECTORS,
    forward_kinematics,
    is_posture,
    LIMB_SEGMENTS,
    Posture,
    SEGMENT_INDEX,
    SEGMENTS,
)
from puppet_core.marker_spec import (
    Colour,
    CUBE_SHAPE,
    CYLINDER_SHAPE,
    IDENTITY,
    importance_colour,
    MarkerSpec,
    SPHERE_SHAPE,
    text_marker,
)
from puppet_core.math import Floats, Quats, Vec3, Vec3s
from puppet_core.math.quaternions import rotate
from puppet_retarget.importance import (
    body_arrays,
    BOX,
    CAPSULE,
    CYLINDER,
    Environment,
    IMPORTANCE,
    Placement,
    PLANE,
    ROW,
    SceneObject,
    SELF_ROW,
    SPHERE,
)
from puppet_retarget.solvers import empty_self_balls, is_usable, limb_self_balls, SelfBalls
from puppet_ros.node import RateLimit

ENVIRONMENT, REAL, GOALS, RANGE_BALLS = 'environment', 'real', 'goals', 'range_balls'
LABELS, NAMES = 'labels', 'names'
NAMESPACES = (ENVIRONMENT, REAL, GOALS, RANGE_BALLS, LABELS, NAMES)

PLANE_EXTENT_M = 8.0  # of the drawn part of an endless plane
PLANE_THICKNESS_M = 0.01
GOAL_DIAMETER_M = 0.05
MIN_BALL_RADIUS_M = 0.01  # smaller ones are hidden by their goal
VISIBLE_IMPORTANCE = 0.05  # below it goals and balls are not drawn
LABEL_HEIGHT_M, LABEL_ABOVE_M = 0.06, 0.10  # of the letters; of their middle over the goal
LABEL_STEP_M = 0.08  # right ones stand higher, so that those of a pair do not overlap
NAME_HEIGHT_M, NAME_ABOVE_M = 0.09, 0.10
HEAD, HEAD_SHARE = SEGMENT_INDEX['head'], 0.25  # neck to crown, of a leg's length
LABEL_COLOUR: Colour = (1.0, 1.0, 1.0, 0.95)

FLOOR_COLOUR: Colour = (0.62, 0.64, 0.66, 0.35)
REAL_COLOUR: Colour = (0.55, 0.60, 0.68, 0.35)
PUPPET_COLOUR: Colour = (0.72, 0.60, 0.46, 1.0)


def environment_markers(
    environment: Environment, world_scale: float = 1.0
) -> tuple[MarkerSpec, ...]:
    """
    Return the solids of both worlds.

    Those of the puppet are in the group 'environment'; a real object that differs from its
    counterpart is added, paler, in the group 'real'.

    """
    markers: list[MarkerSpec] = []
    for scene_object in environment.objects:
        scaled = _scaled(scene_object.puppet, world_scale)
        colour = FLOOR_COLOUR if scene_object.shape == PLANE else PUPPET_COLOUR
        _add_solid(markers, ENVIRONMENT, scene_object, scaled, colour)
        if scene_object.shape != PLANE and not _same(scaled, scene_object.real):
            _add_solid(markers, REAL, scene_object, scene_object.real, REAL_COLOUR)
    return tuple(markers)


def goal_markers(importances: Floats, goals: Vec3s) -> tuple[MarkerSpec, ...]:
    """Return a small sphere at each goal that matters, coloured by importance."""
    size = np.full(3, GOAL_DIAMETER_M)
    return tuple(
        MarkerSpec(
            GOALS,
            i,
            SPHERE_SHAPE,
            goals[i],
            IDENTITY,
            size,
            (*importance_colour(importances[i]), 1.0),
        )
        for i in _visible(importances, goals)
    )


def label_markers(importances: Floats, goals: Vec3s) -> tuple[MarkerSpec, ...]:
    """Return name and importance over each goal that matters."""
    return tuple(
        text_marker(
            LABELS,
            i,
            f'{END_EFFECTORS[i].replace("_", " ")} {importances[i]:.2f}',
            goals[i] + [0.0, 0.0, LABEL_ABOVE_M + LABEL_STEP_M * (i % 2)],
            LABEL_HEIGHT_M,
            LABEL_COLOUR,
        )
        for i in _visible(importances, goals)
    )


def body_names(
    bodies: Mapping[str, tuple[str, float]], puppet: Character
) -> tuple[MarkerSpec, ...]:
    """
    Return the names of the bodies over their heads; of a robot over its pelvis.

    Parameters
    ----------
    bodies : mapping
        Prefix of its frames -> name and leg length [m]; without a name it is not there yet.
    puppet : Character
        The body whose frames' prefix is the last one.

    """
    markers = []
    for i, (prefix, (name, leg_length)) in enumerate(bodies.items()):
        segment, above = SEGMENTS[HEAD], HEAD_SHARE * leg_length
        if i == len(bodies) - 1 and puppet.robot is not None:
            segment, above = SEGMENTS[0], leg_length
        elif i == len(bodies) - 1:
            tops = [
                max(c.start[2], c.end[2]) + c.radius for c in puppet.capsules if c.segment == HEAD
            ]
            above = max(tops, default=above)
        if name:
            place = np.array([0.0, 0.0, above + NAME_ABOVE_M])
            markers.append(
                text_marker(NAMES, i, name, place, NAME_HEIGHT_M, LABEL_COLOUR, prefix + segment)
            )
    return tuple(markers)


def range_ball_markers(
    importances: Floats, goals: Vec3s, radii_at_zero: Floats
) -> tuple[MarkerSpec, ...]:
    """
    Return the ball of each goal, which shrinks from its radius at zero importance to nothing.

    Shin2002 eq. 5.10: the radius is (1 - w) D.

    """
    markers = []
    for i in _visible(importances, goals):
        radius = (1.0 - importances[i]) * radii_at_zero[i]
        if radius > MIN_BALL_RADIUS_M:
            colour = (*importance_colour(importances[i]), 0.15)
            size = np.full(3, 2.0 * radius)
            markers.append(
                MarkerSpec(RANGE_BALLS, i, SPHERE_SHAPE, goals[i], IDENTITY, size, colour)
            )
    return tuple(markers)


def self_ball_markers(
    importances: Floats, centres: Vec3s, radii: Floats
) -> tuple[MarkerSpec, ...]:
    """
    Return the range balls of the own body: where hands, feet, elbows and knees may be.

    Shin2002 eqs. 5.6-5.9. They have no goal that hides the smallest, so these stay visible. In
    the group of the goals' balls, numbered on from those: a view shows or hides all.

    """
    markers = []
    for j in _visible(importances, centres):
        colour = (*importance_colour(importances[j]), 0.15)
        size = np.full(3, 2.0 * max(radii[j], MIN_BALL_RADIUS_M))
        identifier = len(END_EFFECTORS) + j
        markers.append(
            MarkerSpec(RANGE_BALLS, identifier, SPHERE_SHAPE, centres[j], IDENTITY, size, colour)
        )
    return tuple(markers)


def _visible(importances: Floats, goals: Vec3s) -> Sequence[int]:
    return [
        i
        for i in range(len(importances))
        if importances[i] > VISIBLE_IMPORTANCE and np.all(np.isfinite(goals[i]))
    ]


def _scaled(placement: Placement, world_scale: float) -> Placement:
    return Placement(
        world_scale * placement.position, placement.orientation, world_scale * placement.size
    )


def _same(a: Placement, b: Placement) -> bool:
    return all(
        np.allclose(getattr(a, name), getattr(b, name), atol=1e-9)
        for name in ('position', 'orientation', 'size')
    )


def _add_solid(
    markers: list[MarkerSpec],
    namespace: str,
    scene_object: SceneObject,
    placement: Placement,
    colour: Colour,
) -> None:
    for shape, centre, size in _parts(scene_object.shape, placement.size):
        position = placement.position + rotate(placement.orientation, centre)
        identifier = sum(marker.namespace == namespace for marker in markers)
        markers.append(
            MarkerSpec(
                namespace,
                identifier,
                shape,
                position,
                placement.orientation,
                size,
                colour,
                scene_object.name,
            )
        )


def _parts(shape: int, size: Vec3) -> list[tuple[str, Vec3, Vec3]]:
    """Return shape, centre and extents of what an object is drawn with, in its own frame."""
    middle = np.zeros(3)
    if shape == PLANE:
        below = np.array([0.0, 0.0, -0.5 * PLANE_THICKNESS_M])
        extent = np.array([PLANE_EXTENT_M, PLANE_EXTENT_M, PLANE_THICKNESS_M])
        return [(CUBE_SHAPE, below, extent)]
    if shape == BOX:
        return [(CUBE_SHAPE, middle, size)]
    if shape == SPHERE:
        return [(SPHERE_SHAPE, middle, 2.0 * size)]
    assert shape in (CYLINDER, CAPSULE)
    round_size = np.array([2.0 * size[0], 2.0 * size[0], size[2]])
    parts = [(CYLINDER_SHAPE, middle, round_size)]
    if shape == CAPSULE:
        end, ball = np.array([0.0, 0.0, 0.5 * size[2]]), np.full(3, 2.0 * size[0])
        parts += [(SPHERE_SHAPE, end, ball), (SPHERE_SHAPE, -end, ball)]
    return parts


class MarkerBoard:
    """What waits to be drawn."""

    def __init__(self, rate_hz: float) -> None:
        """Take the most messages a second [Hz]; 0 is none at all."""
        self._limit = RateLimit(rate_hz)
        self._ball_limit = RateLimit(rate_hz)
        self._is_environment_due = False
        self._balls: tuple[int, tuple[MarkerSpec, ...]] = (0, ())

    def frame(self, now_ns: int) -> bool:
        """Return whether a message is due now that a frame has come."""
        return self._limit.passes(now_ns)

    def tick(self, now_ns: int) -> bool:
        """Ask for the environment; return whether a message is due for it alone."""
        self._is_environment_due = self._limit.is_open
        return self._limit.passes(now_ns)

    def wants_balls(self, now_ns: int) -> bool:
        """Return whether the balls of the own body would be shown."""
        return self._ball_limit.passes(now_ns)

    def put_balls(self, stamp_ns: int, balls: tuple[MarkerSpec, ...]) -> None:
        """Keep the balls of a frame for the next message."""
        self._balls = stamp_ns, balls

    def take_balls(self) -> tuple[int, tuple[MarkerSpec, ...]]:
        """Return stamp [ns] and balls that wait, if any, and forget them."""
        taken, self._balls = self._balls, (0, ())
        return taken

    def take_environment(self) -> bool:
        """Return whether the environment belongs in this message, and forget it."""
        taken, self._is_environment_due = self._is_environment_due, False
        return taken


class SelfBallView:
    """The range balls of one character."""

    def __init__(self, character: Character) -> None:
        skeleton = character.skeleton
        self._offsets = skeleton.offsets.copy()
        self._interaction_points = skeleton.interaction_points.copy()
        self._samples = body_arrays(skeleton, character.capsules).samples
        self._q_world, self._p_world = np.zeros((16, 4)), np.zeros((16, 3))
        self._points = np.zeros((8, 3))
        self._balls = empty_self_balls()
        self._warm_up()

    def balls(
        self,
        puppet: Posture,
        captured: Quats,
        rows: Floats,
        self_rows: Floats,
        world_scale: float,
    ) -> SelfBalls:
        """
        Return the balls of one frame, overwritten by the next call; none if it is not usable.

        Parameters
        ----------
        puppet : Posture
            The puppet, of this character.
        captured : ndarray, shape (16, 4)
            The performer's joint rotations.
        rows, self_rows : ndarray, shapes (4, 8), (8, SELF_ROW)
            Importance for the environment, and what of the own body is near.
        world_scale : float
            Size of the puppet's world over the performer's.

        """
        self._balls.importances[:] = 0.0
        root, rotations = np.array(puppet.root_position), np.array(puppet.rotations)
        rows, self_rows = np.array(rows), np.array(self_rows)
        # as retarget checks its input; the joints' positions are not used here
        if not (
            is_usable(root, self._p_world, captured, rows, self_rows)
            and is_posture(root, self._p_world, rotations)
        ):
            return self._balls
        limbs, legs = LIMB_SEGMENTS.ravel(), LIMB_SEGMENTS[2:].ravel()
        legs_posed = rotations[legs]
        rotations[limbs] = captured[limbs]
        self._fill((2, 3), root, rotations, rows, self_rows, world_scale)
        # arms find the legs as they were posed before them
        rotations[legs] = legs_posed
        self._fill((0, 1), root, rotations, rows, self_rows, world_scale)
        return self._balls

    def _warm_up(self) -> None:
        """Compile before the first message."""
        rest = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
        nothing = np.zeros((8, 3))
        self.balls(
            Posture(np.zeros(3), rest, nothing, nothing),
            rest,
            np.zeros((4, ROW)),
            np.zeros((8, SELF_ROW)),
            1.0,
        )

    def _fill(
        self,
        limbs: tuple[int, int],
        root: Vec3,
        rotations: Quats,
        rows: Floats,
        self_rows: Floats,
        world_scale: float,
    ) -> None:
        """Fill the balls of two limbs, found with the puppet in this posture."""
        q_world, p_world = self._q_world, self._p_world
        forward_kinematics(self._offsets, root, rotations, q_world, p_world)
        end_effector_positions(self._interaction_points, q_world, p_world, self._points)
        for limb in limbs:
            limb_self_balls(
                limb,
                rows[limb, IMPORTANCE],
                self_rows,
                self._samples,
                world_scale,
                q_world,
                p_world,
                self._points,
                self._balls,
            )
