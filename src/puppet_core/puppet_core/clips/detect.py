# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Unit and vertical axis of a clip file, detected from the body in it, and whether it is one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from puppet_core.body import SEGMENT_INDEX, Skeleton
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.name_map import bone_vector, PUPPET, SegmentJoints
from puppet_core.io import InputFileError
from puppet_core.math import Vec3, Vec3s

# Hip to ankle over stature, DrillisContini1966: hips at 0.530, ankles at 0.039.
LEG_PER_STATURE = 0.491
# Name and length [m] of what exporters write, the most usual first. The CMU database's unit is
# an inch over 0.45.
UNITS = (
    ('centimetres', 0.01),
    ('metres', 1.0),
    ('inches', 0.0254),
    ('decimetres', 0.1),
    ('millimetres', 0.001),
    ("CMU's unit, 1/0.45 inch", 0.0254 / 0.45),
)
_STATURE_M = 1.7
LOW_STATURE_M, HIGH_STATURE_M = 0.9, 2.6  # for the usual unit, and for the one a file names
_TALLEST_M = 2.2  # for another unit
_SMALLEST_M = 1.3  # smaller or taller is believed, but said
# What people have over their hip to ankle, from DrillisContini1966, and what is believed of files,
# by the joint at the end: the distance of its centre from the body's middle, or the length of the
# segment above it.
_WIDTHS = {'upper_arm': ('shoulder', 0.26, 0.1, 0.4), 'thigh': ('hip', 0.11, 0.04, 0.25)}
_LENGTHS = {
    'forearm': ('upper_arm', 0.38, 0.2, 0.55),
    'hand': ('forearm', 0.3, 0.17, 0.5),
    'shank': ('thigh', 0.5, 0.37, 0.63),
    'foot': ('shank', 0.5, 0.37, 0.63),
}
_SIDES = 'left', 'right'
_SIDES_RATIO = 1.2  # of the left to the right
CLEAR_FRACTION = 0.8  # of the body's direction along an axis: about 37 degrees from it
_STRETCHED_LEGS = 1.3  # ankles to head over hip to ankle; a standing human has 1.7
_ALWAYS = 0.9  # of the frames
_MIN_BONE_M = 1e-4


class Finding(NamedTuple):
    value: str  # What it is, for code and for people
    why: str  # What it was found by
    is_sure: bool = True  # False if the user had better check it

    def text(self, option: str) -> str:
        """Return it as words that name the option to correct it with."""
        check = '' if self.is_sure else f', check with {option}'
        return f'{self.value} ({self.why}{check})'


def leg_length(clip: ClipFile, joints: SegmentJoints) -> float:
    """Return hip to ankle along the rest bones, mean of both legs [m]."""
    bones = [
        bone_vector(clip, joints, f'{side}_{upper}', f'{side}_{lower}')
        for side in _SIDES
        for upper, lower in (('thigh', 'shank'), ('shank', 'foot'))
    ]
    return max(0.5 * float(np.linalg.norm(bones, axis=1).sum()), _MIN_BONE_M)


def find_unit(clip: ClipFile, joints: SegmentJoints, assumed_m: float) -> tuple[float, Finding]:
    """
    Return the unit in which the body of a file, read in an assumed one, has a human's size [m].

    That stays while the size is believable; where no usual one fits, the one of an adult.
    """
    if joints.map.name == PUPPET:
        return assumed_m, Finding(_unit_name(assumed_m), 'written by this suite')
    stature_units = leg_length(clip, joints) / assumed_m / LEG_PER_STATURE
    unit_m, finding = choose_unit(assumed_m, lambda unit_m: stature_units * unit_m)
    assumed = stature_units * assumed_m
    if finding.is_sure or LOW_STATURE_M <= assumed <= HIGH_STATURE_M:
        return unit_m, finding
    unit_m = _STATURE_M / stature_units
    why = (
        f'no usual unit gives a stature of {_SMALLEST_M} to {_TALLEST_M} m, it would be '
        f'{assumed:.3g} m in {_unit_name(assumed_m)}; scaled to an adult of {_STATURE_M} m'
    )
    return unit_m, Finding(f'{unit_m:.3g} m', why, is_sure=False)


def choose_unit(assumed_m: float, stature_m: Callable[[float], float]) -> tuple[float, Finding]:
    """Return the unit that gives a human's size, the assumed one if it does; see `find_unit`."""
    candidates = [assumed_m, *(unit for _, unit in UNITS if unit != assumed_m)]
    statures = [stature_m(assumed_m)]
    assumed = _unit_name(assumed_m)
    if LOW_STATURE_M <= statures[0] <= HIGH_STATURE_M:
        is_usual = _SMALLEST_M <= statures[0] <= _TALLEST_M
        return assumed_m, Finding(assumed, f'stature about {statures[0]:.2f} m', is_usual)
    statures += [stature_m(unit_m) for unit_m in candidates[1:]]
    off = np.abs(np.log(np.maximum(statures, _MIN_BONE_M) / _STATURE_M))
    best = int(np.argmin(np.where(np.array(statures) > _TALLEST_M, np.inf, off)))
    if not LOW_STATURE_M <= statures[best] <= _TALLEST_M:
        why = f'no usual unit gives a human size; stature about {statures[0]:.3g} m'
        return assumed_m, Finding(assumed, why, is_sure=False)
    why = f'stature about {statures[best]:.2f} m; it would be {statures[0]:.3g} m in {assumed}'
    unit_m = candidates[best]
    return unit_m, Finding(_unit_name(unit_m), why, bool(statures[best] >= _SMALLEST_M))


def check_body(path: Path, skeleton: Skeleton) -> Iterator[str]:
    """Yield what is odd about a skeleton; InputFileError if shoulders or hips change sides."""
    leg = float(skeleton.limb_lengths[2:].sum(axis=1).mean())
    for end, (name, usual, low, high) in (_WIDTHS | _LENGTHS).items():
        offsets = skeleton.offsets[[SEGMENT_INDEX[f'{side}_{end}'] for side in _SIDES]]
        is_width = end in _WIDTHS
        sizes = offsets[:, 1] * [1.0, -1.0] if is_width else np.linalg.norm(offsets, axis=1)
        for side, size in zip(_SIDES, sizes):
            if size <= 0.0:
                wanted, got = f'the {side} {name} on its side', f'{-size:.3f} m on the other'
                hint = 'is a joint named wrongly? --name-map says which is which'
                raise InputFileError(path, wanted, got, field='skeleton', hint=hint)
            if not low <= size / leg <= high:
                share = f'{size / leg:.2f} of the leg, people have {usual:.2f}'
                what = 'from the middle' if is_width else 'long'
                yield f'{side} {name} {size:.3f} m {what}, {share}'
        if sizes.max() > _SIDES_RATIO * sizes.min():
            yield f'{name} {sizes[0]:.3f} m on the left, {sizes[1]:.3f} m on the right'


def signed_axis(direction: Vec3) -> tuple[str, float]:
    """Return the axis nearest to a direction, as x or -x, and the direction's part along it."""
    k = int(np.argmax(np.abs(direction)))
    return ('-' if direction[k] < 0.0 else '') + 'xyz'[k], float(abs(direction[k]))


def find_up_axis(clip: ClipFile, joints: SegmentJoints, p_world: Vec3s) -> Finding:
    """
    Return the axis of the file's world along which the body stands: x, y, z, -x, -y or -z.

    `p_world` has the joints of the file in its own world, shape (n, j, 3).
    """
    if joints.map.name == PUPPET:
        return Finding('y', 'written by this suite')
    left, right, head = (
        joints.origins[SEGMENT_INDEX[name]] for name in ('left_foot', 'right_foot', 'head')
    )
    bodies = p_world[:, head] - 0.5 * (p_world[:, left] + p_world[:, right])
    bodies /= np.maximum(np.linalg.norm(bodies, axis=1, keepdims=True), _MIN_BONE_M)
    axis, fraction = signed_axis(np.median(bodies, axis=0))
    along = bodies[:, 'xyz'.index(axis[-1])] * (-1.0 if axis.startswith('-') else 1.0)
    often = float(np.mean(along > CLEAR_FRACTION))
    rest = 0.5 * (clip.rest_offset(left, head) + clip.rest_offset(right, head))
    height = max(float(np.linalg.norm(rest)), _MIN_BONE_M)
    rest_axis, rest_fraction = signed_axis(rest / height)
    # Some files have all bones along one axis at rest: folded, and nothing stands.
    is_stretched = height > _STRETCHED_LEGS * leg_length(clip, joints)
    rest_stands = is_stretched and rest_fraction >= CLEAR_FRACTION
    if fraction < CLEAR_FRACTION:
        if rest_stands:
            return Finding(
                rest_axis, 'the rest pose is upright along it; the motion does not show it'
            )
        why = 'a guess: neither motion nor rest pose stands upright'
        return Finding(axis, why, is_sure=False)
    why = f'head over feet along {axis} in {often:.0%} of the frames'
    if not rest_stands or rest_axis == axis:
        return Finding(axis, why)
    # A file whose root alone was turned, from Y up to Z up as a rule, or somebody who lies; who
    # stands on the hands does so for a while.
    is_for_a_while = float(np.mean(along > 0.0)) < _ALWAYS
    if axis[-1] == 'x' or (axis[-1] == rest_axis[-1] and is_for_a_while):
        return Finding(rest_axis, f'the rest pose is upright along it; {why}', is_sure=False)
    return Finding(axis, f'{why}; the rest pose is upright along {rest_axis}', is_sure=False)


def _unit_name(unit_m: float) -> str:
    return next(
        (name for name, length in UNITS if np.isclose(length, unit_m, rtol=1e-3)), f'{unit_m:g} m'
    )
