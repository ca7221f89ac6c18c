# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of importance and retarget: defaults and ranges."""

from dataclasses import replace

from puppet_core.io import check_values, ConfigError
from puppet_retarget.importance.estimator import ImportanceConfig
from puppet_retarget.importance.self_interaction import SelfInteractionConfig
from puppet_retarget.parameters import (
    CommandConfig,
    importance_config,
    IMPORTANCE_ROWS,
    retarget_config,
    RETARGET_ROWS,
    self_interaction_config,
)
import pytest

FIXED_IMPORTANCE = {'surface_file'}


def retarget_values(**changes):
    return check_values(RETARGET_ROWS, changes)


def test_changed_values_arrive():
    config = retarget_config(
        retarget_values(
            solver='position', posture_weight=0.9, ease_s=2, max_iterations=7, command_lead_rad=1
        )
    )
    assert config.command == CommandConfig(lead_rad=1.0)
    assert config.solver == 'position'
    assert config.ease_s == 2.0
    assert (config.tuning.posture_weight, config.tuning.max_iterations) == (0.9, 7)
    values = check_values(IMPORTANCE_ROWS, {'prediction_s': 0.2, 'smoothing_s': 0.01})
    assert importance_config(values) == ImportanceConfig(prediction_s=0.2, smoothing_s=0.01)


def test_every_setting_of_the_self_interaction_arrives_by_its_own_name():
    default = SelfInteractionConfig()
    for name in SelfInteractionConfig.__dataclass_fields__:
        value = getattr(default, name)
        other = not value if isinstance(value, bool) else 0.5 * value + 0.01
        values = check_values(IMPORTANCE_ROWS, {f'self_{name}': other})
        assert self_interaction_config(values) == replace(default, **{name: other})
        assert importance_config(values) == ImportanceConfig()


def test_tuning_may_change_while_running():
    """What was measured may not."""
    assert {row.name for row in IMPORTANCE_ROWS if not row.live} == FIXED_IMPORTANCE
    fixed = {row.name for row in RETARGET_ROWS if not row.live}
    assert fixed == {'performer_leg_length_m', 'last_posture_file'}


@pytest.mark.parametrize(
    ('name', 'value', 'text'),
    [
        ('solver', 'ik', 'solver: expected one of whole_body, importance_based, elbow_circle'),
        ('root_form', 'middle', 'root_form: expected one of projection, mean'),
        ('posture_weight', 0.0, 'posture_weight: expected 0.0 < value <= 100.0, got 0.0'),
        ('max_iterations', -1, 'max_iterations: expected 0 <= value <= 200, got -1'),
        ('torso_segments', 3, 'torso_segments: expected 1 <= value <= 2, got 3'),
        ('rate_base', 'tail', 'rate_base: expected one of pelvis, spine, chest'),
        ('rate_k1', 2.0, 'rate_k1: expected 0.0 < value <= 1.9, got 2.0'),
        ('hold_after_s', 0.0, 'hold_after_s: expected 0.01 <= value <= 10.0, got 0.0'),
        ('ease_s', float('nan'), 'ease_s: expected a finite number'),
        ('stretch', 0.9, 'stretch: expected a known parameter'),
    ],
)
def test_refused_values_are_named(name, value, text):
    with pytest.raises(ConfigError, match=text):
        retarget_values(**{name: value})
