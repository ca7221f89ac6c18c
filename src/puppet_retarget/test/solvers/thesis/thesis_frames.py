# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Poses, settings and goals for single steps of the thesis' solver."""

import numpy as np
from puppet_core.body import Character
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Vec3s
from puppet_retarget.importance import (
    CONTACT_WIDTH,
    FIRST_CONTACT,
    GOAL,
    IMPORTANCE,
    RADIUS,
    ROW,
    SELF_IMPORTANCE,
    SELF_ROW,
)
from puppet_retarget.solvers import SolverConfig
from puppet_retarget.solvers.thesis.errata import Errata
from puppet_retarget.solvers.thesis.puppet import (
    Goals,
    Pose,
    puppet_of,
    Settings,
    settings_of,
    update,
)
from puppet_retarget.solvers.thesis.ranges import fill_goals

LEG_M = 0.93


def random_pose(character: Character, rng: np.random.Generator, bend: float = 0.4) -> Pose:
    """Return a pose that is up to date, its root somewhere."""
    pose = Pose(*(part.copy() for part in Pose()))
    pose.root[:] = rng.normal(size=3)
    pose.rotations[:] = qb.exp(bend * rng.normal(size=(16, 3)))
    update(puppet_of(character), pose)
    return pose


def settings(character: Character, errata: Errata = Errata(), **config: object) -> Settings:
    """Return the numbers of a solver."""
    names = tuple(name for name in Errata._fields if getattr(errata, name))
    return settings_of(SolverConfig(errata=names, **config), character, LEG_M)


def rows_of(goals: Vec3s, importances: Floats, radii: float | Floats = 0.6) -> Floats:
    """Return importance rows of hands and feet."""
    rows = np.zeros((4, ROW))
    rows[:, GOAL : GOAL + 3], rows[:, IMPORTANCE], rows[:, RADIUS] = goals, importances, radii
    return rows


def goals_of(character: Character, numbers: Settings, rows: Floats, pose: Pose) -> Goals:
    goals = Goals(*(part.copy() for part in Goals()))
    fill_goals(puppet_of(character), numbers, rows, pose, goals)
    return goals


def self_row(importance: float, contacts: Floats = np.zeros((0, CONTACT_WIDTH))) -> Floats:
    """Return a row of the self-interaction with contacts (n, 5)."""
    row = np.zeros(SELF_ROW)
    row[SELF_IMPORTANCE] = importance
    places = row[FIRST_CONTACT:].reshape(-1, CONTACT_WIDTH)
    places[:, 0] = -1.0
    places[: len(contacts)] = contacts
    return row
