# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A performer who is elsewhere at once (kernel layer).

Where the filter says that the pelvis' pose does not go on, or stamps leave a gap, and the pelvis
is farther away than a body moves in a frame, nobody went there: he was not seen meanwhile, or
another one is. Eased, he would cross the room faster than anybody, and turn through his own hands.
So all that is remembered of him in the world is carried there as one piece: what differs besides
is eased as ever, and who follows the performer sees a leap, by the same measure (`LeapWatch`), and
eases that.

"""

from puppet_core.arrays import Quat, Vec3
from puppet_core.fastest_motion import (
    FASTEST_M_S,
    FASTEST_RAD_S,
    LONGEST_S,
    PERFORMER_RATIO,
    SHORTEST_S,
)
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import angle_between, conjugate, multiply, rotate
from puppet_core.work_array import work_array
from puppet_retarget.performer.body_arrays import BodyArrays, PELVIS, ROOT_SLOT
from puppet_retarget.performer.ease_kernels import (
    CHANGED,
    DIFFERENCE,
    EARLIER,
    Ease,
    FRESH,
    SPEED,
    STEP,
    TARGET,
)
from puppet_retarget.performer.sensor_kernels import (
    ABSENT,
    joint_of_sensor,
    Mounting,
    RESTARTED,
    Sensed,
)


@kernel
def carry_after_leap(
    mounting: Mounting, sensed: Sensed, dt: float, ease: Ease, body: BodyArrays
) -> None:
    """
    Move the body to its pelvis, if that is elsewhere at once.

    Parameters
    ----------
    mounting, sensed : Mounting, Sensed
        How the sensors sit, and what they say now.
    dt : float
        Since the last frame, >= 0 [s].
    ease : Ease
        Memory of the easing, carried along.
    body : BodyArrays
        As it was given out last, carried along.

    """
    last, quality = ease.sources[PELVIS], sensed.quality[PELVIS]
    if last == FRESH or quality == ABSENT or (quality != RESTARTED and last != CHANGED):
        return
    place, before, turn = work_array(3), work_array(3), work_array(4)
    joint_of_sensor(PELVIS, sensed, mounting, place)
    square = 0.0
    for k in range(3):
        square += (place[k] - body.root[k]) ** 2
        before[k] = body.root[k] + ease.points[0, STEP, k]  # where he would have gone
    span = PERFORMER_RATIO * min(max(dt, SHORTEST_S), LONGEST_S)
    turned = angle_between(body.rotations[PELVIS], sensed.orientations[PELVIS])
    if square <= (FASTEST_M_S * span) ** 2 and turned <= FASTEST_RAD_S * span:
        return
    multiply(ease.rotations[PELVIS, STEP], body.rotations[PELVIS], turn)
    conjugate(turn, turn)
    multiply(sensed.orientations[PELVIS], turn, turn)
    for i in range(len(body.points)):
        _carry(turn, before, place, body.points[i])
    for i in range(len(body.turns)):
        _turn_along(turn, body.turns[i])
    for i in range(len(ease.points)):
        memory = ease.points[i]
        _carry(turn, before, place, memory[TARGET])
        _carry(turn, before, place, memory[EARLIER])
        rotate(turn, memory[DIFFERENCE], memory[DIFFERENCE])
        rotate(turn, memory[STEP], memory[STEP])
    copy(place, body.root)
    copy(sensed.orientations[PELVIS], body.rotations[PELVIS])
    _rest_pelvis(turn, ease)


@kernel
def _rest_pelvis(turn: Quat, ease: Ease) -> None:
    """Turn what is remembered of the pelvis; it is where its sensor has it, and eased no more."""
    memory = ease.rotations[PELVIS]
    multiply(turn, memory[TARGET], memory[TARGET])
    multiply(turn, memory[EARLIER], memory[EARLIER])
    memory[STEP, 0], memory[STEP, 1], memory[STEP, 2], memory[STEP, 3] = 1.0, 0.0, 0.0, 0.0
    for k in range(3):
        ease.points[0, STEP, k] = 0.0
    ease.numbers[PELVIS, SPEED] = ease.numbers[ROOT_SLOT, SPEED] = 0.0


@kernel
def _carry(turn: Quat, from_point: Vec3, to_point: Vec3, point: Vec3) -> None:
    """Turn a point about another one, and move it with that."""
    for k in range(3):
        point[k] -= from_point[k]
    rotate(turn, point, point)
    for k in range(3):
        point[k] += to_point[k]


@kernel
def _turn_along(turn: Quat, rotation: Quat) -> None:
    """Turn the axis of a rotation."""
    back = work_array(4)
    conjugate(turn, back)
    multiply(turn, rotation, rotation)
    multiply(rotation, back, rotation)
