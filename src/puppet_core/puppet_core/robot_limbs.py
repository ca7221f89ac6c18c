# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which joints of a humanoid robot move which of our segments.

Found from the tree: legs are the pair of mirrored rows of joints that hang on the root's body
and reach lowest, arms the pair that begins highest, the waist is what lies between, the head
what else goes up from where the arms begin, near the middle. What is named in a map is taken
as named. X is forward, Y left, Z up.

"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NoReturn

import numpy as np
from puppet_core.arrays import Vec3
from puppet_core.errors import InputFileError
from puppet_core.robot_groups import axes_centre, axes_distance, left_over, MAX_AXES, share_out
from puppet_core.robot_tree import RobotTree, ROOT
from puppet_core.skeleton import LIMB_SEGMENTS, LIMBS, SEGMENTS

Groups = dict[str, tuple[int, ...]]
"""Joints of each segment that has any, from the trunk outwards."""

PARTS = {'arm': ('upper_arm', 'forearm', 'hand'), 'leg': ('thigh', 'shank', 'foot')}
MIRROR_TOL_M = 0.02  # how far a robot may be from symmetric
MIN_LIMB_JOINTS = 3
MOST_ROWS = 4  # told of when no two of them mirror each other
HINT = 'name the joints of each segment in a file for --map'


def find_groups(
    tree: RobotTree, named: Mapping[str, tuple[str, ...]], notes: list[str]
) -> Groups:
    """
    Return the joints of every segment.

    Parameters
    ----------
    tree : RobotTree
        The robot, all its joints moving, those that follow others too.
    named : mapping
        Joint names by segment: limbs, trunk or head that are not to be looked for.
    notes : list of str
        Out: what a user should know is appended.

    Raises
    ------
    InputFileError : if legs or arms are not found, or what is named does not hang together.

    """
    given = _named_groups(tree, named)
    legs = _pair(tree, given, 'leg', [_row(tree, j) for j in tree.children(ROOT)])
    taken = {j for row in legs for j in row}
    rows = [_row(tree, j) for j in range(len(tree.joints)) if j not in taken]
    arms = _pair(tree, given, 'arm', rows, legs)
    groups: Groups = {}
    for limb, row in zip(LIMBS, (*arms, *legs)):
        segments = [SEGMENTS[i] for i in LIMB_SEGMENTS[LIMBS.index(limb)]]
        if any(name in given for name in segments):
            groups |= {name: given[name] for name in segments if name in given}
            continue
        cut = share_out(tree, row, _parts(limb), limb_tip(tree, row))
        if cut is None:
            _fail_limb(tree, limb, row)
        rest = tuple(j for j in left_over(tree, row, cut) if tree.joints[j].turns)
        if rest:
            notes.append(f'{limb}: held, no part of it: {_listed(tree, rest)}')
        groups |= dict(zip(segments, cut))
    trunk = _row_between(tree, ROOT, tree.parents[arms[0][0]])
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
    return {segment: tuple(j for j in group if tree.names[j] not in fixed)
            for segment, group in groups.items()}  # fmt: skip


def _limb(segment: str) -> int:
    """Return which limb a segment is of, -1 for the trunk."""
    return (SEGMENTS.index(segment) - int(LIMB_SEGMENTS[0, 0])) // 3 if _is_limb(segment) else -1


def _is_limb(segment: str) -> bool:
    return SEGMENTS.index(segment) >= LIMB_SEGMENTS[0, 0]


def limb_tip(tree: RobotTree, row: tuple[int, ...]) -> Vec3:
    """Return the point of a limb that is farthest from its first joint, shape (3,) [m]."""
    links = [tree.link_origins[link] for link, body in tree.link_bodies.items() if body in row]
    points = np.concatenate((tree.points(set(row)), np.array(links)))
    far = np.linalg.norm(points - tree.origins[row[0]], axis=1)
    return points[int(np.argmax(far))]


def _parts(limb: str) -> tuple[str, str, str]:
    upper, lower, end = PARTS[limb.partition('_')[2]]
    return upper, lower, end


def _fail(tree: RobotTree, expected: str, got: str, hint: str = HINT) -> NoReturn:
    raise InputFileError(tree.urdf.path, expected, got, hint=hint)


def _row(tree: RobotTree, first: int) -> tuple[int, ...]:
    """Return the joints from one on, as far as they follow each other without a branch."""
    row = [first]
    while len(below := tree.children(row[-1])) == 1:
        row.append(below[0])
    return tuple(row)


def _row_between(tree: RobotTree, above: int, below: int) -> tuple[int, ...]:
    row: list[int] = []
    while below != above:
        row.append(below)
        below = tree.parents[below]
    return tuple(reversed(row))


def _pair(
    tree: RobotTree, given: Groups, kind: str, rows: list[tuple[int, ...]],
    legs: Sequence[tuple[int, ...]] = (),
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the left and the right limb of a kind: named, or of rows of joints."""
    named = [sum((given.get(f'{side}_{part}', ()) for part in PARTS[kind]), ())
             for side in ('left', 'right')]  # fmt: skip
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
        where = 'on the root link' if kind == 'leg' else 'above the legs'
        _fail(tree, f'two {kind}s: mirrored rows of {MIN_LIMB_JOINTS} or more joints {where}',
              _rows_found(tree, long_ones, legs), f'root link {tree.urdf.root}; {HINT}')
    left, right = sorted(best, key=lambda row: -_side(tree, row))
    if _says(tree, left, 'right') and _says(tree, right, 'left'):
        _fail(tree, f'the left {kind} at positive Y', tree.names[left[0]],
              'say in a file for --map which way the robot faces, as forward: [-1, 0, 0]')
    return left, right


def _rows_found(
    tree: RobotTree, rows: list[tuple[int, ...]], legs: Sequence[tuple[int, ...]]
) -> str:
    """Return words for rows that do not mirror each other, and for the legs that were found."""
    inner = {j for row in rows for j in row[1:]}
    told = [_listed(tree, row) for row in rows if row[0] not in inner][:MOST_ROWS]
    found = 'none that mirror each other of ' + '; '.join(told) if told else 'none'
    if legs:
        found += '; taken as legs: ' + '; '.join(_listed(tree, row) for row in legs)
    return found


def _says(tree: RobotTree, row: tuple[int, ...], side: str) -> bool:
    return all(side in tree.names[j].lower() for j in row)


def _side(tree: RobotTree, row: tuple[int, ...]) -> float:
    return float(np.mean(tree.origins[list(row), 1]))


def _mirrored(tree: RobotTree, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    n = min(len(one), len(other))
    mirror = tree.origins[list(one[:n])] * [1.0, -1.0, 1.0]
    apart = np.linalg.norm(mirror - tree.origins[list(other[:n])], axis=1)
    return bool(apart.max() < MIRROR_TOL_M) and abs(_side(tree, one)) > 1e-3


def _trunk(tree: RobotTree, given: Groups, row: tuple[int, ...]) -> Groups:
    """Return the waist's joints: the chest's where three do, else the spine's first."""
    if 'spine' in given or 'chest' in given:
        both = given.get('spine', ()) + given.get('chest', ())
        if both != row:
            _fail(tree, f'spine and chest: {_listed(tree, row)}', _listed(tree, both),
                  'these are the joints from the root to the arms')  # fmt: skip
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
        unknown = [name for name in names if name not in index]
        if unknown:
            _fail(tree, f'{segment}: joints with an angle of their own', ', '.join(unknown),
                  'there are ' + ', '.join(index))  # fmt: skip
        groups[segment] = tuple(index[name] for name in names)
    for limb in LIMB_SEGMENTS:
        row = sum((groups.get(SEGMENTS[i], ()) for i in limb), ())
        _require_row(tree, row, _above(tree, row[0]) if row else ROOT)
    for limb, (upper, lower, _) in zip(LIMBS, LIMB_SEGMENTS):
        parts = [SEGMENTS[i] for i in (upper, lower)]
        named_ones = [p for p in parts if groups.get(p)]
        if len(named_ones) == 1:
            _fail(tree, f'{limb}: joints of {" and ".join(parts)}', f'those of {named_ones[0]}')
    for segment, group in groups.items():
        if len(group) > MAX_AXES:
            _fail(tree, f'{segment}: at most {MAX_AXES} joints', str(len(group)))
    return groups


def _above(tree: RobotTree, joint: int) -> int:
    """Return the next joint above that has an angle of its own."""
    above = tree.parents[joint]
    while above != ROOT and not tree.joints[above].turns:
        above = tree.parents[above]
    return above


def _require_row(tree: RobotTree, row: tuple[int, ...], above: int) -> None:
    for joint in row:
        if _above(tree, joint) != above:
            _fail(tree, f'{tree.names[joint]} to follow the joint named before it',
                  'it hangs elsewhere', 'joints are named from the trunk outwards')
        above = joint


def _listed(tree: RobotTree, row: tuple[int, ...]) -> str:
    return ', '.join(tree.names[j] for j in row) or 'none'
