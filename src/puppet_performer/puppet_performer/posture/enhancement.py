# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Sensors made to agree with each other as parts of one body, frame by frame (kernels).

Each sensor measures where it is and how its segment is turned. On a skeleton the orientations lead
elsewhere than the positions: sensors sit a little askew, skin moves, lengths are a little wrong.
The body is taken that minimises ChoiParkKo eq. 1,

    G = w1 sum |e - e'|^2 + (1 - w1) sum |log(q q'^-1)|^2,

in every frame, as ChoiKo2000 has it: e are the places of the sensors on the body [m], q the
orientations of its segments, with primes on what was measured. Trackers measure orientations in
world, so these stand for the printed joint angles. One damped Gauss-Newton step from the measured
orientations comes within a few per cent of the minimum; lambda^2 = (1 - w1) / w1.

Its outcome is a correction, a turn and a shift, of each sensor in its segment's frame. It changes
slowly, so it is smoothed: the motion is not delayed, and sensors that come and go cause no jump.
"""

import numpy as np
from puppet_core.body import N_SEGMENTS
from puppet_core.math import (
    copy,
    factorise_in_place,
    Floats,
    kernel,
    Quats,
    solve_factorised,
    Vec3s,
    work_array,
    work_table,
)
from puppet_core.math.values import (
    add,
    conjugate,
    cross,
    dot,
    exp,
    lerp,
    multiply,
    norm,
    normalize,
    quat,
    rotate,
    rotate_inverse,
    scale,
    sub,
    Vec3,
    vec3,
)
from puppet_performer.posture.segments import spine_target
from puppet_performer.posture.state import (
    CHEST,
    FRESH,
    is_absent,
    joint_of_sensor,
    ORIGIN,
    PARENT_OF,
    PELVIS,
    Record,
    SPINE,
)

N_UNKNOWNS = 51  # a shift of the root, then a turn of each segment in world
SMOOTHING_S = 0.1  # of the corrections
# Weight of an inferred spine's turn against that of a measured segment. What the chest's sensor
# tells of it is only where it points.
INFERRED_RIGIDITY = 0.3
# A sensor so far from where the orientations lead counts a quarter, and less beyond. Errors of a
# calibration are smaller; a sensor that fell off, or was exchanged, must not bend the others.
DOUBTFUL_M = 0.1


@kernel
def enhance_sensors(state: Record) -> None:
    """Turn and shift the sensors of this frame by their corrections, in place."""
    turns, shifts = work_table(16, 3), work_table(16, 3)
    turns[:], shifts[:] = 0.0, 0.0
    if state.enhance_weight > 0.0 and not is_absent(PELVIS, state):
        _find_corrections(state, turns, shifts)
    share = state.dt / (state.dt + SMOOTHING_S)
    if state.slots[PELVIS].source == FRESH:
        share = 1.0
    for segment in range(N_SEGMENTS):
        sensor = state.sensors[segment]
        turn = lerp(sensor.turn, turns[segment], share)
        shift = lerp(sensor.shift, shifts[segment], share)
        copy(turn, sensor.turn[:])
        copy(shift, sensor.shift[:])
        if not is_absent(segment, state) and (turn != ORIGIN or shift != ORIGIN):
            q = normalize(multiply(quat(sensor.orientation), exp(turn)))
            copy(q, sensor.orientation[:])
            copy(add(vec3(sensor.position), rotate(q, shift)), sensor.position[:])


@kernel
def _find_corrections(state: Record, turns: Vec3s, shifts: Vec3s) -> None:
    """Write turns (16, 3) [rad] and shifts (16, 3) [m] of those sensors that tell of one body."""
    q, p, reached = work_table(16, 4), work_table(16, 3), work_array(16)
    matrix, right, move = work_table(51, 51), work_array(51), work_array(51)
    _orient(state, q, reached)
    root = joint_of_sensor(PELVIS, state)
    _place(root, state, q, p)
    rigidity = (1.0 - state.enhance_weight) / state.enhance_weight
    matrix[:], right[:] = 0.0, 0.0
    for segment in range(N_SEGMENTS):
        is_inferred = is_absent(segment, state)
        for k in range(3 + 3 * segment, 6 + 3 * segment):
            matrix[k, k] = rigidity * (INFERRED_RIGIDITY if is_inferred else 1.0)
        if reached[segment] != 0.0 and not is_inferred:
            _add_sensor(segment, state, q, p, matrix, right)
    factorise_in_place(matrix, N_UNKNOWNS)
    solve_factorised(matrix, right, N_UNKNOWNS, move)
    for segment in range(N_SEGMENTS):
        turn = vec3(move[3 + 3 * segment : 6 + 3 * segment])
        copy(rotate_inverse(quat(q[segment]), turn), turns[segment])
        copy(multiply(exp(turn), quat(q[segment])), q[segment])
    _place(add(root, vec3(move[:3])), state, q, p)
    for segment in range(N_SEGMENTS):
        if reached[segment] == 0.0 or is_absent(segment, state):
            turns[segment] = 0.0
            continue
        sensor, turned = state.sensors[segment], quat(q[segment])
        place = add(vec3(p[segment]), rotate(turned, vec3(sensor.p_segment_sensor)))
        copy(rotate_inverse(turned, sub(place, vec3(sensor.position))), shifts[segment])


@kernel
def _orient(state: Record, q: Quats, reached: Floats) -> None:
    """
    Write orientations in world (16, 4), and 1 where all segments from the pelvis on are known.

    Known are those with a sensor, and the spine where the chest has one.
    """
    for segment in range(N_SEGMENTS):
        parent = PARENT_OF[segment]
        known, turn = 0.0, quat(state.sensors[segment].orientation)
        if not is_absent(segment, state):
            known = 1.0
        elif segment == SPINE and not is_absent(CHEST, state):
            known, pelvis = 1.0, quat(q[PELVIS])
            inverse = conjugate(pelvis)
            torso = multiply(inverse, quat(state.sensors[CHEST].orientation))
            turn = multiply(pelvis, spine_target(inverse, torso, state)[0])
        reached[segment] = known if segment == PELVIS else known * reached[parent]
        copy(turn, q[segment])


@kernel
def _place(root: Vec3, state: Record, q: Quats, p: Vec3s) -> None:
    """Write the segments' joints in world by the root and their orientations [m]."""
    copy(root, p[PELVIS])
    for segment in range(1, N_SEGMENTS):
        parent = PARENT_OF[segment]
        step = rotate(quat(q[parent]), vec3(state.offsets[segment]))
        copy(add(vec3(p[parent]), step), p[segment])


@kernel
def _add_sensor(
    segment: int, state: Record, q: Quats, p: Vec3s, matrix: np.ndarray, right: Floats
) -> None:
    """
    Add a sensor's squared distance to the normal equations J^T J x = J^T r; lower triangle.

    By turns of the segments between it and the pelvis, each about its own joint: with the lever a
    from that joint to where the next one begins, d place = d turn x a.
    """
    sensor, levers = state.sensors[segment], work_table(16, 3)
    tip = add(rotate(quat(q[segment]), vec3(sensor.p_segment_sensor)), vec3(p[segment]))
    away = sub(vec3(sensor.position), tip)
    far = norm(away) / DOUBTFUL_M
    weight = 1.0 / ((1.0 + far * far) * (1.0 + far * far))  # GemanMcClure1987
    for k in range(3):
        matrix[k, k] += weight
        right[k] += weight * away[k]
    first = segment
    while first >= 0:
        copy(sub(tip, vec3(p[first])), levers[first])
        tip, first = vec3(p[first]), PARENT_OF[first]
    first = segment
    while first >= 0:
        a, row = vec3(levers[first]), 3 + 3 * first
        pull = scale(cross(a, away), weight)
        # the rows of a x
        crossed = ((0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0))
        for i in range(3):
            right[row + i] += pull[i]
            for k in range(3):
                matrix[row + i, k] += weight * crossed[i][k]
        second = first
        while second >= 0:
            b, column = vec3(levers[second]), 3 + 3 * second
            along = weight * dot(a, b)
            for i in range(3):
                matrix[row + i, column + i] += along
                for k in range(3):
                    matrix[row + i, column + k] -= weight * b[i] * a[k]
            second = PARENT_OF[second]
        first = PARENT_OF[first]
