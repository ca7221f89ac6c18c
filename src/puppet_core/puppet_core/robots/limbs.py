# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which joints of a humanoid robot move which of our segments.

Found from the tree: legs are the pair of mirrored rows of joints that reaches lowest, the pelvis
is where they meet, arms the pair that begins highest, the waist is what lies between, the head
what else goes up from where the arms begin, near the middle. A map (`load_robot_map`) states the
facing and joints that the search gets wrong. X is forward, Y left, Z up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import NoReturn

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, LIMBS, RobotTree, ROOT, SEGMENTS
from puppet_core.io import InputFileError, load_yaml, Section
from puppet_core.math import Floats, read_only, Vec3, Vec3s

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
_REGULAR = 1e-4  # how much a joint's origin determines where on parallel axes its centre is

Groups = dict[str, tuple[int, ...]]
"""Joints of each segment that has any, from the trunk outwards."""

PARTS = {'arm': ('upper_arm', 'forearm', 'hand'), 'leg': ('thigh', 'shank', 'foot')}
MIRROR_TOL_M = 0.02  # how far a robot may be from symmetric
MIN_PARALLEL = 0.95  # cosine between an axis and its mirror image
TIP_BAND_M = 0.01  # what is so near to the farthest point of a limb is its tip
MIN_LIMB_JOINTS = 3
MOST_ROWS = 4  # reported when no two of them mirror each other
OTHER_SIDE = {'left': 'right', 'right': 'left'}
HINT = 'name the joints of each segment in a file for --map'

FORMAT = 'puppet-robot-map/1'
MAX_LEAN = 1e-3  # cosine between forward and up


# A limb's joints divided among its three segments, by where their axes meet.
#
# A shoulder's or hip's axes nearly meet in one point, the elbow's or knee's lies across the limb,
# and the two parts of a limb are of similar length. Of all ways to cut the row of joints the one
# that fits this best is taken; a joint whose name speaks of another part of the limb counts
# against it.


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


def divide_limb(
    tree: RobotTree, row: Sequence[int], parts: tuple[str, str, str], tip: Vec3
) -> tuple[tuple[int, ...], ...] | None:
    """
    Return the joints of the three segments of a limb; None if no way to cut them fits.

    A clavicle before the shoulder is left over, as are joints of fingers after the hand. `row`
    has the joints from the trunk outwards, `parts` are keys of HINTS, `tip` is the far end, for a
    limb without joints there [m].
    """
    best, least = None, np.inf
    leads = range(MAX_LEAD[parts[0]] + 1)
    counts = range(1, MAX_AXES + 1), range(1, MAX_HINGE_AXES + 1), range(MAX_AXES + 1)
    for lead, *lengths in product(leads, *counts):
        first, hinge, end = lead + np.cumsum(lengths)
        if end > len(row):
            continue
        groups = tuple(row[lead:first]), tuple(row[first:hinge]), tuple(row[hinge:end])
        cost = LEAD_COST * lead + _cost(tree, groups, parts, tip)
        cost += DROP_COST * len(unassigned_joints(tree, row[lead:], groups))
        if cost < least:
            best, least = groups, cost
    return best


def unassigned_joints(
    tree: RobotTree, row: Sequence[int], groups: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """Return the joints of a row that move no segment and whose names do not explain it."""
    taken = {j for group in groups for j in group}
    return tuple(j for j in row if j not in taken and not _is_not_ours(tree.names[j]))


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
        for j in index:
            named = [p for p in parts if any(word in tree.names[j].lower() for word in HINTS[p])]
            cost += NAME_COST * (bool(named) and part not in named)
        cost += 5.0 * NAME_COST * sum(_is_not_ours(tree.names[j]) for j in index)
    return float(cost)


def _is_not_ours(name: str) -> bool:
    return any(word in name.lower() for word in NOT_OURS)


# The search in the tree.


def find_groups(tree: RobotTree, named: Mapping[str, tuple[str, ...]], notes: list[str]) -> Groups:
    """
    Return the joints of every segment; append to `notes` what a user should know.

    All joints of the tree move, those that follow others too. `named` are joint names by segment:
    limbs, trunk or head that are not to be searched for.

    Raise InputFileError if legs or arms are not found, or what is named does not hang together.
    """
    given = _named_groups(tree, named)
    legs = _legs(tree, given)
    taken = {j for row in legs for j in row}
    rows = [_row(tree, j) for j in range(len(tree.joints)) if j not in taken]
    arms = _pair(tree, given, 'arm', rows, legs)
    groups: Groups = {}
    for limb, row in zip(LIMBS, (*arms, *legs)):
        segments = [SEGMENTS[i] for i in LIMB_SEGMENTS[LIMBS.index(limb)]]
        if any(name in given for name in segments):
            groups |= {name: given[name] for name in segments if name in given}
            continue
        cut = divide_limb(tree, row, PARTS[limb.partition('_')[2]], limb_tip(tree, row))
        if cut is None:
            _fail_limb(tree, limb, row)
        rest = tuple(j for j in unassigned_joints(tree, row, cut) if tree.joints[j].turns)
        if rest:
            notes.append(f'{limb}: held, no part of it: {_listed(tree, rest)}')
        groups |= dict(zip(segments, cut))
    trunk: tuple[int, ...] = ()
    while (body := tree.parents[trunk[0] if trunk else arms[0][0]]) != ROOT:
        trunk = (body, *trunk)
    groups |= _trunk(tree, given, tuple(j for j in trunk if tree.joints[j].turns))
    if 'head' in given:
        groups['head'] = given['head']
    else:
        groups['head'] = _head(tree, trunk[-1] if trunk else ROOT, {j for r in arms for j in r})
    groups = _without_mimics(tree, groups, notes)
    for limb, (upper, lower, _) in zip(LIMBS, LIMB_SEGMENTS):
        if not (groups[SEGMENTS[upper]] and groups[SEGMENTS[lower]]):
            _fail_limb(tree, limb, sum((groups.get(SEGMENTS[s], ()) for s in (upper, lower)), ()))
    return {name: group for name, group in groups.items() if group}


def pelvis_link(tree: RobotTree, named: Mapping[str, tuple[str, ...]]) -> str:
    """Return the link that legs hang on, the root link if that is its body; raises as above."""
    body = tree.parents[_legs(tree, _named_groups(tree, named))[0][0]]
    return tree.urdf.root if body == ROOT else tree.joints[body].child


def sides_named(tree: RobotTree, groups: Groups) -> int:
    """Return 1 if legs and arms are called left and right as they stand, -1 if otherwise, or 0."""
    votes = 0
    for segment, group in groups.items():
        side = segment.partition('_')[0]
        for name in (tree.names[j].lower() for j in group if side in OTHER_SIDE):
            votes += (side in name) - (OTHER_SIDE[side] in name)
    return int(np.sign(votes))


def _legs(tree: RobotTree, given: Groups) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return _pair(tree, given, 'leg', [_row(tree, j) for j in range(len(tree.joints))])


def _fail_limb(tree: RobotTree, limb: str, row: tuple[int, ...]) -> NoReturn:
    hip, knee = ('hip', 'knee') if limb.endswith('leg') else ('shoulder', 'elbow')
    wanted = f'{limb}: {hip} and {knee} with two parts of similar length'
    _fail(tree, wanted, _listed(tree, row) + ' as what turns')


def _without_mimics(tree: RobotTree, groups: Groups, notes: list[str]) -> Groups:
    """Return the joints that may move: none that follows another, or that another limb follows."""
    limb_of = {tree.names[j]: _limb(segment) for segment, group in groups.items() for j in group}
    fixed = set()
    for name in limb_of:
        mimic = tree.joints[tree.names.index(name)].mimic
        if mimic is None:
            continue
        fixed.add(name)
        if limb_of.get(mimic.joint, limb_of[name]) == limb_of[name]:
            notes.append(f'{name}: held, it follows {mimic.joint}')
        else:
            # one motor in two limbs: what it did for one, it would do to the other
            fixed.add(mimic.joint)
            notes.append(f'{mimic.joint}: held, {name} follows it in another limb')
    return {
        segment: tuple(j for j in group if tree.names[j] not in fixed)
        for segment, group in groups.items()
    }


def _limb(segment: str) -> int:
    """Return which limb a segment is of, -1 for the trunk."""
    return max((SEGMENTS.index(segment) - int(LIMB_SEGMENTS[0, 0])) // 3, -1)


def limb_tip(tree: RobotTree, row: tuple[int, ...]) -> Vec3:
    """Return the middle of what of a limb is farthest from its first joint, shape (3,) [m]."""
    links = [tree.link_origins[link] for link, body in tree.link_bodies.items() if body in row]
    points = np.concatenate((tree.points(set(row)), np.array(links)))
    far = np.linalg.norm(points - tree.origins[row[0]], axis=1)
    tip = points[far > far.max() - TIP_BAND_M]
    return 0.5 * (tip.min(axis=0) + tip.max(axis=0))


def _fail(tree: RobotTree, expected: str, got: str, hint: str = HINT) -> NoReturn:
    raise InputFileError(tree.urdf.path, expected, got, hint=hint)


def _row(tree: RobotTree, first: int) -> tuple[int, ...]:
    """Return the joints from one on, as far as they follow each other without a branch."""
    row = [first]
    while len(below := tree.children(row[-1])) == 1:
        row.append(below[0])
    return tuple(row)


def _pair(
    tree: RobotTree,
    given: Groups,
    kind: str,
    rows: list[tuple[int, ...]],
    legs: Sequence[tuple[int, ...]] = (),
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the left and the right limb of a kind: named, or of rows of joints."""
    named = [
        sum((given.get(f'{side}_{part}', ()) for part in PARTS[kind]), ())
        for side in ('left', 'right')
    ]
    if all(named):
        return named[0], named[1]
    if any(named):
        _fail(tree, f'both {kind}s named, or none', f'one {kind}', 'name the other one too')
    best, best_height = None, -np.inf
    long_ones = [row for row in rows if len(row) >= MIN_LIMB_JOINTS]
    for one, other in combinations(long_ones, 2):
        if tree.parents[one[0]] != tree.parents[other[0]] or not _mirrored(tree, one, other):
            continue
        z = tree.origins[list(one), 2]
        height = -z.min() if kind == 'leg' else z[0]
        if height > best_height:
            best, best_height = (one, other), height
    if best is None:
        where = '' if kind == 'leg' else ' beside the legs'
        wanted = f'two {kind}s: mirrored rows of {MIN_LIMB_JOINTS} or more joints{where}'
        hint = f'root link {tree.urdf.root}; {HINT}'
        _fail(tree, wanted, _rows_found(tree, long_ones, legs), hint)
    left, right = sorted(best, key=lambda row: -_side(tree, row))
    return left, right


def _rows_found(
    tree: RobotTree, rows: list[tuple[int, ...]], legs: Sequence[tuple[int, ...]]
) -> str:
    """Return words for rows that do not mirror each other, and for the legs that were found."""
    inner = {j for row in rows for j in row[1:]}
    listed = [_listed(tree, row) for row in rows if row[0] not in inner][:MOST_ROWS]
    found = 'none that mirror each other of ' + '; '.join(listed) if listed else 'none'
    if legs:
        found += '; taken as legs: ' + '; '.join(_listed(tree, row) for row in legs)
    return found


def _side(tree: RobotTree, row: tuple[int, ...]) -> float:
    return float(np.mean(tree.origins[list(row), 1]))


def _mirrored(tree: RobotTree, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether the axes of one row are mirror images of those of another."""
    n, to_other_side = min(len(one), len(other)), [1.0, -1.0, 1.0]
    left, right = tree.axes[list(one[:n])] * to_other_side, tree.axes[list(other[:n])]
    apart = tree.origins[list(one[:n])] * to_other_side - tree.origins[list(other[:n])]
    # where on its axis a joint's origin is means nothing
    off = np.linalg.norm(np.cross(apart, right), axis=1).max() < MIRROR_TOL_M
    parallel = np.abs(np.sum(left * right, axis=1)).min() > MIN_PARALLEL
    sides = _side(tree, one), _side(tree, other)
    return bool(off and parallel and min(sides) < -1e-3 and max(sides) > 1e-3)


def _trunk(tree: RobotTree, given: Groups, row: tuple[int, ...]) -> Groups:
    """Return the waist's joints: the chest's where three do, else the spine's first."""
    if 'spine' in given or 'chest' in given:
        both = given.get('spine', ()) + given.get('chest', ())
        if both != row:
            hint = 'these are the joints from the root to the arms'
            _fail(tree, f'spine and chest: {_listed(tree, row)}', _listed(tree, both), hint)
        return {name: given.get(name, ()) for name in ('spine', 'chest')}
    if len(row) <= MAX_AXES:
        return {'chest': row}
    if len(row) > 2 * MAX_AXES:
        _fail(tree, f'at most {2 * MAX_AXES} joints between legs and arms', _listed(tree, row))
    cuts = [(row[:k], row[k:]) for k in range(len(row) - MAX_AXES, MAX_AXES + 1)]
    spine, chest = min(cuts, key=lambda cut: sum(_spread(tree, group) for group in cut))
    return {'spine': spine, 'chest': chest}


def _spread(tree: RobotTree, group: tuple[int, ...]) -> float:
    axes, origins = tree.axes[list(group)], tree.origins[list(group)]
    return axes_distance(axes, origins, axes_centre(axes, origins))


def _head(tree: RobotTree, body: int, arms: set[int]) -> tuple[int, ...]:
    rows = [_row(tree, j) for j in tree.children(body) if j not in arms]
    middle = [r for r in rows if np.abs(tree.origins[list(r), 1]).max() < MIRROR_TOL_M]
    if not middle:
        return ()
    highest = max(middle, key=lambda r: tree.origins[r[-1], 2])
    if tree.origins[highest[0], 2] < max(tree.origins[j, 2] for j in arms) - 0.2:
        return ()
    return highest[:MAX_AXES]


def _named_groups(tree: RobotTree, named: Mapping[str, tuple[str, ...]]) -> Groups:
    """Return what a map names as joints; refuse what does not hang together."""
    index = {joint.name: i for i, joint in enumerate(tree.joints) if joint.turns}
    groups = {}
    for segment, names in named.items():
        unknown = ', '.join(name for name in names if name not in index)
        if unknown:
            wanted = f'{segment}: joints with an angle of their own'
            _fail(tree, wanted, unknown, 'there are ' + ', '.join(index))
        if len(names) > MAX_AXES:
            _fail(tree, f'{segment}: at most {MAX_AXES} joints', str(len(names)))
        groups[segment] = tuple(index[name] for name in names)
    for limb, segments in zip(LIMBS, LIMB_SEGMENTS):
        row = sum((groups.get(SEGMENTS[i], ()) for i in segments), ())
        for before, joint in zip(row, row[1:]):
            if _above(tree, joint) != before:
                wanted = f'{tree.names[joint]} to follow the joint named before it'
                hint = 'joints are named from the trunk outwards'
                _fail(tree, wanted, 'it hangs elsewhere', hint)
        parts = [SEGMENTS[i] for i in segments[:2]]
        named_ones = [p for p in parts if groups.get(p)]
        if len(named_ones) == 1:
            _fail(tree, f'{limb}: joints of {" and ".join(parts)}', f'those of {named_ones[0]}')
    return groups


def _above(tree: RobotTree, joint: int) -> int:
    """Return the next joint above that has an angle of its own."""
    above = tree.parents[joint]
    while above != ROOT and not tree.joints[above].turns:
        above = tree.parents[above]
    return above


def _listed(tree: RobotTree, row: tuple[int, ...]) -> str:
    return ', '.join(tree.names[j] for j in row) or 'none'


# What a user states about a robot: facing, and joints by segment.


@dataclass(frozen=True, slots=True)
class RobotMap:
    """Facing and names; what is not stated is searched for, with Z up."""

    # Rotation that takes the root link's axes to X forward, Y left, Z up, shape (3, 3)
    facing: Floats | None = None
    # Joint names by segment, from the trunk outwards
    segments: dict[str, tuple[str, ...]] = field(default_factory=dict)


def load_robot_map(path: str | Path) -> RobotMap:
    """Read a puppet-robot-map/1 file; raise InputFileError naming file, line and key."""
    source = load_yaml(path, FORMAT)
    facing = _facing(source)
    listed = source.section('segments', optional=True)
    segments = {}
    for name in SEGMENTS[1:]:
        if name in listed:
            joints = listed.raw(name)
            if not isinstance(joints, list) or not all(isinstance(j, str) for j in joints):
                raise listed.error(name, 'a list of joint names', str(joints)[:60])
            segments[name] = tuple(joints)
    listed.finish()
    source.finish()
    return RobotMap(facing, segments)


def _facing(source: Section) -> Floats | None:
    if 'forward' not in source and 'up' not in source:
        return None
    forward = source.numbers('forward', 3, np.array([1.0, 0.0, 0.0]))
    up = source.numbers('up', 3, np.array([0.0, 0.0, 1.0]))
    lengths = np.linalg.norm(forward), np.linalg.norm(up)
    if min(lengths) < 1e-6 or abs(forward @ up) > MAX_LEAN * lengths[0] * lengths[1]:
        key = 'forward' if 'forward' in source else 'up'
        raise source.error(key, 'perpendicular forward and up', str(forward.tolist()))
    forward, up = forward / lengths[0], up / lengths[1]
    return read_only(np.array([forward, np.cross(up, forward), up]))
