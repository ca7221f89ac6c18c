# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip enhance: files and report of good runs, pictures, and bad input."""

import json
import shlex

from benchmarks.enhance import FIST_M, fist_motion, fist_take
import numpy as np
from PIL import Image
from puppet_core import named_files
from puppet_core.body.skeleton import GENERAL_END_EFFECTORS
from puppet_core.clips.bvh import write_bvh
from puppet_core.clips.load import load_clip
from puppet_core.clips.options import ClipOptions
from puppet_edit import command_enhance
import pytest

pytestmark = pytest.mark.ros

AS_WRITTEN = ClipOptions(correct=False)
MEETS = ('--meet', f'left_hand,right_hand:{FIST_M}')


@pytest.fixture(scope='session')
def session(performer, tmp_path_factory):
    folder = tmp_path_factory.mktemp('session')
    take = fist_take(fist_motion(performer.skeleton, 20.0), 1)
    write_bvh(take.motion, folder / 'take.bvh')
    names = [f'{GENERAL_END_EFFECTORS[k]}_{axis}_m' for k in (0, 1) for axis in 'xyz']
    lines = [','.join(['frame', *names])]
    for frame, row in enumerate(take.targets.positions[:, :2].reshape(-1, 6)):
        lines.append(','.join([str(frame), *(f'{value:.9f}' for value in row)]))
    (folder / 'hands.csv').write_text('\n'.join(lines) + '\n')
    return folder


@pytest.fixture
def enhance(run, session, tmp_path):
    """Return a function that enhances the take by its hands, or what else is given."""

    def call(*words):
        targets = () if '--targets' in words else ('--targets', session / 'hands.csv')
        return run('enhance', session / 'take.bvh', tmp_path / 'o.bvh', *targets, *words)

    return call


def measured_palms(session):
    """Return what the file of targets has, shape (n, 2, 3) [m]."""
    table = np.loadtxt(session / 'hands.csv', delimiter=',', skiprows=1)
    return table[:, 1:].reshape(-1, 2, 3)


@pytest.mark.parametrize(
    'options',
    [(), ('--detail-s', '0'), ('--channels', 'euler', '--only-keyframes')],
    ids=['default', 'the paper', 'euler'],
)
def test_written_clip_has_its_fists_where_they_met(enhance, session, tmp_path, options):
    """Issue 6: exact at keyframes, within 0.1 mm, in the file that is written."""
    out, report = tmp_path / 'o.bvh', tmp_path / 'r.json'
    keys = ('--keyframes', '0,15,30,45,60,75')
    done = enhance(*keys, '--report', report, *MEETS, *options)
    assert done.code == 0, done.err
    assert done.out.startswith(f'{out}: 91 frames; left_hand, right_hand; at 7 keyframes ')
    palms = load_clip(out, options=AS_WRITTEN).end_effectors[:, :2]
    gaps = np.linalg.norm(palms[:, 0] - palms[:, 1], axis=-1)
    assert np.all(np.abs(gaps[[15, 45, 75]] - FIST_M) < 1e-4)
    keys = [0, 30, 60, 90]
    assert np.max(np.abs(palms[keys] - measured_palms(session)[keys])) < 1e-4
    figures = json.loads(report.read_text())
    assert [key['frame'] for key in figures['keyframes']] == [0, 15, 30, 45, 60, 75, 90]
    assert figures['meetings'][0]['frames'] == [15, 45, 75]
    assert figures['meetings'][0]['error_mm_max']['after'] < 0.1
    errors = figures['error_mm']['all']
    assert errors['at_keyframes']['after']['max'] < 0.1 < errors['at_keyframes']['before']['max']
    if not options:
        assert errors['between']['after']['rms'] < errors['between']['before']['rms']


def test_another_clip_gives_its_palms(enhance, performer, tmp_path):
    """At another rate too: the truth itself is the measurement."""
    truth = fist_motion(performer.skeleton, 40.0).motion
    write_bvh(truth, tmp_path / 'truth.bvh')
    hands = ('--end-effectors', 'left_hand,right_hand')
    done = enhance('--targets', tmp_path / 'truth.bvh', *hands, '--keyframes', '15,45')
    assert done.code == 0, done.err
    palms = load_clip(tmp_path / 'o.bvh', options=AS_WRITTEN).end_effectors[:, :2]
    keys = np.array([0, 15, 45, 90])
    assert np.max(np.abs(palms[keys] - truth.end_effectors[2 * keys, :2])) < 1e-4


def test_online_follows_in_every_frame(enhance, tmp_path):
    report = tmp_path / 'r.json'
    done = enhance('--method', 'online', '--weight', '0.999999', '--report', report)
    assert done.code == 0 and 'in every frame' in done.out
    figures = json.loads(report.read_text())
    assert figures['keyframes'] == [] and figures['weight'] == 0.999999
    assert figures['error_mm']['all']['between']['after']['max'] < 0.1
    assert figures['error_mm']['all']['at_keyframes']['after']['max'] is None


def test_preview_shows_both_rows(enhance, tmp_path, monkeypatch):
    monkeypatch.setattr('puppet_clips.edit_pictures.INSTANTS', 2)
    picture = tmp_path / 'p.png'
    done = enhance('--preview', picture)
    assert done.code == 0, done.err
    pixels = np.asarray(Image.open(picture)).astype(int)
    # two rows of pictures, and bands for their labels
    assert pixels.shape[1] == 2 * 320 + 4 and 0 < pixels.shape[0] - (2 * 360 + 4) < 100
    middle = len(pixels) // 2
    red = (pixels[..., 0] > 120) & (pixels[..., 1] < 60) & (pixels[..., 2] < 60)
    # the cubes stand free before, and are in the hands after
    assert red[:middle].sum() > 1.2 * red[middle:].sum() > 0


def test_example_of_the_help_runs_on_the_sample(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'data').symlink_to(named_files.DATA)
    words = shlex.split(command_enhance.EXAMPLE.removeprefix('example: ./puppet '))
    assert run(*words).code == 0
    assert (tmp_path / 'better.bvh').is_file() and (tmp_path / 'report.json').is_file()


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (('--targets', 'no.csv'), 'no.csv: expected a readable CSV file, got No such file'),
        (('--targets', 'x.txt'), 'x.txt: expected one of .csv, .yaml, .yml, .bvh'),
        (('--keyframes', '0,x'), '--keyframes: expected auto or frames with commas between'),
        (('--meet', 'left_hand'), '--meet: expected A,B or A,B:METRES'),
        (('--meet', 'left_hand,left_foot'), 'expected end-effectors with targets, got left_foot'),
        (('--end-effectors', 'left_foot'), "expected some of left_hand, right_hand, got 'left_f"),
        (('--weight', '1'), 'weight: expected 0.0 <= value < 1.0, got 1.0'),
        (('--most-s', 'inf'), 'keyframe spacing: expected 0 < least <= most <= 10000'),
        (('--targets-start-s', '1'), '--targets-start-s: expected a clip as --targets with it'),
        (('--tolerance-mm', '-1'), '--tolerance-mm: expected 0 <= value'),
        (('--preview', 'p.jpg'), '--preview: expected a .png file'),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, tuple) else '',
)
def test_bad_input_is_named_and_nothing_written(enhance, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    done = enhance(*words)
    assert done.code == 2 and done.out == ''
    assert len(done.err.splitlines()) == 1 and says in done.err
    assert not list(tmp_path.iterdir())


def test_targets_of_another_place_or_none_are_refused(enhance, run, session, tmp_path):
    text = 'format: puppet-targets/1\npositions:\n  - {frame: 0, left_hand: [9, 0, 1]}\n'
    (tmp_path / 't.yaml').write_text(text)
    done = enhance('--targets', tmp_path / 't.yaml')
    assert done.code == 2 and 'of the same body in the same world, got a median' in done.err
    done = run('enhance', session / 'take.bvh', tmp_path / 'o.bvh')
    assert done.code == 2 and '--targets: expected positions that differ from those' in done.err
