# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Importance of each end-effector near objects and the own body (Shin2002 ch. 4)."""

from puppet_retarget.importance import objects
from puppet_retarget.importance.environment import (
    current_environment,
    Environment,
    filled_up,
    load_environment,
    ObjectArrays,
    Placement,
    puppet_solid,
    real_solid,
    REST_INFLUENCE_M,
    RESTING,
    SceneObject,
    UNSEEN,
)
from puppet_retarget.importance.estimator import (
    blend_weight,
    GOAL,
    IMPORTANCE,
    importance,
    ImportanceConfig,
    ImportanceEstimator,
    OBJECT,
    RADIUS,
    RATE,
    ROW,
    rows_of_objects,
)
from puppet_retarget.importance.importance_model import (
    ImportanceModel,
    MAX_LEG_LENGTH_M,
    MIN_LEG_LENGTH_M,
    ProximityResult,
)
from puppet_retarget.importance.moving import (
    Counterparts,
    followed,
    half_extent,
    MovingObjects,
    support_by,
    UNSEEN_Z,
)
from puppet_retarget.importance.objects import (
    BOX,
    CAPSULE,
    counterpart_point,
    CYLINDER,
    distance_from,
    from_object,
    PLANE,
    signed_distance,
    Solid,
    SPHERE,
    to_object,
)
from puppet_retarget.importance.rests import (
    are_rests,
    estimate_rests,
    gap_between,
    MAX_RESTS,
    no_rests,
    REST_GAP,
    REST_IMPORTANCE,
    REST_MARGIN_M,
    REST_OBJECT,
    REST_SEGMENT,
    REST_SOFT_M,
    REST_WIDTH,
    rests_of_objects,
    rests_packed,
)
from puppet_retarget.importance.self_interaction import (
    body_arrays,
    BodyArrays,
    CONTACT_WIDTH,
    DISPLACEMENT,
    estimator_of,
    FIRST_CONTACT,
    MAX_CONTACTS,
    N_SAMPLES,
    RELEVANT,
    SAMPLE,
    SELF_DISTANCE,
    SELF_IMPORTANCE,
    SELF_ROW,
    SelfInteractionConfig,
    skeleton_of,
    WEIGHT,
)
