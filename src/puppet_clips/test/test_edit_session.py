# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""An editing session without a browser: drags, undo, and the file that `edit` reads."""

from edit_samples import walk as sample_walk
import numpy as np
from puppet_core.io import ConfigError, InputFileError
from puppet_edit.edit_file import load_edit_tree
from puppet_edit.edit_session import EditSession, POINTS
from puppet_view.browser.played_page import Playback
import pytest

FRAME = 30
UP = np.array([0.05, 0.0, 0.15])


@pytest.fixture
def session(tmp_path):
    return EditSession(sample_walk(), path=tmp_path / 'edit.yaml')


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
    with pytest.raises(ConfigError, match='entry: expected 0 .. 0, got 1'):
        session.remove(1)


def test_contradiction_leaves_all_as_it_was(session):
    session.drag('left_foot', 10, session.place('left_foot', 10))
    session.drag('left_foot', 14, session.place('left_foot', 14) + UP)
    text = session.to_yaml()
    with pytest.raises(InputFileError, match='one place while line'):
        session.plant('left_foot', 8, 16)
    for point, frame in (('left_hand', 60), ('left_hand', -1)):
        with pytest.raises(ConfigError, match='frame: expected 0 .. 59'):
            session.drag(point, frame, UP)
    with pytest.raises(InputFileError, match='position: expected one of left_hand'):
        session.drag('nose', 3, UP)
    with pytest.raises(InputFileError, match='a place in metres'):
        session.drag('left_hand', 3, 1000.0 * UP)
    assert session.to_yaml() == text


def test_saved_file_goes_on_in_another_session(session):
    session.drag('left_hand', FRAME, session.place('left_hand', FRAME) + UP)
    session.plant('right_foot', 40, 45)
    session.save()
    assert session.is_saved
    again = EditSession(session.clip, load_edit_tree(session.path), session.path)
    assert again.to_yaml() == session.to_yaml() and again.is_saved and not again.can_undo
    np.testing.assert_array_equal(again.edited.rotations, session.edited.rotations)
    again.drag('head', 20, again.place('head', 20) + 0.2 * UP)
    assert len(again.entries) == 3 and not again.is_saved


def test_time_runs_stands_and_begins_again():
    playback = Playback(60, 30.0)
    assert playback.step(1.0) == 0
    playback.is_playing = True
    assert playback.step(0.5) == 15 and playback.time_s == 0.5
    playback.speed = 2.0
    assert playback.step(0.5) == 45
    assert playback.step(0.5) == 15
    playback.seek(99)
    assert playback.frame == 59
    playback.n_frames = 20
    playback.seek(playback.frame)
    assert playback.frame == 19
