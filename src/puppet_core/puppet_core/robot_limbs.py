# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which joints of a humanoid robot move which of our segments.

Found from the tree: legs are the pair of mirrored rows of joints that hang on the root's body
and reach lowest, arms the pair that begins highest, the waist is what lies between, the head
what else goes up from where the arms begin, near the middle. What is named in a map is taken
as named. X is forward, Y left, Z up.

"""

from collections.abc import Mapping
from itertools import combinations
from typing import NoReturn

import numpy as np
from puppet_core.arrays import Vec3
from puppet_core.errors import InputFileError
from puppet_core.robot_groups import axes_centre, axes_distance, MAX_AXES, share_out
from puppet_core.robot_tree import RobotTree, ROOT
from puppet_core.skeleton import LIMB_SEGMENTS, LIMBS, SEGMENTS

Groups = dict[str, tuple[int, ...]]
"""Joints of each segment that has any, from the trunk outwards."""

PARTS = {'arm': ('upper_arm', 'forearm', 'hand'), 'leg': ('thigh', 'shank', 'foot')}
MIRROR_TOL_M = 0.02  # how far a robot may be from symmetric
MIN_LIMB_JOINTS = 3
HINT = 'name the joints of each segment in a file for --map'


def find_groups(tree: RobotTree, named: Mapping[str, tuple[str, ...]]) -> Groups:
    """
    Return the joints of every segment.

    Parameters
    ----------
    tree : RobotTree
        The robot, all its joints moving.
    named : mapping
        Joint names by segment: limbs, trunk or head that are not to be looked for.

    Raises
    ------
    InputFileError : if legs or arms are not found, or what is named does not hang together.

    """
    given = _named_groups(tree, named)
    legs = _pair(tree, given, 'leg', [_row(tree, j) for j in tree.children(ROOT)])
    taken = {j for row in legs for j in row}
    rows = [_row(tree, j) for j in range(len(tree.joints)) if j not in taken]
    arms = _pair(tree, given, 'arm', rows)
    groups: Groups = {}
    for limb, row in zip(LIMBS, (*arms, *legs)):
        segments = [SEGMENTS[i] for i in LIMB_SEGMENTS[LIMBS.index(limb)]]
        if any(name in given for name in segments):
            groups |= {name: given[name] for name in segments if name in given}
            continue
        cut = share_out(tree, row, _parts(limb), limb_tip(tree, row))
        if cut is None:
            hip, knee = ('hip', 'knee') if limb.endswith('leg') else ('shoulder', 'elbow')
            wanted = f'{limb}: {hip} and {knee} with two parts of similar length'
            _fail(tree, wanted, _listed(tree, row) + ' as what turns')
        groups |= dict(zip(segments, cut))
    trunk = _row_between(tree, ROOT, tree.parents[arms[0][0]])
    groups |= _trunk(tree, given, trunk)
    if 'head' in given:
        groups['head'] = given['head']
    else:
        groups['head'] = _head(tree, trunk[-1] if trunk else ROOT, {j for r in arms for j in r})
    return {name: group for name, group in groups.items() if group}


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
    tree: RobotTree, given: Groups, kind: str, rows: list[tuple[int, ...]]
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
              'none', f'root link {tree.urdf.root}; {HINT}')  # fmt: skip
    left, right = sorted(best, key=lambda row: -_side(tree, row))
    if _says(tree, left, 'right') and _says(tree, right, 'left'):
        _fail(tree, f'the left {kind} at positive Y', tree.names[left[0]],
              'say in a file for --map which way the robot faces, as forward: [-1, 0, 0]')
    return left, right


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
    index = {name: i for i, name in enumerate(tree.names)}
    groups = {}
    for segment, names in named.items():
        unknown = [name for name in names if name not in index]
        if unknown:
            _fail(tree, f'{segment}: joints with an angle of their own', ', '.join(unknown),
                  'there are ' + ', '.join(tree.names))  # fmt: skip
        groups[segment] = tuple(index[name] for name in names)
    for limb in LIMB_SEGMENTS:
        row = sum((groups.get(SEGMENTS[i], ()) for i in limb), ())
        _require_row(tree, row, tree.parents[row[0]] if row else ROOT)
    for limb, (upper, lower, _) in zip(LIMBS, LIMB_SEGMENTS):
        parts = [SEGMENTS[i] for i in (upper, lower)]
        named_ones = [p for p in parts if groups.get(p)]
        if len(named_ones) == 1:
            _fail(tree, f'{limb}: joints of {" and ".join(parts)}', f'those of {named_ones[0]}')
    for segment, group in groups.items():
        if len(group) > MAX_AXES:
            _fail(tree, f'{segment}: at most {MAX_AXES} joints', str(len(group)))
    return groups


def _require_row(tree: RobotTree, row: tuple[int, ...], above: int) -> None:
    for joint in row:
        if tree.parents[joint] != above:
            _fail(tree, f'{tree.names[joint]} to follow the joint named before it',
                  'it hangs elsewhere', 'joints are named from the trunk outwards')
        above = joint


def _listed(tree: RobotTree, row: tuple[int, ...]) -> str:
    return ', '.join(tree.names[j] for j in row) or 'none'
