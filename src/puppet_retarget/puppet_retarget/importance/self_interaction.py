# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Self-interaction: what of the body's own is near a hand, foot, elbow or knee (Shin2002 4.2).

One row for each of the eight general end-effectors: its importance, distance, distance rate
and depth, then the sample points that it is near with its displacement from each: all that a
solver needs to give a puppet of another shape the same contact (eqs. 5.6-5.9).

"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.kernel import kernel
from puppet_core.packed_arrays import pack_arrays
from puppet_core.posture import Posture
from puppet_core.skeleton import LIMB_SEGMENTS, N_SEGMENTS, PARENTS, SEGMENT_INDEX, Skeleton
from puppet_retarget.importance.body_arrays import body_arrays, body_of, BodyArrays
from puppet_retarget.importance.contact_rows import list_contacts, SELF_ROW
from puppet_retarget.importance.self_distance import (
    estimate_self_pairs,
    PAIR_COLUMNS,
    smooth_self_pairs,
)

MAX_STEP_S = 0.25  # a longer gap restarts the smoothing


@dataclass(frozen=True, slots=True)
class SelfInteractionConfig:
    """Tuning of the self-interaction; see the parameter table for ranges."""

    prediction_s: float = 0.03
    """lambda of Shin2002 eq. 4.2 for a body's own distances: pays for the smoothing [s]."""

    hand_influence_m: float = 0.06
    """D of eq. 4.3 of the palms from torso and legs, which they pass by all the time [m]."""

    gesture_influence_m: float = 0.15
    """D of the palms from the head and from the other arm, where they seldom are by chance [m]."""

    elbow_influence_m: float = 0.05
    """D for the elbows [m]."""

    foot_influence_m: float = 0.01
    """D for the soles and knees [m]."""

    hand_margin_m: float = 0.02
    """Distance of palms from a surface that counts as contact [m]."""

    elbow_margin_m: float = 0.045
    """The same for elbows: about their own radius [m]."""

    foot_margin_m: float = 0.0
    """The same for soles and knees, which pass each other closely at every step [m]."""

    foot_passing_s: float = 0.03
    """Distance added for soles and knees per speed along what they pass by [s]."""

    smoothing_s: float = 0.015
    """Time constant of the follower of SPEC 5.12 [s]."""

    samples_only: bool = False
    """Whether distances are to the nearest sample point, as printed, or to the surface."""

    @property
    def influences_m(self) -> Floats:
        """D of each general end-effector from each segment, shape (8, 16) [m]."""
        hand, elbow, foot = self.hand_influence_m, self.elbow_influence_m, self.foot_influence_m
        own = np.array([hand, hand, foot, foot, elbow, elbow, foot, foot])
        table = np.repeat(own[:, np.newaxis], N_SEGMENTS, axis=1)
        table[:2, [SEGMENT_INDEX['head'], *LIMB_SEGMENTS[:2].ravel()]] = self.gesture_influence_m
        return table

    @property
    def margins_m(self) -> Floats:
        """Contact margins of the eight general end-effectors, shape (8,) [m]."""
        hand, elbow, foot = self.hand_margin_m, self.elbow_margin_m, self.foot_margin_m
        return np.array([hand, hand, foot, foot, elbow, elbow, foot, foot])


class SelfArrays(NamedTuple):
    """What the estimator keeps from frame to frame, packed into one argument."""

    body: BodyArrays
    influences: Floats  # (8, 16) [m]
    margins: Floats  # (8,) [m]
    pairs: Floats  # (8, 16, PAIR_COLUMNS)
    followers: Floats  # (8, 16, 2)
    q_world: Quats  # (16, 4)
    q_before: Quats  # (16, 4)
    p_before: Vec3s  # (16, 3)
    rows: Floats  # (8, SELF_ROW)


class SelfInteractionEstimator:
    """Self-interaction of one performer."""

    def __init__(self, body: BodyArrays, config: SelfInteractionConfig) -> None:
        self.packed, self._arrays = pack_arrays(
            SelfArrays(
                body, np.zeros((8, 16)), np.zeros(8), np.zeros((8, 16, PAIR_COLUMNS)),
                np.zeros((8, 16, 2)), np.zeros((16, 4)), np.zeros((16, 4)), np.zeros((16, 3)),
                np.zeros((8, SELF_ROW)),
            )
        )  # fmt: skip
        """SelfArrays, for kernels that step many frames."""
        self._stamp_ns: int | None = None
        self.retune(config)

    def retune(self, config: SelfInteractionConfig) -> None:
        """Take new tuning without a jump in the smoothed importance."""
        self._config = config
        self._arrays.influences[:] = config.influences_m
        self._arrays.margins[:] = config.margins_m

    def reset(self) -> None:
        """Forget the past: the next step is not smoothed."""
        self._stamp_ns = None

    def step(self, stamp_ns: int, posture: Posture, segments: Vec3s, rows: Floats) -> Floats:
        """
        Return the rows of the next posture.

        Parameters
        ----------
        stamp_ns : int
            Acquisition time [ns]; a gap over MAX_STEP_S or a step back restarts smoothing.
        posture : Posture
            The performer, finite.
        segments : ndarray, shape (16, 3)
            Its joints in world [m].
        rows : ndarray, shape (4, 8)
            Importance rows of the environment for the same posture.

        Returns
        -------
        rows : ndarray, shape (8, SELF_ROW)
            Overwritten by the next step.

        """
        dt = (stamp_ns - self._stamp_ns) * 1e-9 if self._stamp_ns is not None else np.inf
        self._stamp_ns = stamp_ns
        if not 0.0 <= dt <= MAX_STEP_S:
            dt = np.inf
        config = self._config
        step_packed(
            self.packed, posture.rotations, segments, posture.end_effectors,
            posture.end_effector_velocities, rows, config.prediction_s, config.foot_passing_s,
            config.smoothing_s, config.samples_only, dt,
        )  # fmt: skip
        return self._arrays.rows


@kernel
def step_packed(
    packed: np.ndarray, rotations: Quats, segments: Vec3s, points: Vec3s, velocities: Vec3s,
    rows: Floats, prediction: float, passing: float, smoothing: float, samples_only: bool,
    dt: float,
) -> None:  # fmt: skip
    """Advance by one posture in place; `packed` holds SelfArrays."""
    record = packed[0]
    body, pairs, q_world = body_of(record.body), record.pairs[:], record.q_world[:]
    estimate_self_pairs(
        body, rotations, segments, points, velocities, record.influences[:],
        record.margins[:], prediction, passing, samples_only, dt, q_world,
        record.q_before[:], record.p_before[:], pairs,
    )  # fmt: skip
    smooth_self_pairs(pairs, record.followers[:], smoothing, dt)
    list_contacts(
        body, q_world, segments, points, rows, record.influences[:], record.margins[:], pairs,
        record.rows[:],
    )  # fmt: skip


def skeleton_of(rotations: Quats, segments: Vec3s, points: Vec3s) -> Skeleton:
    """
    Return the skeleton that a posture shows.

    Parameters
    ----------
    rotations : ndarray, shape (16, 4)
        Joint rotations.
    segments : ndarray, shape (16, 3)
        Joints in world [m].
    points : ndarray, shape (8, 3)
        General end-effectors in world [m].

    Raises
    ------
    ConfigError : if a limb has no length.

    """
    q_world = np.array(rotations)
    offsets = np.zeros((N_SEGMENTS, 3))
    for segment in range(1, N_SEGMENTS):
        parent = PARENTS[segment]
        q_world[segment] = quaternion_batch.multiply(q_world[parent], rotations[segment])
        to_parent = quaternion_batch.conjugate(q_world[parent])
        offsets[segment] = quaternion_batch.rotate(to_parent, segments[segment] - segments[parent])
    ends = LIMB_SEGMENTS[:, 2]
    to_hands = quaternion_batch.conjugate(q_world[ends])
    return Skeleton(offsets, quaternion_batch.rotate(to_hands, points[:4] - segments[ends]))


def estimator_of(
    skeleton: Skeleton, config: SelfInteractionConfig, samples: Floats | None = None
) -> SelfInteractionEstimator:
    """Return the estimator of a person of a skeleton, with measured samples if there are any."""
    return SelfInteractionEstimator(body_arrays(skeleton, samples=samples), config)
