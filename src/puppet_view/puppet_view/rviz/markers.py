# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What RViz and the browser show besides the bodies, as plain descriptions without ROS."""

from collections.abc import Sequence

import numpy as np
from puppet_core import body as bodies
from puppet_core import marker_spec as spec
from puppet_core.body import Character, Props
from puppet_core.marker_spec import Colour, MarkerSpec
from puppet_core.math import Floats, Quats, Vec3, Vec3s
from puppet_core.math.quaternions import rotate
from puppet_core.math.values import between
from puppet_retarget import importance as near
from puppet_retarget import solvers

ENVIRONMENT, REAL, GOALS, RANGE_BALLS = 'environment', 'real', 'goals', 'range_balls'
LABELS, NAMES = 'labels', 'names'
NAMESPACES = (ENVIRONMENT, REAL, GOALS, RANGE_BALLS, LABELS, NAMES)

FIRST_MOVING = 500  # number of the first marker of objects that move
PLANE_EXTENT_M = 8.0  # of the drawn part of an endless plane
PLANE_THICKNESS_M = 0.01
GOAL_DIAMETER_M = 0.05
MIN_BALL_RADIUS_M = 0.01  # smaller ones are hidden by their goal
VISIBLE_IMPORTANCE = 0.05  # below it goals and balls are not drawn
LABEL_HEIGHT_M, VALUE_HEIGHT_M = 0.06, 0.035  # of the letters of a goal's name, and of its number
VALUE_ABOVE_M, LABEL_ABOVE_M = 0.08, 0.15  # of their middles over the goal
LABEL_STEP_M = 0.14  # right ones stand higher, so that those of a pair do not overlap
NAME_HEIGHT_M, NAME_ABOVE_M = 0.09, 0.10
HEAD, HEAD_SHARE = bodies.SEGMENT_INDEX['head'], 0.25  # neck to crown, of a leg's length
LABEL_COLOUR: Colour = (1.0, 1.0, 1.0, 0.95)

FLOOR_COLOUR: Colour = (0.62, 0.64, 0.66, 0.35)
REAL_COLOUR: Colour = (0.55, 0.60, 0.68, 0.35)
PUPPET_COLOUR: Colour = (0.72, 0.60, 0.46, 1.0)

TINTS = (0.2, 0.6, 0.95)  # how far upper, lower and end segment turn at importance 1
SKIN_M = 0.003  # thicker than the model's capsule
MIN_CORE_M = 1e-6
LIFETIME_S = 0.5  # of the limbs' markers


def environment_markers(
    environment: near.Environment, world_scale: float = 1.0, is_apart: bool = False
) -> tuple[MarkerSpec, ...]:
    """
    Return the solids of both worlds that stand still.

    The puppet's are in the group 'environment', the performer's, paler, in 'real': all but planes
    if the worlds are apart, else those that differ.
    """
    markers: dict[str, list[MarkerSpec]] = {ENVIRONMENT: [], REAL: []}
    for item in environment.objects:
        if item.moves:
            continue
        real, puppet = item.real, item.puppet
        place = near.Placement(
            world_scale * puppet.position, puppet.orientation, world_scale * puppet.size
        )
        colour = FLOOR_COLOUR if item.shape == near.PLANE else PUPPET_COLOUR
        drawn = [(ENVIRONMENT, place, colour)]
        is_same = not is_apart and all(
            np.allclose(getattr(place, name), getattr(real, name), atol=1e-9)
            for name in ('position', 'orientation', 'size')
        )
        if item.shape != near.PLANE and not is_same:
            drawn.append((REAL, real, REAL_COLOUR))
        for group, at, colour in drawn:
            markers[group] += _solid(group, len(markers[group]), item, at, colour)
    return (*markers[ENVIRONMENT], *markers[REAL])


def moving_markers(
    environment: near.Environment, props: Props, is_puppet: bool = False, world_scale: float = 1.0
) -> tuple[MarkerSpec, ...]:
    """Return the objects that move, where they are; of the puppet's world or the performer's."""
    group = ENVIRONMENT if is_puppet else REAL
    items = {item.name: item for item in environment.objects if item.moves}
    markers: list[MarkerSpec] = []
    for name, position, orientation in zip(*props):
        if name not in items or not np.isfinite((*position, *orientation)).all():
            continue
        item = items[name]
        size = world_scale * item.puppet.size if is_puppet else item.real.size
        colour = PUPPET_COLOUR if is_puppet else REAL_COLOUR
        at = near.Placement(position, orientation, size)
        markers += _solid(group, FIRST_MOVING + len(markers), item, at, colour)
    return tuple(markers)


def _solid(
    group: str, first: int, item: near.SceneObject, at: near.Placement, colour: Colour
) -> list[MarkerSpec]:
    return [
        MarkerSpec(
            group,
            first + k,
            shape,
            at.position + rotate(at.orientation, centre),
            at.orientation,
            size,
            colour,
            item.name,
        )
        for k, (shape, centre, size) in enumerate(_parts(item.shape, at.size))
    ]


def goal_markers(importances: Floats, goals: Vec3s) -> tuple[MarkerSpec, ...]:
    """Return a small sphere at each goal that matters, coloured by importance."""
    return tuple(
        _ball(
            GOALS,
            i,
            goals[i],
            0.5 * GOAL_DIAMETER_M,
            (*spec.importance_colour(importances[i]), 1.0),
        )
        for i in _visible(importances, goals)
    )


def label_markers(importances: Floats, goals: Vec3s) -> tuple[MarkerSpec, ...]:
    """Return the name over each goal that matters, and in small type its importance below."""
    return tuple(
        spec.text_marker(
            LABELS,
            number * len(bodies.GENERAL_END_EFFECTORS) + i,
            text,
            goals[i] + [0.0, 0.0, above + LABEL_STEP_M * (i % 2)],
            height,
            LABEL_COLOUR,
        )
        for i in _visible(importances, goals)
        for number, (text, above, height) in enumerate(
            (
                (bodies.GENERAL_END_EFFECTORS[i].replace('_', ' '), LABEL_ABOVE_M, LABEL_HEIGHT_M),
                (f'{importances[i]:.2f}', VALUE_ABOVE_M, VALUE_HEIGHT_M),
            )
        )
    )


def body_name(
    identifier: int, prefix: str, name: str, leg_length: float, puppet: Character | None = None
) -> tuple[MarkerSpec, ...]:
    """
    Return the name of a body over its head, of a robot over its pelvis; nothing without a name.

    `prefix` is that of its frames, `puppet` its character if it is one, `leg_length` in [m].
    """
    segment, above = bodies.SEGMENTS[HEAD], HEAD_SHARE * leg_length
    if puppet is not None and puppet.robot is not None:
        segment, above = bodies.SEGMENTS[0], leg_length
    elif puppet is not None:
        ends = (max(c.start[2], c.end[2]) + c.radius for c in puppet.capsules if c.segment == HEAD)
        above = max(ends, default=above)
    place, look = np.array([0.0, 0.0, above + NAME_ABOVE_M]), (NAME_HEIGHT_M, LABEL_COLOUR)
    marker = spec.text_marker(NAMES, identifier, name, place, *look, prefix + segment)
    return (marker,) if name else ()


def range_ball_markers(
    importances: Floats, goals: Vec3s, radii_at_zero: Floats
) -> tuple[MarkerSpec, ...]:
    """Return the ball of each goal: (1 - w) D as radius, Shin2002 eq. 5.10."""
    radii = (1.0 - importances) * radii_at_zero
    shown = np.where(radii > MIN_BALL_RADIUS_M, importances, 0.0)
    return _range_balls(shown, goals, radii, 0)


def self_ball_markers(
    importances: Floats, centres: Vec3s, radii: Floats
) -> tuple[MarkerSpec, ...]:
    """Return where hands, feet, elbows and knees may be by the own body (Shin2002 5.6-5.9)."""
    radii = np.maximum(radii, MIN_BALL_RADIUS_M)
    return _range_balls(importances, centres, radii, len(bodies.GENERAL_END_EFFECTORS))


def _range_balls(
    importances: Floats, centres: Vec3s, radii: Floats, first: int
) -> tuple[MarkerSpec, ...]:
    colours = [(*spec.importance_colour(importance), 0.15) for importance in importances]
    return tuple(
        _ball(RANGE_BALLS, first + i, centres[i], radii[i], colours[i])
        for i in _visible(importances, centres)
    )


def _ball(
    namespace: str, identifier: int, centre: Vec3, radius: float, colour: Colour
) -> MarkerSpec:
    size = np.full(3, 2.0 * radius)
    return MarkerSpec(
        namespace, identifier, spec.SPHERE_SHAPE, centre, spec.IDENTITY, size, colour
    )


def _visible(importances: Floats, goals: Vec3s) -> Sequence[int]:
    return [
        i
        for i in range(len(importances))
        if importances[i] > VISIBLE_IMPORTANCE and np.all(np.isfinite(goals[i]))
    ]


def _parts(shape: int, size: Vec3) -> list[tuple[str, Vec3, Vec3]]:
    """Return shape, centre and extents of what an object is drawn with, in its own frame."""
    middle = np.zeros(3)
    if shape == near.PLANE:
        below = np.array([0.0, 0.0, -0.5 * PLANE_THICKNESS_M])
        extent = np.array([PLANE_EXTENT_M, PLANE_EXTENT_M, PLANE_THICKNESS_M])
        return [(spec.CUBE_SHAPE, below, extent)]
    if shape == near.BOX:
        return [(spec.CUBE_SHAPE, middle, size)]
    if shape == near.SPHERE:
        return [(spec.SPHERE_SHAPE, middle, 2.0 * size)]
    assert shape in (near.CYLINDER, near.CAPSULE)
    round_size = np.array([2.0 * size[0], 2.0 * size[0], size[2]])
    parts = [(spec.CYLINDER_SHAPE, middle, round_size)]
    if shape == near.CAPSULE:
        end, ball = np.array([0.0, 0.0, 0.5 * size[2]]), np.full(3, 2.0 * size[0])
        parts += [(spec.SPHERE_SHAPE, end, ball), (spec.SPHERE_SHAPE, -end, ball)]
    return parts


class BodyTint:
    """
    The puppet's limbs in the colour of their importance, over a robot model.

    Each capsule of a limb that matters is drawn again, a little thicker, so that it hides the one
    of the RobotModel, in a mixture of its own colour and that of the importance. They move with
    the links' frames. A robot's links are not our segments: it has no coloured limbs.
    """

    def __init__(self, character: Character, prefix: str) -> None:
        """Take whose capsules, and the prefix of the segments' TF frames, as in 'puppet/'."""
        self._limbs: list[list[tuple[MarkerSpec, float]]] = []
        for name, segments in zip(bodies.LIMBS, bodies.LIMB_SEGMENTS):
            solids = [
                (solid._replace(frame=prefix + bodies.SEGMENTS[segment]), tint)
                for segment, tint in zip(segments, TINTS)
                for capsule in character.capsules
                if capsule.segment == segment and character.robot is None
                for solid in _skin(name, capsule, character.colour_of(capsule))
            ]
            self._limbs.append([(s._replace(identifier=i), t) for i, (s, t) in enumerate(solids)])

    def step(self, importances: Floats) -> tuple[MarkerSpec, ...]:
        """Return the solids of limbs that matter; importances, shape (4,), in 0 .. 1 or NaN."""
        markers: list[MarkerSpec] = []
        for solids, importance in zip(self._limbs, importances.tolist()):
            warm = np.array(spec.importance_colour(importance))
            for solid, tint in solids if importance > VISIBLE_IMPORTANCE else ():
                blend = tint * importance
                red, green, blue = (1.0 - blend) * np.array(solid.colour[:3]) + blend * warm
                markers.append(solid._replace(colour=(float(red), float(green), float(blue), 1.0)))
        return tuple(markers)


def _skin(
    namespace: str, capsule: bodies.Capsule, colour: tuple[float, float, float]
) -> list[MarkerSpec]:
    """Return what a capsule is drawn with, in its segment's frame."""
    radius, core = capsule.radius + SKIN_M, capsule.end - capsule.start
    length = float(np.linalg.norm(core))
    is_ball = length <= MIN_CORE_M
    ends = [capsule.start] if is_ball else [capsule.start, capsule.end]
    solids = [_ball(namespace, 0, end, radius, (*colour, 1.0)) for end in ends]
    if not is_ball:
        middle, turn = (
            0.5 * (capsule.start + capsule.end),
            np.array(between((0.0, 0.0, 1.0), core)),
        )
        size = np.array([2.0 * radius, 2.0 * radius, length])
        solids.append(
            MarkerSpec(namespace, 0, spec.CYLINDER_SHAPE, middle, turn, size, (*colour, 1.0))
        )
    return solids


class SelfBallView:
    def __init__(self, character: Character) -> None:
        """Prepare, and compile before the first message."""
        self._character, self._found = character, solvers.SelfBalls(character, 1.0)
        rest, nothing = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1)), np.zeros((8, 3))
        posture = bodies.Posture(np.zeros(3), rest, nothing, nothing)
        self.balls(posture, rest, np.zeros((4, near.ROW)), np.zeros((8, near.SELF_ROW)), 1.0)

    def balls(
        self,
        puppet: bodies.Posture,
        captured: Quats,
        rows: Floats,
        self_rows: Floats,
        world_scale: float,
    ) -> solvers.Balls:
        """
        Return the balls of one frame, overwritten by the next call; none if it is not usable.

        The puppet is of this character; `captured` are the performer's joint rotations, shape (16,
        4).
        """
        root, rotations = np.array(puppet.root_position), np.array(puppet.rotations)
        rows, self_rows, places = np.array(rows), np.array(self_rows), np.zeros((16, 3))
        # as retarget checks its input; the joints' positions are not used here
        if not (
            solvers.is_usable(root, places, captured, rows, self_rows)
            and bodies.is_posture(root, places, rotations)
        ):
            return solvers.Balls()
        if world_scale != self._found.world_scale:
            self._found = solvers.SelfBalls(self._character, world_scale)
        return self._found.step(root, rotations, captured, self_rows)
