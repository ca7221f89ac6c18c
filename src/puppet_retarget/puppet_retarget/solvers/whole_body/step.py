# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One frame: Gauss-Newton steps from the last correction until they are small (kernels).

Time enters once: beside the posture, each correction is drawn to where it would be by itself, its
speed fading within T1 and it within T2 (`Weights`). In seconds, so it holds at every rate. The
root's is told beside the performer's scaled root, higher by what longer legs raise who stands:
the reference has a jerk of its own.
"""

import math

from puppet_core.math import copy, kernel
from puppet_core.math.values import add, scale, sub, vec3
from puppet_retarget.solvers.whole_body.carried import (
    add_carried,
    expect_thing,
    place_things,
    remember_thing,
)
from puppet_retarget.solvers.whole_body.collisions import add_collisions
from puppet_retarget.solvers.whole_body.frame import Frame
from puppet_retarget.solvers.whole_body.gaze import add_gaze
from puppet_retarget.solvers.whole_body.hinges import bound_step, remember_joints
from puppet_retarget.solvers.whole_body.joints import (
    add_hinges,
    add_limits,
    add_rates,
    bring_within_limits,
)
from puppet_retarget.solvers.whole_body.own_body import add_own_body, add_touches
from puppet_retarget.solvers.whole_body.problem import (
    add_diagonal,
    clear,
    KEEP,
    solve,
    solve_within,
)
from puppet_retarget.solvers.whole_body.tree import pose_tree
from puppet_retarget.solvers.whole_body.world import (
    add_ends,
    add_orientations,
    add_rests,
    add_surfaces,
    TRUNK,
)

MAX_STEPS, MAX_FIRST_STEPS = 20, 100
DAMPING_CHANGE = 4.0  # from step to step, while they lower the cost


@kernel
def add_posture(frame: Frame) -> None:
    """
    Add the rows of posture and time.

    A trunk that bends much is stiffer than in proportion: it may help limbs to reach what they
    touch, and a belly to lie, but not fold up for it.
    """
    problem, stiffness, weights, dt = (
        frame.problem,
        frame.stiffness,
        frame.weights,
        frame.wishes.dt,
    )
    is_first = not dt < math.inf
    left = 0.0 if is_first else math.exp(-dt / weights.foresee_s)
    n, trunk = frame.tree.n, frame.tree.first[TRUNK - 1]
    for i in range(n):
        fade = weights.fade_root_s if i >= n - 3 else weights.fade_s
        later = 0.0 if is_first else stiffness[i] * fade / (dt * (1.0 - left))
        x = frame.x[i]
        add_diagonal(problem, i, stiffness[i], -x)
        add_diagonal(problem, i, later, frame.expected[i] - x)
        if trunk <= i < n - 3:  # the square of x |x| / trunk_rad, linearised
            add_diagonal(problem, i, 4.0 * stiffness[i] * (x / weights.trunk_rad) ** 2, -0.5 * x)


@kernel
def add_rows(frame: Frame) -> None:
    """Add the rows of all sources."""
    add_posture(frame)
    add_hinges(frame)
    add_limits(frame)
    add_rates(frame)
    add_ends(frame)
    add_orientations(frame)
    add_touches(frame)
    add_own_body(frame)
    add_surfaces(frame)
    add_collisions(frame)
    add_rests(frame)
    add_carried(frame)
    add_gaze(frame)


@kernel
def solve_frame(frame: Frame) -> int:
    """
    Find the posture of a frame whose wishes are there; return the number of steps.

    Levenberg and Marquardt: a step that does not lower the cost is taken back and damped more.
    """
    problem, x, kept, n = frame.problem, frame.x, frame.kept, frame.problem.n
    expect(frame)
    most = MAX_STEPS if frame.wishes.dt < math.inf else MAX_FIRST_STEPS
    damping, cost = frame.weights.damping, math.inf
    steps, turned = 0, math.inf
    while steps < most and turned >= frame.weights.step_tol_rad:
        _build(frame)
        if problem.cost[0] > cost:
            damping *= DAMPING_CHANGE**2
            copy(kept[:n], x[:n])
            _build(frame)
        elif steps > 0:
            damping /= DAMPING_CHANGE
        cost = problem.cost[0]
        copy(x[:n], kept[:n])
        turned, steps = _step(frame, damping), steps + 1
    _pose(frame)
    if bring_within_limits(frame):
        _pose(frame)
    remember(frame)
    if frame.tree.is_robot:
        remember_joints(frame)
    return steps


@kernel
def _pose(frame: Frame) -> None:
    wishes = frame.wishes
    root = vec3(wishes.root)
    if frame.tree.is_robot:
        bound_step(frame)
    pose_tree(frame.tree, wishes.rotations[:], wishes.angles[:], root, frame.x[:], frame.pose)
    place_things(frame)


@kernel
def _build(frame: Frame) -> None:
    """Bring pose and equations up to date with the unknowns."""
    _pose(frame)
    clear(frame.problem)
    add_rows(frame)


@kernel
def _step(frame: Frame, damping: float) -> float:
    """Move the unknowns by a damped step; return the largest turn [rad] or way of the root [m]."""
    problem, largest = frame.problem, 0.0
    for i in range(problem.n):
        problem.matrix[i, i] += damping * frame.stiffness[i] + KEEP
    if frame.tree.is_robot:
        solve_within(problem)
    else:
        solve(problem)
    for i in range(frame.tree.n):
        largest = max(largest, abs(problem.step[i]))
    share = min(1.0, frame.weights.step_rad / max(largest, 1e-9))
    for i in range(problem.n):
        frame.x[i] += share * problem.step[i]
    return largest


@kernel
def expect(frame: Frame) -> None:
    """Fill where the unknowns would be by themselves, and begin from the last ones."""
    memory, wishes, n = frame.memory, frame.wishes, frame.tree.n
    expect_thing(frame)
    if not wishes.dt < math.inf:
        memory.last[:] = 0.0
        memory.before[:] = 0.0
        frame.x[:n] = 0.0
        frame.expected[:n] = 0.0
        copy(sub(wishes.root, wishes.path), memory.root[0])
        copy(memory.root[0], memory.root[1])
        return
    left = math.exp(-wishes.dt / frame.weights.foresee_s)
    for i in range(n):
        frame.x[i] = memory.last[i]
        frame.expected[i] = memory.last[i] + left * (memory.last[i] - memory.before[i])
    ahead = add(memory.root[0], scale(sub(memory.root[0], memory.root[1]), left))
    copy(sub(add(wishes.path, ahead), wishes.root), frame.expected[n - 3 : n])


@kernel
def remember(frame: Frame) -> None:
    """Keep the corrections of the frame for the next ones."""
    memory, wishes = frame.memory, frame.wishes
    is_first = not wishes.dt < math.inf
    for i in range(frame.tree.n):
        memory.before[i] = frame.x[i] if is_first else memory.last[i]
        memory.last[i] = frame.x[i]
    root = sub(frame.pose.p[0], wishes.path)
    copy(root if is_first else vec3(memory.root[0]), memory.root[1])
    copy(root, memory.root[0])
    remember_thing(frame)
