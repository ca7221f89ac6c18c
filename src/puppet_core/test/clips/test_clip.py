# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Loading a clip: by suffix, with skeleton, map and options; its discontinuities."""

from clip_conventions import convention_text, CONVENTIONS, Style
from clip_samples import file_text, Habit, SMALL_AMC, SMALL_ASF, SMALL_BVH, wave_motion
import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENT_INDEX, SEGMENTS
from puppet_core.clips.load import describe_discontinuities, load_clip, read_clip, read_clip_file
from puppet_core.clips.options import ClipOptions
from puppet_core.io import ConfigError, InputFileError, PuppetError
import pytest
from scipy.spatial.transform import Rotation


@pytest.fixture
def path(tmp_path, rng, adult_character):
    path = tmp_path / 'Sample.BVH'
    path.write_text(file_text(wave_motion(adult_character.skeleton, rng), Habit()))
    return path


def test_the_suffix_decides_without_case(path):
    assert load_clip(path).n_frames == 80
    assert load_clip(str(path)).n_frames == 80


def test_unit_and_rate_can_be_overridden(path):
    metres = load_clip(path, options=ClipOptions(unit_m=0.001, rate_hz=25.0))
    assert metres.rate_hz == 25.0
    assert metres.skeleton.leg_length == pytest.approx(0.1 * load_clip(path).skeleton.leg_length)


def test_a_map_can_be_a_file(path, tmp_path, rng, adult_character):
    names = {segment: f'gelenk_{i}' for i, segment in enumerate(SEGMENTS)}
    path.write_text(file_text(wave_motion(adult_character.skeleton, rng), Habit(names=names)))
    assert 'names of no known program; ' in read_clip(path).text
    map_path = tmp_path / 'map.yaml'
    rows = '\n'.join(f'  {segment}: {name}' for segment, name in names.items())
    map_path.write_text(f'format: puppet-name-map/1\njoints:\n{rows}\n')
    assert 'names of map; ' in read_clip(path, name_map=map_path).text


def test_an_unknown_map_is_refused(path):
    with pytest.raises(ConfigError, match="name_map: expected one of puppet, .* got 'bip'"):
        load_clip(path, name_map='bip')
    with pytest.raises(InputFileError, match=r'none\.yaml: expected a readable file'):
        load_clip(path, name_map='none.yaml')


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(InputFileError, match=r'walk\.dae: expected a \.bvh or .* or \.npz file'):
        load_clip(tmp_path / 'walk.dae')


def test_an_amc_without_its_skeleton_says_which_may_be_meant(tmp_path):
    (tmp_path / 'clip.amc').write_text(SMALL_AMC)
    with pytest.raises(InputFileError, match=r'clip\.amc: expected the \.asf skeleton .* --asf$'):
        load_clip(tmp_path / 'clip.amc')
    (tmp_path / 'body.asf').write_text(SMALL_ASF)
    with pytest.raises(InputFileError, match=r'--asf; beside the motion there is body\.asf'):
        load_clip(tmp_path / 'clip.amc')


def test_a_bvh_needs_no_asf(path):
    with pytest.raises(ConfigError, match='asf: expected none with a .bvh file'):
        load_clip(path, asf='body.asf')


@pytest.mark.parametrize('changed', ['body.bvh', 'body.asf', 'body.amc'])
def test_any_damage_is_an_input_error_or_none(tmp_path, changed):
    texts = {'body.bvh': SMALL_BVH, 'body.asf': SMALL_ASF, 'body.amc': SMALL_AMC}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    clip = tmp_path / ('body.bvh' if changed.endswith('bvh') else 'body.amc')
    random = np.random.default_rng(5)
    words = '\0 } { nan - JOINT \xff . \n end begin root leg : #'.split(' ') + [' ', '9' * 30]
    for _ in range(200):
        data = bytearray(texts[changed].encode())
        for _ in range(random.integers(1, 4)):
            start = int(random.integers(len(data)))
            word = words[random.integers(len(words))].encode('latin-1')
            data[start : start + int(random.integers(4))] = word
        (tmp_path / changed).write_bytes(data)
        try:
            read = read_clip_file(clip, tmp_path / 'body.asf' if clip.suffix == '.amc' else None)
        except PuppetError:
            continue
        assert np.isfinite(read.rotations).all() and np.isfinite(read.translations).all()


@pytest.fixture
def motion(rng, adult_character):
    """Return a whole motion: the sample up to where it begins to stand, with a jump."""
    wave = wave_motion(adult_character.skeleton, rng)
    return Motion.from_rotations(
        wave.skeleton, wave.rate_hz, wave.root_positions[:50], wave.rotations[:50]
    )


def torn(motion, *frames):
    """Return the motion with the left thigh turned by 90 degrees in some frames."""
    rotations, thigh = np.array(motion.rotations), SEGMENT_INDEX['left_thigh']
    for frame in frames:
        own = Rotation.from_quat(rotations[frame, thigh][[1, 2, 3, 0]])
        turned = own * Rotation.from_euler('x', 90.0, degrees=True)
        rotations[frame, thigh] = turned.as_quat()[[3, 0, 1, 2]]
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, motion.root_positions, rotations)


def test_a_whole_motion_has_none(motion):
    assert describe_discontinuities(motion) is None


@pytest.mark.parametrize(
    ('frames', 'others'), [((40,), ''), ((40, 41), ''), ((10, 40, 41), ' and in another place')]
)
def test_frames_segment_and_speed_are_named(tmp_path, motion, rng, frames, others):
    broken = torn(motion, *frames)
    foot = broken.world_segments()[1][:, SEGMENT_INDEX['left_foot']]
    steps = np.linalg.norm(np.diff(foot, axis=0), axis=1) * motion.rate_hz
    at = int(np.argmax(steps))
    first, last = (40, frames[-1] + 2) if at > 30 else (10, 12)
    text = f'discontinuity in frames {first} to {last}: left_foot at {steps[at]:.0f}'
    assert describe_discontinuities(broken).startswith(text)
    assert describe_discontinuities(broken).endswith(f'm/s, which no body reaches{others}')
    path = tmp_path / 'a.bvh'
    path.write_text(convention_text(broken, CONVENTIONS['mixamo'], rng))
    assert read_clip(path).text.count(f'; {text[:40]}') == 1


@pytest.mark.parametrize(
    ('row', 'column', 'name', 'most'),
    [
        (40, 0, 'mixamorig:Hips', '17.2'),
        (40, 2, 'mixamorig:Hips', '17.2'),
        (9, 7, 'mixamorig:Spine', '0.86'),
    ],
)
def test_positions_out_of_range_name_file_frame_and_joint(
    tmp_path, motion, rng, row, column, name, most
):
    path = tmp_path / 'leap.bvh'
    rows = convention_text(motion, CONVENTIONS['mixamo'], rng, Style(six_dof=True)).split('\n')
    first = next(i for i, line in enumerate(rows) if line.startswith('Frame Time')) + 1
    words = rows[first + row].split()
    words[column] = str(float(words[column]) + 20000.0)
    rows[first + row] = ' '.join(words)
    path.write_text('\n'.join(rows))
    wanted = f'{path}: {name} position: expected at most {most} m from frame to frame, got 200'
    with pytest.raises(InputFileError, match=f'{wanted}.* m from frame {row} to {row + 1}'):
        load_clip(path)


def test_a_body_that_floats_is_reported(tmp_path, motion, rng):
    high = motion.root_positions + np.linspace(0.0, 3.0, motion.n_frames)[:, None] * [
        0.0,
        0.0,
        1.0,
    ]
    floating = Motion.from_rotations(motion.skeleton, motion.rate_hz, high, motion.rotations)
    path = tmp_path / 'a.bvh'
    path.write_text(convention_text(floating, CONVENTIONS['mixamo'], rng))
    assert 'soles over 0.12 m above the floor in 9' in read_clip(path).text
