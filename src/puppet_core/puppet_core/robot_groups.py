# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A limb's joints shared out to its three segments, by where their axes meet.

A shoulder's or hip's axes nearly meet in one point, the elbow's or knee's lies across the limb,
and the two parts of a limb are of similar length. Of all ways to cut the row of joints the one
that fits this best is taken; a joint whose name speaks of another part of the limb counts
against it.

"""

from collections.abc import Iterator, Sequence

import numpy as np
from puppet_core.arrays import Vec3, Vec3s
from puppet_core.robot_tree import RobotTree

MAX_AXES = 3  # of one segment
MAX_HINGE_AXES = 2  # of a forearm or shank: the hinge, and a turn about the segment
HINTS = {
    'upper_arm': ('shoulder', 'upper_arm', 'upperarm'),
    'forearm': ('elbow', 'forearm'),
    'hand': ('wrist', 'hand'),
    'thigh': ('hip', 'thigh'),
    'shank': ('knee', 'shank', 'calf'),
    'foot': ('ankle', 'foot'),
}
NOT_OURS = ('finger', 'thumb', 'gripper', 'jaw', 'toe', 'knuckle', 'index', 'camera')
MAX_LEAD = {'upper_arm': 1, 'thigh': 0}  # joints held before a limb: a clavicle
MIN_PART = 0.2  # of a limb is each of its two parts at least
MIN_REACH = 0.4  # of the way to its tip are both together
MAX_SPREAD = 0.15  # of a limb is the RMS distance of a joint's axes from its centre
MIN_LIMB_M = 0.02
NAME_COST, EXTRA_COST, AXIS_COST, TWIST_COST, DROP_COST = 1.0, 0.3, 10.0, 2.0, 0.7
LEAD_COST = 1.0
_REGULAR = 1e-4  # how much a joint's origin says where on parallel axes its centre is


def axes_centre(axes: Vec3s, origins: Vec3s) -> Vec3:
    """
    Return the point nearest to some axes, least squares, shape (3,) [m].

    Where axes are parallel, or there is one only, it is the mean of the joints' origins on them.

    """
    middle = origins.mean(axis=0)
    across = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    left = across.sum(axis=0) + _REGULAR * np.eye(3)
    right = np.einsum('nij,nj->i', across, origins) + _REGULAR * middle
    return np.linalg.solve(left, right)


def axes_distance(axes: Vec3s, origins: Vec3s, point: Vec3) -> float:
    """Return the RMS distance of a point from some axes [m]."""
    apart = point - origins
    along = np.sum(apart * axes, axis=1, keepdims=True) * axes
    return float(np.sqrt(np.mean(np.sum((apart - along) ** 2, axis=1))))


def group_centres(tree: RobotTree, groups: Sequence[Sequence[int]]) -> list[Vec3 | None]:
    """
    Return the joint centre of each segment of a limb; None for one without joints.

    A lone hinge has its centre beside the one above: anywhere along its axis is as true.

    """
    centres: list[Vec3 | None] = []
    for group in groups:
        if not group:
            centres.append(None)
            continue
        axes, origins = tree.axes[list(group)], tree.origins[list(group)]
        centre = axes_centre(axes, origins)
        above = centres[-1] if centres else None
        if len(group) == 1 and above is not None and len(centres) == 1:
            centre = centre + axes[0] * (axes[0] @ (above - centre))
        centres.append(centre)
    return centres


def share_out(tree: RobotTree, row: Sequence[int], parts: tuple[str, str, str],
              tip: Vec3) -> tuple[tuple[int, ...], ...] | None:  # fmt: skip
    """
    Return the joints of the three segments of a limb; None if no way to cut them fits.

    A clavicle before the shoulder is left over, as are joints of fingers after the hand.

    Parameters
    ----------
    tree : RobotTree
        The robot.
    row : sequence of int
        Joints from the trunk outwards.
    parts : tuple of str
        Keys of HINTS.
    tip : ndarray, shape (3,)
        Far end of the limb, for one without joints at its end [m].

    """
    best, least = None, np.inf
    for lead in range(MAX_LEAD[parts[0]] + 1):
        for groups in _cuts(row[lead:]):
            cost = LEAD_COST * lead + _cost(tree, groups, parts, tip)
            cost += DROP_COST * len(left_over(tree, row[lead:], groups))
            if cost < least:
                best, least = groups, cost
    return best


def left_over(
    tree: RobotTree, row: Sequence[int], groups: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """Return the joints of a row that move no segment and whose names do not say why."""
    taken = {j for group in groups for j in group}
    return tuple(j for j in row if j not in taken and not _is_not_ours(tree.names[j]))


def _cuts(row: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    for first in range(1, MAX_AXES + 1):
        for second in range(1, MAX_HINGE_AXES + 1):
            for third in range(MAX_AXES + 1):
                hinge, end = first + second, first + second + third
                if end <= len(row):
                    yield tuple(row[:first]), tuple(row[first:hinge]), tuple(row[hinge:end])


def _cost(
    tree: RobotTree, groups: tuple[tuple[int, ...], ...], parts: tuple[str, str, str], tip: Vec3
) -> float:
    upper, lower, end = group_centres(tree, groups)
    assert upper is not None and lower is not None
    end = tip if end is None else end
    lengths = np.array([np.linalg.norm(lower - upper), np.linalg.norm(end - lower)])
    least = max(MIN_LIMB_M, MIN_REACH * float(np.linalg.norm(tip - upper)))
    if lengths.min() < MIN_PART * lengths.sum() or lengths.sum() < least:
        return np.inf
    cost = abs(np.log(lengths[0] / lengths[1]))
    cost += EXTRA_COST * (MAX_AXES - len(groups[0]) + len(groups[1]) - 1)
    hinge = tree.axes[groups[1][0]]
    cost += TWIST_COST * abs(hinge @ (lower - upper)) / lengths[0]
    for group, centre, part in zip(groups, (upper, lower, end), parts):
        index = list(group)
        if index:
            apart = axes_distance(tree.axes[index], tree.origins[index], centre)
            if apart > MAX_SPREAD * lengths.sum():
                return np.inf
            cost += AXIS_COST * apart / lengths.sum()
        cost += NAME_COST * sum(_speaks_of_another(tree.names[j], part, parts) for j in index)
        cost += 5.0 * NAME_COST * sum(_is_not_ours(tree.names[j]) for j in index)
    return float(cost)


def _speaks_of_another(name: str, part: str, parts: tuple[str, ...]) -> bool:
    said = [p for p in parts if any(word in name.lower() for word in HINTS[p])]
    return bool(said) and part not in said


def _is_not_ours(name: str) -> bool:
    return any(word in name.lower() for word in NOT_OURS)
