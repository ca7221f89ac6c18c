# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A motion given to another character by the editor: its angles, with the feet's plants held.

The character starts with the motion's joint angles and a root path scaled by its legs. Its
feet have to stand where the motion's feet stand, in a world of a given scale.

"""

from dataclasses import dataclass, replace

import numpy as np
from puppet_core.body import Motion, Skeleton
from puppet_core.io import ConfigError
from puppet_edit.editor import Constraint, Surface
from puppet_edit.scene.foot_plants import (
    cleared,
    detect_contacts,
    firm_poses,
    foot_constraints,
    FootContacts,
    FootPoses,
    own_poses,
)
from puppet_edit.scene.surfaces import FLOOR


@dataclass(frozen=True, slots=True)
class Adaptation:
    """A motion to be edited and what it has to do."""

    motion: Motion
    """As it starts."""

    constraints: tuple[Constraint, ...]
    """What the editor has to meet."""

    goals: FootPoses
    """Where the feet have to be."""

    contacts: FootContacts
    """When the feet of the original stand."""


def on_terrain(
    motion: Motion, surface: Surface, ground: Surface = FLOOR, swings: bool = True
) -> Adaptation:
    """
    Return what brings a motion's feet from one surface onto another (LeeShin1999 section 6).

    Places stay as they are seen from above; soles lie along the slope; swinging feet clear
    the ground as high as they did, and are held to that where `swings` is set.

    """
    contacts = detect_contacts(motion, ground)
    own = own_poses(motion, contacts)
    goals = firm_poses(motion, contacts, surface, ground)
    goals = cleared(goals, own, motion.skeleton, motion.rate_hz, (ground, surface))
    return Adaptation(motion, tuple(foot_constraints(goals, swings)), goals, contacts)


def for_body(
    motion: Motion,
    skeleton: Skeleton,
    world_scale: float | None = None,
    surface: Surface = FLOOR,
) -> Adaptation:
    """
    Return what gives a motion to another body by the editor.

    Parameters
    ----------
    motion : Motion
        The performer's, on a level floor at zero.
    skeleton : Skeleton
        The character.
    world_scale : float, optional
        Of places on the floor; the ratio of leg lengths without, and then the character
        strides as its legs are long.
    surface : Surface
        What the character walks on.

    """
    ratio = skeleton.leg_length / motion.skeleton.leg_length
    scale = ratio if world_scale is None else world_scale
    if not 0.01 <= scale <= 100.0:
        raise ConfigError(f'world_scale: expected 0.01 <= value <= 100, got {scale:g}')
    contacts = detect_contacts(motion)
    goals = firm_poses(motion, contacts)
    level = np.array([scale, scale, ratio])
    goals = replace(goals, soles=goals.soles * level)
    roots = motion.root_positions * level
    start = Motion.from_rotations(skeleton, motion.rate_hz, roots, motion.rotations)
    if surface is not FLOOR:
        raised = np.array(goals.soles)
        raised[..., 2] += surface.height(raised[..., 0], raised[..., 1])
        goals = replace(goals, soles=raised)
    return Adaptation(start, tuple(foot_constraints(goals, swings=False)), goals, contacts)
