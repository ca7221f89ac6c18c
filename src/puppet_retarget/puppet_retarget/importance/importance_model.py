# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
From one performer posture to importance and distances: all that a solver needs to know.

Holds the importance of the environment and the self-interaction. The importance node is this
class with messages around it, the offline commands a loop.
"""

from collections.abc import Mapping
import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import (
    default_capsules,
    is_posture,
    LIMB_SEGMENTS,
    N_SEGMENTS,
    NO_PROPS,
    Posture,
    Props,
    SEGMENT_INDEX,
    Skeleton,
    surface_samples,
)
from puppet_core.io import ConfigError
from puppet_core.math import Floats, frozen, Vec3s
from puppet_retarget.importance.environment import Environment
from puppet_retarget.importance.estimator import ImportanceConfig, ImportanceEstimator
from puppet_retarget.importance.moving import Counterparts, MovingObjects
from puppet_retarget.importance.rests import no_rests, rests_packed
from puppet_retarget.importance.self_interaction import (
    estimator_of,
    SelfInteractionConfig,
    SelfInteractionEstimator,
    skeleton_of,
)

MIN_LEG_LENGTH_M, MAX_LEG_LENGTH_M = 0.05, 10.0
MAX_OFFSET_M = 10.0  # of a joint from the one before


class ProximityResult(NamedTuple):
    """What is near in one posture; the arrays are overwritten by the next step."""

    rows: Floats  # Importance of the general end-effectors, shape (8, ROW)
    self_rows: Floats  # Self-interaction of the general end-effectors, shape (8, SELF_ROW)
    moving: Props = NO_PROPS  # The performer's objects that move; not overwritten
    # What else of the body is at objects, shape (MAX_RESTS, REST_WIDTH)
    rests: Floats = frozen(no_rests())


class ImportanceModel:
    """
    What is near one performer, in one environment and of the own body.

    The skeleton is by default that of the first posture; measured surface points (40, 3) are by
    segment [m], others are an ordinary person's.
    """

    def __init__(
        self,
        environment: Environment,
        tuning: ImportanceConfig,
        self_tuning: SelfInteractionConfig,
        skeleton: Skeleton | None = None,
        measured: Mapping[str, Vec3s] | None = None,
    ) -> None:
        self._environment = environment
        self._tuning, self._self_tuning = tuning, self_tuning
        self._estimator = ImportanceEstimator(environment, tuning)
        self._moving, self._counterparts = MovingObjects(environment), Counterparts(environment)
        self._measured = dict(measured or {})
        self._rests = no_rests()
        self._leg_length = 0.0  # as sent with the posture that the skeleton is from
        self._self_estimator: SelfInteractionEstimator | None = None
        if skeleton is not None:
            self._self_estimator = self._estimator_of(skeleton)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Return the names of objects whose sensor has not been seen yet."""
        return tuple(self._moving.unseen)

    def retune(self, tuning: ImportanceConfig, self_tuning: SelfInteractionConfig) -> None:
        """Take new tuning without a jump in what is smoothed."""
        self._tuning, self._self_tuning = tuning, self_tuning
        self._estimator.retune(self._environment, tuning)
        if self._self_estimator is not None:
            self._self_estimator.retune(self_tuning)

    def enter(self, environment: Environment) -> None:
        """Take another environment, or one that has changed; objects are known by their names."""
        before = {o.name: j for j, o in enumerate(self._environment.objects)}
        same = [(before[n], j) for j, n in enumerate(environment.names) if n in before]
        estimator, moving = ImportanceEstimator(environment, self._tuning), self._moving
        estimator.go_on(self._estimator, same)
        self._environment, self._estimator = environment, estimator
        self._moving, self._counterparts = MovingObjects(environment), Counterparts(environment)
        self._moving.go_on(moving)

    def reset(self) -> None:
        """Forget the past, not the performer: the next step is not smoothed."""
        self._estimator.reset()
        self._moving.reset()
        if self._self_estimator is not None:
            self._self_estimator.reset()

    def warm_up(self) -> None:
        """Compile everything a posture needs, before the first one comes."""
        body = _some_body()
        rotations = np.zeros((N_SEGMENTS, 4))
        rotations[:, 0] = 1.0
        segments = body.rest_positions()
        points = segments[LIMB_SEGMENTS[:, [2, 1]].T.ravel()]
        points[:4] += body.interaction_points
        posture = Posture(segments[0].copy(), rotations, points, np.zeros((8, 3)))
        model = ImportanceModel(self._environment, self._tuning, self._self_tuning)
        for stamp_ns in (0, 10_000_000):
            model.step(stamp_ns, posture, segments)

    def step(
        self, stamp_ns: int, posture: Posture, segments: Vec3s, leg_length: float = 0.0
    ) -> ProximityResult | None:
        """
        Return what is near in the next posture, or None if that is not usable.

        Segments are the joints in world [m]. After a gap, or a step back, nothing is smoothed.
        Another leg length (hip to sole [m]) means that the performer was measured anew: the
        skeleton is taken from this posture.
        """
        if not is_posture(posture.root_position, segments, posture.rotations):
            return None
        leg_length = leg_length if math.isfinite(leg_length) else 0.0
        skeleton = None
        if self._self_estimator is None or leg_length != self._leg_length:
            skeleton = _skeleton_of(posture, segments)
            if skeleton is None:
                return None
        objects = self._estimator.objects
        moving = self._moving.step(stamp_ns, posture, objects, segments)
        self._counterparts.place(moving, objects)
        rows = self._estimator.step(
            stamp_ns, posture.end_effectors, posture.end_effector_velocities
        )
        if rows is None:
            return None
        if skeleton is not None:
            self._self_estimator = self._estimator_of(skeleton)
            self._leg_length = leg_length
        assert self._self_estimator is not None
        self_rows = self._self_estimator.step(stamp_ns, posture, segments)
        own, around = self._self_estimator.packed, self._estimator.packed
        rests_packed(own, around, segments, self._rests)
        return ProximityResult(rows, self_rows, moving, self._rests)

    def _estimator_of(self, skeleton: Skeleton) -> SelfInteractionEstimator:
        samples = None
        if self._measured:
            samples = surface_samples(skeleton, default_capsules(skeleton))
            for segment, points in self._measured.items():
                samples[SEGMENT_INDEX[segment]] = points
        return estimator_of(skeleton, self._self_tuning, samples)


def _skeleton_of(posture: Posture, segments: Vec3s) -> Skeleton | None:
    """Return the skeleton that a posture shows, or None if it is implausible."""
    if not np.isfinite(posture.end_effectors).all():
        return None
    try:
        skeleton = skeleton_of(posture.rotations, segments, posture.end_effectors)
    except ConfigError:
        return None
    longest = max(np.abs(skeleton.offsets).max(), np.abs(skeleton.interaction_points).max())
    is_person = MIN_LEG_LENGTH_M <= skeleton.leg_length <= MAX_LEG_LENGTH_M
    return skeleton if is_person and longest <= MAX_OFFSET_M else None


def _some_body() -> Skeleton:
    """Return a body of some proportions, its segments one beside the other."""
    offsets, points = np.zeros((N_SEGMENTS, 3)), np.full((4, 3), 0.05)
    offsets[1:] = 0.1, 0.1, 0.2
    return Skeleton(offsets, points)
