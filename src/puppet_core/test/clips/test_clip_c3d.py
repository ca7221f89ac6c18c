# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""C3D: markers of a known motion come back as that motion; units, axes, gaps, bad files."""

from clip_samples import pure_angles_deg, WORLDS
from marker_samples import helen_hayes, marker_motion, plug_in_gait, trajectories
import numpy as np
from puppet_core.clips.load import load_clip, read_clip
from puppet_core.clips.options import ClipOptions, UNITS_M
from puppet_core.io import ConfigError, InputFileError, PuppetError
import pytest

pytestmark = pytest.mark.slow

ezc3d = pytest.importorskip('ezc3d', reason='ezc3d, an optional package, is not installed')
POSITION_TOL_M = 1e-3  # asked for; the file has 32-bit numbers


@pytest.fixture
def motion(rng):
    return marker_motion(rng)


@pytest.fixture
def write(tmp_path, motion):
    path = tmp_path / 'sample.c3d'

    def write_file(
        worn=None, unit='mm', prefix='', change=None, y_screen='+Z', world=None, actual=None
    ):
        worn = plug_in_gait() if worn is None else worn
        points = trajectories(motion, worn)
        if world is None:
            world = y_screen.lower().lstrip('+') or 'z'
        points = WORLDS[world].apply(points.reshape(-1, 3)).reshape(points.shape)
        if change is not None:
            change(points, list(worn))
        content = ezc3d.c3d()
        values = np.ones((4, len(worn), len(points)))
        values[:3] = points.transpose(2, 1, 0) / UNITS_M[actual or unit]
        content['parameters']['POINT']['RATE']['value'] = [motion.rate_hz]
        content['parameters']['POINT']['LABELS']['value'] = [prefix + name for name in worn]
        content['parameters']['POINT']['UNITS']['value'] = [unit]
        content['data']['points'] = values
        if y_screen:
            content.add_parameter('POINT', 'Y_SCREEN', [y_screen])
        content['parameters']['ANALOG']['RATE']['value'] = [2.0 * motion.rate_hz]
        content['parameters']['ANALOG']['LABELS']['value'] = ['Fz']
        content['data']['analogs'] = np.ones((1, 1, 2 * len(points)))
        content.write(str(path))
        return path

    return write_file


def gaps(motion, loaded):
    """Return the distances between joints, shape (n, 16) [m]."""
    return np.linalg.norm(loaded.world_segments()[1] - motion.world_segments()[1], axis=2)


def test_plug_in_gait_gives_the_motion(write, motion):
    loaded = load_clip(write(prefix='Anna:'))
    assert gaps(motion, loaded).max() < POSITION_TOL_M
    # No marker shows the twist of the spine's lower half.
    shown = [k for k in range(16) if k != 1]
    q_loaded, q_world = (m.world_segments()[0][:, shown] for m in (loaded, motion))
    assert pure_angles_deg(q_loaded, q_world).max() < 0.1
    np.testing.assert_allclose(
        loaded.skeleton.offsets, motion.skeleton.offsets, atol=POSITION_TOL_M
    )
    assert loaded.rate_hz == motion.rate_hz


def test_helen_hayes_gives_hips_legs_and_arms(write, motion):
    loaded = load_clip(write(helen_hayes()))
    assert gaps(motion, loaded)[:, [0, *range(10, 16)]].max() < POSITION_TOL_M
    # Elbows and knees are the file's own, though without markers on the trunk the shoulders
    # are not where the body has them.
    own = np.linalg.norm(loaded.end_effectors - motion.end_effectors, axis=2)
    assert own[:, 4:].max() < POSITION_TOL_M
    assert gaps(motion, loaded).max() < 0.06


@pytest.mark.parametrize(('unit', 'y_screen'), [('m', '+Z'), ('in', '')])
def test_unit_and_vertical_are_the_files(write, motion, unit, y_screen):
    read = read_clip(write(unit=unit, y_screen=y_screen))
    assert gaps(motion, read.motion).max() < POSITION_TOL_M
    says = 'POINT:Y_SCREEN' if y_screen else 'the trunk stands along it'
    assert f'names of plug_in_gait; unit {unit} (POINT:UNITS); up ' in read.text
    assert says in read.text


@pytest.mark.parametrize('world', ['y', '-x', '-z'])
def test_any_axis_can_be_up(write, motion, world):
    sign = '' if world.startswith('-') else '+'
    for y_screen in (sign + world.upper(), ''):
        read = read_clip(write(y_screen=y_screen, world=world))
        assert gaps(motion, read.motion).max() < POSITION_TOL_M
        assert read.up_axis.value == world
        assert read.up_axis.is_sure == (y_screen != '' or world[-1] != 'x')
    given = load_clip(path=write(y_screen='', world=world), options=ClipOptions(up_axis=world))
    assert gaps(motion, given).max() < POSITION_TOL_M


def test_a_screen_that_shows_a_body_on_its_head_is_to_be_checked(write):
    read = read_clip(write(y_screen='-Z', world='z'))
    assert read.up_axis == ('-z', 'POINT:Y_SCREEN; the trunk stands along z', False)


@pytest.mark.parametrize(('says', 'name'), [('m', 'millimetres'), ('mm', 'metres')])
def test_a_unit_that_gives_no_human_is_not_believed(write, motion, says, name):
    read = read_clip(write(unit=says, actual={'m': 'mm', 'mm': 'm'}[says]))
    assert read.unit.value == name
    assert f'unit {name} (POINT:UNITS says {says}; stature about 1.' in read.text
    assert gaps(motion, read.motion).max() < POSITION_TOL_M


def hide(marker, start, stop):
    """Return a change that takes a marker away for some frames."""

    def change(points, names):
        points[start:stop, names.index(marker)] = np.nan

    return change


def test_long_gaps_end_the_clip_and_are_reported(write, motion):
    read = read_clip(write(change=hide('LKNE', 10, 40)))
    assert read.motion.n_frames == motion.n_frames - 40
    assert 'frames 41 to 80 of 80: elsewhere markers are missing for more' in read.text
    own = motion.world_segments()[1][-read.motion.n_frames :]
    np.testing.assert_allclose(read.motion.world_segments()[1], own, atol=POSITION_TOL_M)


def test_missing_markers_are_named(write):
    worn = {name: row for name, row in plug_in_gait().items() if name not in ('LTHI', 'T10')}
    path = write(worn)
    with pytest.raises(InputFileError) as caught:
        load_clip(path)
    text = str(caught.value)
    assert 'POINT:LABELS: expected the markers of plug_in_gait, got none for T10, LTHI' in text
    assert 'markers here: LASI, RASI' in text
    with pytest.raises(ConfigError, match='expected one of helen_hayes, plug_in_gait, or'):
        load_clip(path, options=ClipOptions(marker_set='mine'))


def test_any_damage_is_an_input_error_or_none(write):
    random = np.random.default_rng(6)
    path = write()
    whole = path.read_bytes()
    lengths = [0, 100, 511, 600, len(whole) // 2]
    files = [whole[:length] for length in lengths]
    for _ in range(3):
        data = bytearray(whole)
        for place in random.integers(0, 2000, 4):
            data[place] = random.integers(256)
        files.append(bytes(data))
    n_refused = 0
    for data in files:
        path.write_bytes(data)
        try:
            clip = load_clip(path)
        except PuppetError as err:
            assert str(path) in str(err)
            n_refused += 1
            continue
        assert np.isfinite(clip.rotations).all()
    assert n_refused >= len(lengths) - 1


def test_an_absurd_frame_count_costs_no_memory(write):
    path = write()
    data = bytearray(path.read_bytes())
    data[2:4] = b'\xff\x7f'
    data[8:10] = b'\xfe\x7f'
    path.write_bytes(bytes(data))
    with pytest.raises(InputFileError, match='header: expected a whole C3D file'):
        load_clip(path)
