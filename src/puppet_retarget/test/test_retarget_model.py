# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One puppet frame by frame: gaps, changes, bad input; its last posture for a restarted node."""

import os

from body_fixtures import floor_only
import numpy as np
from puppet_core.body.posture import Motion, Posture
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.body.surface import surface_samples
from puppet_core.io import InputFileError
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats
from puppet_core.math.quaternions import rotate
from puppet_retarget.importance.estimator import ImportanceConfig
from puppet_retarget.importance.importance_model import ImportanceModel
from puppet_retarget.importance.rests import (
    no_rests,
    REST_GAP,
    REST_IMPORTANCE,
    REST_OBJECT,
    REST_SEGMENT,
)
from puppet_retarget.importance.self_interaction import (
    CONTACT_WIDTH,
    FIRST_CONTACT,
    SAMPLE,
    SELF_IMPORTANCE,
    SELF_ROW,
    SelfInteractionConfig,
    WEIGHT,
)
from puppet_retarget.offline import smoothness
from puppet_retarget.parameters import RetargetConfig
from puppet_retarget.retarget_model import (
    LastPosture,
    LastPostureFile,
    MAX_AGE_S,
    open_last_posture,
    read_last_posture,
    RetargetedFrame,
    RetargetModel,
)
import pytest

TICK_NS = 8_333_333
DT_S = TICK_NS * 1e-9
FASTEST_ROOT_M_S = 8.0
FASTEST_JOINT_RAD_S = 40.0
MOST_EASED = 1200  # frames
NOW_NS = 5_000_000_000_000


class Live:
    """A model, a performer that goes on and on, and the frames that came of it."""

    def __init__(self, motion: Motion, model: RetargetModel) -> None:
        self.model = model
        self._motion = motion
        self._segments = motion.world_segments()[1]
        self._velocities = motion.end_effector_velocities()
        self._near = ImportanceModel(floor_only(), ImportanceConfig(), SelfInteractionConfig())
        self.stamp_ns = 0
        self.index = 0
        self.roots: list[Floats] = []
        self.angles: list[Floats] = []
        self.eased: list[bool] = []
        self.leg_length = motion.skeleton.leg_length

    def frame(self, step_ns: int = TICK_NS, **changes: Floats) -> RetargetedFrame | None:
        """Drive one frame; changes replace arguments of `step`."""
        self.stamp_ns += step_ns
        i = self.index = (self.index + 1) % self._motion.n_frames
        posture = Posture(
            self._motion.root_positions[i].copy(),
            self._motion.rotations[i].copy(),
            self._motion.end_effectors[i].copy(),
            self._velocities[i].copy(),
        )
        near = self._near.step(self.stamp_ns, posture, self._segments[i])
        given = {
            'root': posture.root_position,
            'segments': self._segments[i].copy(),
            'rotations': posture.rotations,
            'rows': near.rows.copy(),
            'self_rows': near.self_rows.copy(),
            'rests': near.rests.copy(),
            **changes,
        }
        out = self.model.step(
            self.stamp_ns,
            given['root'],
            given['segments'],
            given['rotations'],
            given['rows'],
            given['self_rows'],
            self.leg_length,
            rests=given['rests'],
        )
        if out is not None:
            self.roots.append(out.solution.root_position.copy())
            self.angles.append(out.angles.copy())
            self.eased.append(out.eased)
        return out

    def settled(self, **changes: Floats) -> RetargetedFrame:
        """Drive the same frame until the puppet no longer eases into it."""
        for _ in range(MOST_EASED):
            self.index -= 1
            out = self.frame(**changes)
            assert out is not None
            if not out.eased:
                return out
        raise AssertionError('still easing')

    def run(self, frames: int) -> None:
        """Drive many frames."""
        for _ in range(frames):
            self.frame()

    def assert_no_jump(self) -> None:
        """Assert that root and joint angles never moved faster than a body can."""
        root_steps = np.linalg.norm(np.diff(self.roots, axis=0), axis=1)
        assert root_steps.max() < FASTEST_ROOT_M_S * DT_S
        assert np.abs(np.diff(self.angles, axis=0)).max() < FASTEST_JOINT_RAD_S * DT_S


@pytest.fixture
def live(procedural, tall_character):
    """Return Sally driven by the built-in performer, in the middle of a step."""
    live = Live(procedural, RetargetModel(tall_character, floor_only(), RetargetConfig()))
    live.index = 700
    return live


@pytest.mark.parametrize(
    'gap_ns',
    [400_000_000, 20_000_000_000, -3_000_000_000],
    ids=['short gap', 'long gap', 'back in time'],
)
def test_puppet_eases_back_after_a_gap(live, gap_ns):
    """Held, then eased, never a jump; meanwhile the performer went elsewhere."""
    live.run(30)
    live.index += 150
    live.frame(step_ns=gap_ns)
    np.testing.assert_allclose(live.roots[-1], live.roots[-2], atol=1e-9)
    np.testing.assert_allclose(live.angles[-1], live.angles[-2], atol=1e-6)
    live.run(100)
    live.assert_no_jump()
    assert live.eased[31] and not live.eased[-1]


@pytest.mark.parametrize('name', ['short_character', 'adult_character'])
def test_other_puppet_is_eased_into(live, name, request):
    live.run(30)
    live.model.configure(request.getfixturevalue(name), RetargetConfig())
    live.run(150)
    live.assert_no_jump()
    assert live.eased[30] and not live.eased[-1]


@pytest.mark.parametrize('solver', ['joint_angles', 'rate_control', 'importance_based'])
def test_other_solver_is_eased_into(live, solver):
    live.run(30)
    for name in (solver, 'whole_body'):
        live.model.configure(live.model._character, RetargetConfig(solver=name))
        live.run(100)
        assert not live.eased[-1]
    live.assert_no_jump()


def test_a_hat_stays_on_the_head_while_a_puppet_eases(procedural, tall_character, scene):
    hat = scene.thing('box', (0.0, 0.0, 0.25), (0.2, 0.2, 0.1), segment=SEGMENT_INDEX['head'])
    live = Live(procedural, RetargetModel(tall_character, scene(hat), RetargetConfig()))
    scale = tall_character.scale_for(live.leg_length)
    for gap_ns in (TICK_NS, 3_000_000_000):
        live.index += 300
        live.frame(step_ns=gap_ns)
        for _ in range(10):
            out = live.frame().solution
            head = out.p_world[hat.segment]
            place = head + rotate(out.q_world[hat.segment], scale * hat.puppet.position)
            np.testing.assert_allclose(out.moving.positions[0], place, atol=1e-9)
    assert live.eased[-1]


def test_configured_leg_length_overrides_the_messages(procedural, short_character):
    roots = []
    for config, sent in ((RetargetConfig(), 0.8), (RetargetConfig(performer_leg_length_m=0.8), 0)):
        live = Live(procedural, RetargetModel(short_character, floor_only(), config))
        live.leg_length = sent
        live.run(3)
        roots.append(live.roots[-1])
    np.testing.assert_array_equal(roots[0], roots[1])


def test_rests_reach_the_solver(live, monkeypatch):
    live.frame()
    rests, given = no_rests(), []
    rests[0] = 0.0, SEGMENT_INDEX['pelvis'], 0.75, 0.02
    solve = live.model._solver.solve
    monkeypatch.setattr(
        live.model._solver, 'solve', lambda *words: given.append(words[-1]) or solve(*words)
    )
    live.frame()
    live.frame(rests=rests)
    np.testing.assert_array_equal(given, [no_rests(), rests])


REST_FAULTS = {
    'no such object': (REST_OBJECT, 1.0),
    'half an object': (REST_OBJECT, 0.5),
    'no such segment': (REST_SEGMENT, 16.0),
    'too important': (REST_IMPORTANCE, 1.5),
    'no gap': (REST_GAP, np.nan),
}


@pytest.mark.parametrize(('column', 'value'), REST_FAULTS.values(), ids=REST_FAULTS)
def test_rests_that_are_none_give_nothing(live, column, value):
    live.run(3)
    rests = no_rests()
    rests[0] = 0.0, SEGMENT_INDEX['pelvis'], 0.75, 0.02
    assert live.frame(rests=rests) is not None
    rests[0, column] = value
    assert live.frame(rests=rests) is None
    assert live.frame() is not None


@pytest.mark.parametrize('what', ['root', 'segments', 'rotations', 'rows', 'self_rows'])
@pytest.mark.parametrize('bad', [np.nan, np.inf, 0.0], ids=['nan', 'inf', 'zeros'])
def test_unusable_input_gives_nothing_and_leaves_no_trace(live, what, bad):
    """Dropped, never propagated."""
    shape = {'root': (3,), 'segments': (16, 3), 'rotations': (16, 4), 'rows': (4, 8)}
    live.run(30)
    out = live.frame(**{what: np.full(shape.get(what, (8, SELF_ROW)), bad)})
    if bad == 0.0 and what != 'rotations':
        assert out is not None  # a place like any other
    else:
        assert out is None
        live.run(30)
        live.assert_no_jump()


def test_palm_goes_where_the_self_interaction_says(live, tall_character):
    """On a sample point of the puppet's own chest, though nothing of its performer is near."""
    live.run(30)
    bent = live._motion.rotations[live.index].copy()  # of a straight arm only the distance is kept
    bent[SEGMENT_INDEX['left_forearm']] = qb.exp(np.array([0.0, 0.0, -1.8]))
    self_rows = np.zeros((8, SELF_ROW))
    self_rows[:, FIRST_CONTACT + SAMPLE :: CONTACT_WIDTH] = -1.0
    row = self_rows[0]
    row[SELF_IMPORTANCE] = 1.0
    point = 40 * SEGMENT_INDEX['chest'] + 5 * 3  # in the middle of its front
    row[FIRST_CONTACT + SAMPLE], row[FIRST_CONTACT + WEIGHT] = point, 1.0
    for _ in range(60):  # the hand goes there as a hand can
        out = live.settled(self_rows=self_rows, rotations=bent).solution
    samples = surface_samples(tall_character.skeleton, tall_character.capsules)
    goal = samples.reshape(-1, 3)[point]
    chest = SEGMENT_INDEX['chest']
    place = out.p_world[chest] + rotate(out.q_world[chest], goal)
    assert np.linalg.norm(out.end_effectors[0] - place) < 0.01
    row[SELF_IMPORTANCE] = 0.0
    for _ in range(60):
        out = live.settled(self_rows=self_rows, rotations=bent).solution
    place = out.p_world[chest] + rotate(out.q_world[chest], goal)
    assert np.linalg.norm(out.end_effectors[0] - place) > 0.5


def test_live_and_offline_pose_the_same_puppet(live, retarget, procedural, tall_character):
    """They differ by nothing but messages."""
    live.index = -1
    live.run(60)
    offline = retarget(procedural, tall_character).puppet
    np.testing.assert_allclose(live.roots, offline.root_positions[:60], atol=1e-6)


NAMES = tuple(f'joint_{i}' for i in range(45))


def random_last(rng: np.random.Generator) -> LastPosture:
    """Return a posture."""
    rotations = qb.normalize(rng.normal(size=(16, 4)))
    return LastPosture(rng.normal(size=3), rotations, rng.normal(size=45) * 10.0)


def assert_same(found: LastPosture, expected: LastPosture) -> None:
    """Assert that all numbers are equal."""
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)


def test_the_last_one_written_is_read(tmp_path, rng):
    """While the writer lives, and it need not end well."""
    path = tmp_path / 'new' / 'x.posture'
    kept = LastPostureFile(path, NAMES)
    with pytest.raises(FileNotFoundError, match='no posture yet'):
        read_last_posture(path, NAMES, NOW_NS)
    for k in range(5):
        last = random_last(rng)
        kept.write(NOW_NS + k, *last)
        assert_same(read_last_posture(path, NAMES, NOW_NS + k), last)


def test_a_record_that_is_damaged_leaves_the_one_before(tmp_path, rng):
    """Any byte of any record: one of the two is read, or nothing, never a mixture."""
    path = tmp_path / 'x.posture'
    kept = LastPostureFile(path, NAMES)
    first, second = random_last(rng), random_last(rng)
    kept.write(NOW_NS, *first)
    kept.write(NOW_NS, *second)
    whole = path.read_bytes()
    half = 48 + (len(whole) - 48) // 2  # the second one is in the first place
    for at in rng.integers(48, len(whole), 200):
        path.write_bytes(
            whole[:at] + bytes([whole[at] ^ 1 << int(rng.integers(8))]) + whole[at + 1 :]
        )
        assert_same(read_last_posture(path, NAMES, NOW_NS), first if at < half else second)


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        (lambda data: b'', 'a last posture, got other data'),
        (lambda data: b'not one' * 500, 'a last posture, got other data'),
        (lambda data: data[:-8], 'bytes, got'),
        (lambda data: data + b'x', 'bytes, got'),
        (lambda data: data[:48] + b'1' * (len(data) - 48), 'a record with its checksum'),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path, rng, change, text):
    path = tmp_path / 'x.posture'
    LastPostureFile(path, NAMES).write(NOW_NS, *random_last(rng))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputFileError, match=text):
        read_last_posture(path, NAMES, NOW_NS)


def test_other_joints_old_ones_and_nonsense_are_refused(tmp_path, rng):
    path = tmp_path / 'x.posture'
    kept, last = LastPostureFile(path, NAMES), random_last(rng)
    kept.write(NOW_NS, *last)
    with pytest.raises(InputFileError, match='joints of this character, .* got others'):
        read_last_posture(path, NAMES[:-1], NOW_NS)
    for later_s in (MAX_AGE_S + 1.0, -1.0):
        with pytest.raises(InputFileError, match='a posture of the last 24 h'):
            read_last_posture(path, NAMES, NOW_NS + int(later_s * 1e9))
    for name, value in (('root', np.nan), ('rotations', 2.0), ('angles', np.inf)):
        bad = last._replace(**{name: np.full_like(getattr(last, name), value)})
        kept.write(NOW_NS, *bad)
        with pytest.raises(InputFileError, match='finite numbers and unit quaternions'):
            read_last_posture(path, NAMES, NOW_NS)


def test_only_one_node_writes_a_file(tmp_path, rng):
    """Of two graphs with one folder the second keeps none, and the first one's stays."""
    path, last = tmp_path / 'x.posture', random_last(rng)
    kept = LastPostureFile(path, NAMES)
    kept.write(NOW_NS, *last)
    with pytest.raises(OSError, match='one that another node writes'):
        open_last_posture(path, NAMES, NOW_NS)
    kept.write(NOW_NS, *last)
    kept.close()
    assert_same(open_last_posture(path, NAMES, NOW_NS)[1], last)


@pytest.mark.parametrize('kind', ['pipe', 'folder'])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    path = tmp_path / 'x.posture'
    os.mkfifo(path) if kind == 'pipe' else path.mkdir()
    with pytest.raises(InputFileError, match=f'got a .*{kind}'):
        read_last_posture(path, NAMES, NOW_NS)


def test_whips_are_counted_as_reports_count_them(live):
    live.index = 20  # it stands
    live.settled()
    solve, model = live.model._solver.solve, live.model
    wiggle = qb.exp(np.radians([0.0, 20.0, 0.0]))
    knee, start = SEGMENT_INDEX['left_shank'], model.whips
    puppet, performer = [], []

    def snapping(*arguments):
        out = solve(*arguments)
        if len(puppet) in (5, 6, 11):
            out.rotations[knee] = qb.multiply(out.rotations[knee], wiggle)
        performer.append(arguments[2].copy())
        return out

    model._solver.solve = snapping
    for _ in range(20):
        puppet.append(live.frame().solution.rotations.copy())
    whips = smoothness.whips(
        np.array(puppet), np.array(performer), 1.0 / DT_S, np.zeros(20, dtype=bool)
    )
    assert not any(live.eased[-20:])
    assert np.flatnonzero(whips[:, knee]).tolist() == [5, 7, 11, 12]
    assert model.whips - start == whips.sum() == 4


def test_a_change_of_character_is_no_whip(live, short_character):
    live.run(20)
    live.model.configure(short_character, RetargetConfig())
    live.run(300)
    live.frame(step_ns=20_000_000_000)
    live.run(20)
    assert live.model.whips == 0
