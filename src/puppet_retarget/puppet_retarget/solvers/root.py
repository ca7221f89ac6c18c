# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The root's position, first step of a frame: reference and limits (kernels, Shin2002 5.1).

`place_root` is the step (eqs. 5.1-5.2): a reference from goals and importances, brought into the
balls in which the root reaches each limb's goal (eq. 5.2, errata 3). The balls are softened
before the root's smoothing, and hold the root after it. The intersection of balls (Shin2002
app. A) is computed in `solvers.thesis.ball_intersection`.
"""

import math

from puppet_core.body import SEGMENT_INDEX, ShapeArrays
from puppet_core.math import (
    add,
    clamp,
    copy,
    dot,
    Floats,
    follow,
    kernel,
    norm,
    quat,
    rotate,
    rotate_inverse,
    scale,
    sub,
    vec3,
    Vec3s,
)
from puppet_core.math.values import ease, Vec3
from puppet_retarget.importance import (
    blend_weight,
    counterpart_point,
    from_object,
    importance,
    ObjectArrays,
    signed_distance,
    to_object,
    UNSEEN_Z,
)
from puppet_retarget.solvers.config import MEAN, REFERENCE
from puppet_retarget.solvers.limbs import STARTS
from puppet_retarget.solvers.state import Frame, Goals, PuppetModel, RootBalls, Tuning
from puppet_retarget.solvers.thesis.ball_intersection import closest_in_balls

HEAD = SEGMENT_INDEX['head']

HAND_GROWTH = 0.3  # of the ball of a hand, over the printed one's [-]
EASY_REACH = 0.97  # of a limb's length, to which the root need stretch it [-]
SOFT_STEPS = 8  # radii over which the root is averaged [-]
HELD_POWER = 3  # importance to this power holds the smoothed root [-]
HELD_ROOM = 0.1  # of a leg's reach: least radius of the room that holds it [-]
HELD_SLACK = 0.05  # how much less than an unimportant ball a wholly important one gives way [-]
MIN_IMPORTANCE = 1e-6  # below it a ball is too large to constrain anything [-]
SLOPED, STEEP = 0.8, 0.95  # sine of the slope of a leg that sets no height yet, and all of it [-]
STRAIGHT_POWER = 8  # of a leg's extension, by which it counts beside the other [-]

# What rests of an adult: middle in the frame of pelvis or head, and radius [m]
HIPS_BALL, HEAD_BALL = ((0.0, 0.0, 0.0), 0.143), ((0.0, 0.0, 0.12), 0.115)
PUSH_S = 0.03  # time constant of the push out of objects
RISE_DELAY, RISE_M = 3.0, 0.03  # of a root that rises: share of its time constant more, how far
LIFT_S = 0.1  # time constant with which a body that was lifted out of planes comes down again
STRAIN_SHARE = 0.1  # of a limb's reach: goal displacement at which half the softness is there [-]


# Balls in which the root reaches each general end-effector's goal.


@kernel
def reach_of(model: PuppetModel, i: int) -> float:
    """Return how far a general end-effector is at most from where its limb starts [m]."""
    upper = model.upper_lengths[i % 4]
    return upper + model.lower_lengths[i] if i < 4 else upper


@kernel
def fill_root_balls(model: PuppetModel, tuning: Tuning, goals: Goals, frame: Frame) -> None:
    """
    Fill the balls of the root that bring goals within reach of limbs (Shin2002 eq. 5.2).

    The printed radius, reach / w, has grown by a ninth of the reach at an importance of 0.9, and
    the root springs up. With w eased that of a foot opens gently; that of a hand grows by
    HAND_GROWTH as much, so that a body leans in time to what it takes. An importance below
    MIN_IMPORTANCE is no constraint (errata 3); an important ball gives way least when they do not
    intersect.
    """
    for i in range(len(frame.balls.radii)):
        w, reach = goals.importances[i], reach_of(model, i)
        frame.balls.radii[i], frame.balls.slacks[i] = math.inf, 1.0
        if w <= MIN_IMPORTANCE:
            continue
        if i < 4:  # a thigh or upper arm does not stretch
            captured = norm(sub(frame.p_world[STARTS[i] + 2], frame.p_world[STARTS[i]]))
            length, easy = reach, EASY_REACH * reach
            beyond = 0.5 * (captured - easy + math.hypot(captured - easy, 0.02 * length))
            reach = min(easy + beyond, tuning.stretch_limit * length)
        is_foot = 2 <= i < 4
        growth = (1.0 / (ease(w) if is_foot else w) - 1.0) * (HAND_GROWTH if i < 2 else 1.0)
        frame.balls.radii[i], frame.balls.slacks[i] = (1.0 + growth) * reach, 1.0 / (w * w)
    centre_balls(goals, frame)


@kernel
def centre_balls(goals: Goals, frame: Frame) -> None:
    """Put each ball where the root is when its limb starts at the goal."""
    for i in range(len(frame.balls.radii)):
        start = sub(frame.p_world[STARTS[i % 4]], frame.p_world[0])
        copy(
            sub(goals.positions[i] if i >= 4 else frame.wrist_goals[i], start),
            frame.balls.centres[i],
        )


@kernel
def excess(balls: RootBalls, root: Floats) -> float:
    """Return how much the balls must grow to hold the root where it is; 0 if they do."""
    worst = 0.0
    for i in range(len(balls.radii)):
        distance = norm(sub(root, balls.centres[i]))
        worst = max(worst, (distance - balls.radii[i]) / balls.slacks[i])
    return worst


@kernel
def soften(balls: RootBalls, softness: float, root: Floats) -> None:
    """
    Move the root to the mean of its nearest points in ever smaller balls.

    The nearest point in the balls themselves moves with a kink when the root comes to a
    ball's surface, and that kink is most of a puppet's added root jerk. Averaged over radii
    from r (1 - softness) to nearly r the kink becomes a bend. The smaller balls touch
    the full one from inside, straight above (or below) its centre, so that the pull sets in
    early for a wide stance and not at all for straight legs under the body. A limb without
    strain keeps its full ball.
    """
    mean = 0.0, 0.0, 0.0
    for step in range(SOFT_STEPS):
        level = ((step + 0.5) / SOFT_STEPS) ** 2.5  # mostly near the full balls
        for i in range(len(balls.radii)):
            radius = balls.radii[i]
            share = balls.strain[i] * softness * level
            balls.inner_radii[i] = (1.0 - share) * radius
            copy(balls.centres[i], balls.inner_centres[i])
            if radius < math.inf:
                lift = root[2] - balls.centres[i, 2]
                balls.inner_centres[i, 2] += share * min(max(lift, -radius), radius)
        centres, radii = balls.inner_centres, balls.inner_radii
        _, nearest = closest_in_balls(root, centres, radii, balls.slacks)
        mean = add(mean, scale(nearest, 1.0 / SOFT_STEPS))
    copy(mean, root)


@kernel
def hold_root(
    model: PuppetModel, tuning: Tuning, importances: Floats, balls: RootBalls, root: Floats
) -> None:
    """
    Move the smoothed root back to where feet that are all but planted reach their goals [m].

    Their balls, which are overwritten, grow as the importance to the HELD_POWER falls below one.
    Where they leave the root little room, its rim moves at any speed as they close. They give way
    then, the less important first, until the room holds a ball of HELD_ROOM.
    """
    centres, radii, slacks = balls.centres[2:4], balls.radii[2:4], balls.slacks[2:4]
    inner = balls.inner_radii[2:4]
    for i in range(2):
        w, reach = importances[i + 2], tuning.stretch_limit * reach_of(model, i + 2)
        held = w**HELD_POWER
        radii[i] = reach / held if held > MIN_IMPORTANCE else math.inf
        inner[i] = radii[i] - HELD_ROOM * reach
        slacks[i] = 1.0 + HELD_SLACK - w
    growth, _ = closest_in_balls(root, centres, inner, slacks)
    for i in range(2):
        radii[i] += growth * slacks[i]
    copy(closest_in_balls(root, centres, radii, slacks)[1], root)


# The root.


@kernel
def reference_root(
    model: PuppetModel, tuning: Tuning, performer_hips: Floats, q_root: Floats, out: Floats
) -> None:
    """
    Write the root that puts the puppet's hips where its own leg length wants them.

    The performer's hips are scaled horizontally with the world and vertically with the
    reference height ratio (errata 2), so that with captured angles the feet are near the
    floor when the performer's are, whether anything is important or not.
    """
    across, up = tuning.world_scale, tuning.root_ratio
    hips = across * performer_hips[0], across * performer_hips[1], up * performer_hips[2]
    copy(sub(hips, rotate(q_root, model.hip_centre)), out)


@kernel
def keep_extensions(model: PuppetModel, tuning: Tuning, goals: Goals, frame: Frame) -> None:
    """
    Raise or lower the reference root until legs whose feet matter are as straight as captured.

    Feet stand as far apart as the performer's, but legs of another length or hips of another width
    slope otherwise: at the height of the reference root they would be bent where his are straight.
    Two legs may want two heights; the mean goes with the straighter one, beside a foot on a step.
    A root height other than that of the legs' ratio bends them in proportion.
    """
    stature = tuning.root_ratio * tuning.performer_size / tuning.puppet_size  # 1 by default
    most, total, mean = 0.0, 0.0, 0.0
    for limb in range(2, 4):
        hip, ankle = frame.p_world[STARTS[limb]], frame.p_world[STARTS[limb] + 2]
        length, line = norm(sub(hip, ankle)), sub(hip, frame.wrist_goals[limb])
        straight = (length / reach_of(model, limb)) ** STRAIGHT_POWER
        length *= stature
        sine = math.sqrt(1.0 - min(math.hypot(line[0], line[1]) / length, 1.0) ** 2)
        steep = min(sine, line[2] / length)
        weight = goals.importances[limb] * (1.0 - goals.importances[limb + 4])
        weight *= ease(clamp((steep - SLOPED) / (STEEP - SLOPED), 0.0, 1.0))
        most, total = max(most, weight), total + weight * straight
        mean += weight * straight * (length * sine - line[2])
    if total > 0.0:
        frame.root[2] += most * mean / total  # as far as the foot that matters more does


@kernel
def mean_offset(goals: Vec3s, importances: Floats, positions: Vec3s) -> Vec3:
    """
    Return the importance-weighted mean displacement of the end-effectors (Shin2002 eq. 5.1).

    As printed the mean of one barely important end-effector moves the root as far as that of
    a planted one, and jumps to zero when nothing is important. So it is divided by no less than
    one, and a vanishing importance moves nothing (errata 2).
    """
    total, mean = 0.0, (0.0, 0.0, 0.0)
    for i in range(4):
        total += importances[i]
        mean = add(mean, scale(sub(goals[i], positions[i]), importances[i]))
    return scale(mean, 1.0 / max(total, 1.0))


@kernel
def place_root(model: PuppetModel, tuning: Tuning, goals: Goals, frame: Frame) -> float:
    """
    Move the reference root [m] to where it reaches the important goals; return the relaxation.

    Mean offset if so tuned, then the softened nearest point in the balls, which are filled. The
    form `reference` does not move it at all, which leaves all of the work to the body solver.
    The frame is posed at the reference root. The relaxation is 0 if the root alone brings all
    goals within reach.
    """
    balls, root, positions, form = frame.balls, frame.root, frame.end_effectors, tuning.root_form
    if form == MEAN:
        copy(add(root, mean_offset(goals.positions, goals.importances, positions)), root)
    fill_root_balls(model, tuning, goals, frame)
    if form == REFERENCE:
        return excess(balls, root)
    # Shin2002 app. A: the nearest point in the intersection of the limbs' balls
    relaxation, nearest = closest_in_balls(root, balls.centres, balls.radii, balls.slacks)
    most = 0.0
    for i in range(len(balls.radii)):
        # a puppet that is built like its performer has no strain anywhere, and keeps its posture;
        # arms have none: what hands hold is ahead, and the pull would draw the belly over it
        way = sub(goals.positions[i], positions[i])
        reach = STRAIN_SHARE * reach_of(model, i)
        is_leg = i % 4 >= 2
        balls.strain[i] = dot(way, way) / (dot(way, way) + reach * reach) if is_leg else 0.0
        most = max(most, balls.strain[i])
    if relaxation > 0.0:  # one point is left, and nothing to soften
        copy(nearest, root)
        return relaxation
    if most * tuning.root_softness > 0.0:
        soften(balls, tuning.root_softness, root)
    relaxation, nearest = closest_in_balls(root, balls.centres, balls.radii, balls.slacks)
    copy(nearest, root)
    return relaxation


@kernel
def extent(shape: ShapeArrays, segment: int, way: Vec3) -> float:
    """Return how far a segment extends from its joint in a direction of its frame, a unit [m]."""
    thickest, found = 0.0, 0.0
    for i in range(shape.first[segment], shape.first[segment + 1]):
        thickest = max(thickest, shape.radii[i])
    for i in range(shape.first[segment], shape.first[segment + 1]):
        if shape.radii[i] > 0.5 * thickest:  # nobody rests on his nose or hair
            core = max(dot(shape.starts[i], way), dot(shape.ends[i], way))
            found = max(found, core + shape.radii[i])
    return found


@kernel
def rest_trunk(
    model: PuppetModel, tuning: Tuning, objects: ObjectArrays, captured_root: Floats, frame: Frame
) -> None:
    """
    Move the reference root to where hips and head rest as the performer's do.

    By the importance of what they are near (Shin2002 eq. 4.4), as an ordinary person of the
    performer's size has them. The captured root and what `frame.head` has are in world [m]; the
    frame is posed with the captured rotations.
    """
    total, most, way = 0.0, 0.0, (0.0, 0.0, 0.0)
    for part in range(2):
        segment, joint = (0, vec3(captured_root)) if part == 0 else (HEAD, vec3(frame.head))
        q = quat(frame.q_world[segment])
        middle, radius = HIPS_BALL if part == 0 else HEAD_BALL
        middle = rotate(q, scale(middle, tuning.performer_size))
        radius *= tuning.performer_size
        for j in range(objects.n_objects):
            if objects.rests[j, part] == 0.0 or min(objects.positions[j, 2], joint[2]) <= UNSEEN_Z:
                continue
            shape, size, q_object = objects.shapes[j], objects.sizes[j], objects.orientations[j]
            local = to_object(q_object, objects.positions[j], add(joint, middle))
            distance, normal = signed_distance(shape, size, local)
            gap = distance - radius
            skin = sub(local, scale(normal, radius))
            there = counterpart_point(shape, size, objects.puppet_sizes[j], skin, gap, normal)
            there = from_object(objects.puppet_orientations[j], objects.puppet_positions[j], there)
            down = scale(rotate(q_object, normal), -1.0)
            own = scale(down, extent(model.body.shape, segment, rotate_inverse(q, down)))
            w = importance(gap, 0.0, 0.0, objects.rests[j, part])
            weight = blend_weight(w, max(gap, 0.0) / objects.rests[j, part])
            way = add(way, scale(sub(there, add(frame.p_world[segment], own)), weight))
            total, most = total + weight, max(most, w)
    if most > 0.0:
        copy(add(frame.root, scale(way, most / total)), frame.root)


@kernel
def push_root(dt: float, frame: Frame) -> None:
    """Move the reference root out of objects, as far as the last frame asked for."""
    if not dt < math.inf:
        frame.push[:] = 0.0
        return
    for k in range(3):
        frame.root[k] += follow(frame.push[k], frame.wanted_push[k], PUSH_S, dt)


@kernel
def smooth_root(
    model: PuppetModel,
    tuning: Tuning,
    captured_root: Floats,
    goals: Goals,
    dt: float,
    frame: Frame,
) -> None:
    """
    Smooth in time what is added to the performer's root (carried over with the world scale).

    Only the difference is smoothed, so a puppet of the performer's size has no delay at all. It
    rises slower than it sinks: goals out of reach are urgent, and what lets a body go is not. A
    rise of much more than RISE_M is hardly slower.
    """
    carried = scale(captured_root, tuning.world_scale)
    offset = sub(frame.root, carried)
    if dt < math.inf:
        for k in range(3):
            time_constant, rise = tuning.root_smoothing_s, offset[k] - frame.follower[k, 0]
            if k == 2 and rise > 0.0:
                time_constant *= 1.0 + RISE_DELAY / (1.0 + rise / (RISE_M * tuning.puppet_size))
            frame.root[k] = follow(frame.follower[k], offset[k], time_constant, dt)
        copy(add(carried, frame.root), frame.root)
    else:
        copy(offset, frame.follower[:, 0])
        frame.follower[:, 1] = 0.0
        frame.lift[:] = 0.0
    if tuning.root_smoothing_s > 0.0 and tuning.root_form != REFERENCE:
        hold_root(model, tuning, goals.importances, frame.balls, frame.root)
        copy(sub(frame.root, carried), frame.follower[:, 0])  # it goes on from there
    if frame.lift[0] > 0.0:
        frame.lift[1] = max(frame.lift[1], -frame.lift[0] / LIFT_S)  # not past it
        lift = follow(frame.lift, 0.0, LIFT_S, dt)
        copy(add(frame.root, scale(frame.lift_up, lift)), frame.root)
