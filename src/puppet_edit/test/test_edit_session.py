# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""An editing session without a browser: drags, undo, and the file that `edit` reads."""

from edit_samples import FULL_FILE, NO_READERS, plan_of, walk
import numpy as np
from puppet_core.io import InputFileError
from puppet_edit.edit_file import BodyTrack, load_edit_tree
from puppet_edit.edit_session import drag_options, EditSession, KNOTS_REACHED, POINTS, warm_up
from puppet_edit.editor import constraint_kernels, pose_solver_kernels
from puppet_edit.editor.constraints import BodyPoint, EditConfig, PointGoal
from puppet_edit.editor.motion_edit import edit_motion
from puppet_edit.scene import cut
import pytest

KERNELS = (
    constraint_kernels.displace,
    pose_solver_kernels.item_errors,
    pose_solver_kernels.solve_frames,
)


def test_nothing_is_left_to_compile():
    warm_up(walk())
    counts = [len(kernel.signatures) for kernel in KERNELS]
    plan = plan_of(FULL_FILE)
    edit_motion(plan.motion, plan.constraints, plan.config)
    assert [len(kernel.signatures) for kernel in KERNELS] == counts


def test_a_clip_of_one_frame_is_enough():
    warm_up(cut(walk(), 0, 1))


def test_a_drag_reaches_no_farther_than_seven_knots():
    hand, foot = BodyPoint.named('left_hand'), BodyPoint.named('right_foot')
    at, before = np.array([30]), BodyTrack(walk())
    goal = PointGoal(at, hand, before.places(hand, at) + [0.05, 0.1, 0.15])
    held = PointGoal(at, foot, before.places(foot, at), keep_orientation=True)
    config = EditConfig(**drag_options(0.5, walk()))
    after = edit_motion(walk(), [goal, held], config).motion
    assert np.allclose(BodyTrack(after).places(hand, at), goal.goals, atol=1e-4)
    assert np.allclose(BodyTrack(after).places(foot, at), held.goals, atol=1e-4)
    changed = np.flatnonzero(np.abs(after.rotations - walk().rotations).max(axis=(1, 2)) > 1e-12)
    reach = 0.5 * KNOTS_REACHED * config.frames_per_knot + config.frames_per_knot
    assert 30 - reach <= changed[0] < 30 < changed[-1] <= 30 + reach
    assert len(changed) < walk().n_frames


FRAME = 30
UP = np.array([0.05, 0.0, 0.15])


@pytest.fixture
def session(tmp_path):
    return EditSession(walk(), NO_READERS, path=tmp_path / 'edit.yaml')


@pytest.mark.parametrize('point', POINTS)
def test_dragged_point_is_where_it_was_put(session, point):
    np.testing.assert_allclose(session.place('pelvis', 7), session.clip.root_positions[7])
    place = session.place(point, FRAME) + 0.3 * UP
    session.drag(point, FRAME, place)
    np.testing.assert_allclose(session.place(point, FRAME), place, atol=1e-4)


def test_held_feet_stay_while_the_pelvis_is_lowered(session):
    feet = session.standing_feet(FRAME)
    assert feet
    before = {name: session.place(name, FRAME) for name in feet}
    session.drag('pelvis', FRAME, session.place('pelvis', FRAME) - [0.0, 0.0, 0.08], feet)
    for name, place in before.items():
        np.testing.assert_allclose(session.place(name, FRAME), place, atol=1e-3)


def test_second_drag_takes_the_place_of_the_first(session):
    start = session.place('left_hand', FRAME)
    session.drag('left_hand', FRAME, start + UP)
    session.drag('left_hand', FRAME, start - UP, ['right_foot'])
    session.drag('left_hand', FRAME, start + 0.5 * UP, ['right_foot'])
    assert [entry.about for entry in session.entries] == ['right_foot', 'left_hand']
    np.testing.assert_allclose(session.place('left_hand', FRAME), start + 0.5 * UP, atol=1e-4)


def test_undo_and_redo_go_through_all_steps(session):
    texts, motions = [session.to_yaml()], [session.edited]
    for step, point in enumerate(('left_hand', 'right_hand', 'head')):
        session.drag(point, FRAME + step, session.place(point, FRAME + step) + 0.3 * UP)
        texts.append(session.to_yaml())
        motions.append(session.edited)
    for expected in (2, 1, 0, 0):
        session.undo()
        assert session.to_yaml() == texts[expected] and session.edited is motions[expected]
    for expected in (1, 2, 3, 3):
        session.redo()
        assert session.to_yaml() == texts[expected] and session.edited is motions[expected]
    session.undo()
    session.drag('left_foot', 3, session.place('left_foot', 3) + 0.1 * UP)
    assert len(session.entries) == 3


def test_removed_entry_is_as_if_never_made(session):
    session.drag('left_hand', FRAME, session.place('left_hand', FRAME) + UP)
    wanted = session.edited.end_effectors
    session.drag('right_hand', 40, session.place('right_hand', 40) + UP)
    session.remove(1)
    np.testing.assert_array_equal(session.edited.end_effectors, wanted)


def test_what_is_refused_leaves_all_as_it_was(session):
    session.drag('left_foot', 10, session.place('left_foot', 10))
    text = session.to_yaml()
    with pytest.raises(InputFileError, match='frame: expected a frame 0 .. 59'):
        session.drag('left_hand', 60, UP)
    with pytest.raises(InputFileError, match='position: expected one of left_hand'):
        session.drag('nose', 3, UP)
    with pytest.raises(InputFileError, match='a place in metres'):
        session.drag('left_hand', 3, 1000.0 * UP)
    assert session.to_yaml() == text


def test_saved_file_goes_on_in_another_session(session):
    session.drag('left_hand', FRAME, session.place('left_hand', FRAME) + UP)
    session.drag('right_foot', 40, session.place('right_foot', 40) + UP)
    session.save()
    assert session.is_saved
    again = EditSession(session.clip, NO_READERS, load_edit_tree(session.path), session.path)
    assert again.to_yaml() == session.to_yaml() and again.is_saved and not again.can_undo
    np.testing.assert_array_equal(again.edited.rotations, session.edited.rotations)
    again.drag('head', 20, again.place('head', 20) + 0.2 * UP)
    assert len(again.entries) == 3 and not again.is_saved
