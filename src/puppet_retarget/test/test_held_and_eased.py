# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to the input of a puppet, its angles are finite and do not jump."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.posture import Motion
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Quats, Vec3, Vec3s
from puppet_retarget.importance.environment import floor_only
from puppet_retarget.importance.estimator import ROW
from puppet_retarget.importance.self_interaction import SELF_ROW
from puppet_retarget.parameters import RetargetConfig
from puppet_retarget.retarget_model import LastPosture, LEAP, RetargetedFrame, RetargetModel
from puppet_retarget.solvers.discontinuity import EASE_M_S, EASE_RAD_S
import pytest

TICK_NS = 8_333_333
MOST_RAD_S, MOST_M_S = 60.0 + EASE_RAD_S, 20.0 + EASE_M_S
LONG = 360  # frames, in which an easing from anywhere in the motion has ended
NOTHING_NEAR = np.zeros((4, ROW)), np.zeros((8, SELF_ROW))


class Puppet:
    """A model that is driven by frames of a motion, and what it last showed."""

    def __init__(self, motion: Motion, character: Character) -> None:
        self.config = RetargetConfig(solver='joint_angles')
        self.model = RetargetModel(character, floor_only(), self.config)
        self._character, self._motion = character, motion
        self._segments = motion.world_segments()[1]
        self.stamp_ns, self.index = 10**12, 700
        self.shift, self.turn = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        self.last: LastPosture | None = None
        self.causes: list[str] = []

    def frame(self, step_ns: int = TICK_NS) -> RetargetedFrame:
        """Drive one frame and check how far the puppet moved."""
        self.stamp_ns += step_ns
        self.index = (self.index + 1) % self._motion.n_frames
        root, rotations, segments = self._performer(self.index)
        out = self.model.step(
            self.stamp_ns,
            root,
            segments,
            rotations,
            *NOTHING_NEAR,
            self._motion.skeleton.leg_length,
        )
        assert out is not None
        now = LastPosture(
            out.solution.root_position.copy(), out.solution.rotations.copy(), out.angles.copy()
        )
        assert all(np.isfinite(values).all() for values in now)
        if self.last is not None:
            turns = qb.log(qb.multiply(qb.conjugate(self.last.rotations), now.rotations))
            assert np.linalg.norm(turns, axis=1).max() < MOST_RAD_S * TICK_NS * 1e-9
            assert np.linalg.norm(now.root - self.last.root) < MOST_M_S * TICK_NS * 1e-9
            split = np.abs(now.angles - self.last.angles)
            assert split.max() < np.pi  # continuous: near a lock an angle may turn fast
        if out.cause:
            self.causes.append(out.cause)
        self.last = now
        return out

    def restart(self) -> None:
        """Let another model go on, as a node that was started again."""
        assert self.last is not None
        self.model = RetargetModel(self._character, floor_only(), self.config)
        self.model.resume(self.last)

    def configure(self, config: RetargetConfig) -> None:
        """Change parameters."""
        self.config = config
        self.model.configure(self._character, config)

    def _performer(self, i: int) -> tuple[Vec3, Quats, Vec3s]:
        root = self._motion.root_positions[i] + self.shift
        rotations = self._motion.rotations[i].copy()
        rotations[4:7] = qb.multiply(self.turn, rotations[4:7])
        return root, rotations, self._segments[i] + self.shift


@pytest.fixture
def puppet(procedural: Motion, tall_character: Character) -> Puppet:
    """Return Sally in the middle of a step."""
    return Puppet(procedural, tall_character)


def _run(puppet: Puppet, frames: int) -> list[bool]:
    return [puppet.frame().eased for _ in range(frames)]


@pytest.mark.parametrize(
    'leap',
    [
        lambda puppet: puppet.shift.__iadd__(0.5),
        lambda puppet: setattr(puppet, 'turn', qb.exp(np.array([0.5, 0.0, 0.0]))),
        lambda puppet: setattr(puppet, 'index', puppet.index + 500),
    ],
    ids=['another place', 'another calibration', 'another performer'],
)
def test_a_leap_of_the_performer_is_eased_and_named(
    puppet: Puppet, leap: Callable[[Puppet], object]
) -> None:
    _run(puppet, 20)
    leap(puppet)
    eased = _run(puppet, LONG)
    assert eased[0] and not eased[-1]
    assert puppet.causes == [LEAP]


@pytest.mark.parametrize('step_s', [-7200.0, -2.0, -0.01, 0.3, 2.0, 7200.0])
def test_a_clock_that_steps_is_eased_and_named(puppet: Puppet, step_s: float) -> None:
    _run(puppet, 20)
    puppet.index += 300
    puppet.frame(int(step_s * 1e9))
    assert not _run(puppet, LONG)[-1]
    kind = 'gap' if step_s > 0 else 'clock stepped back'
    assert len(puppet.causes) == 1 and kind in puppet.causes[0]


@pytest.mark.parametrize('seed', range(4))
def test_no_history_makes_it_jump(puppet: Puppet, seed: int) -> None:
    """Leaps, gaps, clocks, restarts and a storm of parameters, in any order."""
    rng = np.random.default_rng(seed)
    _run(puppet, 5)
    for _ in range(150):
        fate = rng.random()
        step_ns = TICK_NS
        if fate < 0.1:
            puppet.shift[:] = rng.normal(size=3) * 10.0 ** rng.uniform(-1.0, 2.0)
        elif fate < 0.2:
            puppet.turn = qb.exp(rng.normal(size=3))
        elif fate < 0.25:
            puppet.index = int(rng.integers(1000))
        elif fate < 0.3:
            step_ns = int(rng.choice([-3.6e12, -1e9, -1e7, 0, 3e7, 1e8, 2.4e8, 3e8, 3.6e12]))
        elif fate < 0.35:
            puppet.restart()
        elif fate < 0.6:
            puppet.configure(
                replace(
                    puppet.config,
                    ease_s=float(rng.choice([0.0, 0.01, 0.5, 10.0])),
                    hold_after_s=float(rng.choice([0.01, 0.25, 10.0])),
                )
            )
        puppet.frame(step_ns)
