# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""glTF and FBX scenes give the motion of the BVH file with the same joints."""

import base64
import json

from clip_conventions import convention_text, CONVENTIONS
from clip_samples import assert_same_motion, pure_angles_deg, wave_motion
import numpy as np
from puppet_core.body.skeleton import SEGMENTS
from puppet_core.clips.bvh import read_bvh
from puppet_core.clips.load import load_clip, read_clip
from puppet_core.clips.options import ClipOptions
from puppet_core.io import ConfigError, InputFileError
import pytest
from scene_samples import fbx, glb, nodes_of

pytestmark = pytest.mark.slow

FLOAT32 = {'angle_deg': 0.01, 'position_m': 1e-4}


@pytest.fixture
def bvh(tmp_path, rng, adult_character):
    path = tmp_path / 'walk.bvh'
    motion = wave_motion(adult_character.skeleton, rng, n_frames=81)
    path.write_text(convention_text(motion, CONVENTIONS['mixamo'], rng))
    return path


def written(bvh, rng, **options):
    """Return a GLB beside a BVH, with the same motion."""
    path = bvh.with_suffix('.glb')
    path.write_bytes(glb(nodes_of(read_bvh(bvh), rng), **options))
    return path


def test_a_skinned_glb_is_the_bvh(bvh, rng):
    read = read_clip(written(bvh, rng))
    assert_same_motion(load_clip(bvh), read.motion, **FLOAT32)
    assert read.motion.rate_hz == pytest.approx(load_clip(bvh).rate_hz)
    assert 'unit metres' in read.text and 'up y (head over feet' in read.text


def test_without_a_binding_the_bones_are_as_long(bvh, rng):
    bound, free = (
        load_clip(written(bvh, rng, is_bound=is_bound)).skeleton.offsets
        for is_bound in (True, False)
    )
    limbs = [i for i, name in enumerate(SEGMENTS) if name.endswith(('forearm', 'shank', 'foot'))]
    lengths = [np.linalg.norm(offsets[limbs], axis=1) for offsets in (bound, free)]
    np.testing.assert_allclose(*lengths, atol=1e-4)


def test_a_gltf_has_its_buffers_beside_or_inside(bvh, rng):
    data = written(bvh, rng).read_bytes()
    end = 20 + int.from_bytes(data[12:16], 'little')
    document, blob = json.loads(data[20:end]), data[end + 8 :]
    path = bvh.with_suffix('.gltf')
    bvh.with_name('my walk.bin').write_bytes(blob)
    for uri in (
        'my%20walk.bin',
        'data:application/octet-stream;base64,' + base64.b64encode(blob).decode(),
    ):
        document['buffers'][0]['uri'] = uri
        path.write_text(json.dumps(document))
        assert_same_motion(load_clip(bvh), load_clip(path), **FLOAT32)


def test_keys_may_be_thin_held_or_splines(bvh, rng):
    whole = load_clip(bvh)
    every = load_clip(written(bvh, rng, thin=2), options=ClipOptions(rate_hz=whole.rate_hz))
    turns = [motion.world_segments()[0] for motion in (whole, every)]
    off = pure_angles_deg(*turns).reshape(-1, 16)
    assert off[::2].max() < 0.01 and 0.01 < off[1:49:2].max() < 3.0
    for kind in ('STEP', 'CUBICSPLINE'):  # at the keys both are the keys
        assert_same_motion(whole, load_clip(written(bvh, rng, kind=kind)), **FLOAT32)


def test_the_longest_animation_is_read_unless_one_is_named(bvh, rng):
    path = written(bvh, rng, names=('Walk', 'Wave'))
    read = read_clip(path)
    assert 'animations: Walk, Wave' in read.notes
    still = load_clip(path, options=ClipOptions(animation='Wave'))
    assert np.ptp(still.rotations[:, 1:], axis=0).max() < 1e-6 < np.ptp(read.motion.rotations)
    with pytest.raises(ConfigError, match="--animation: expected one of Walk, Wave, got 'Run'"):
        read_clip(path, options=ClipOptions(animation='Run'))


def test_a_damaged_glb_is_refused(bvh, rng):
    path = written(bvh, rng)
    data = path.read_bytes()
    for cut in (0, 10, 100, len(data) // 2, len(data) - 200):
        path.write_bytes(data[:cut])
        with pytest.raises(InputFileError, match='expected a whole glTF'):
            load_clip(path)
    for _ in range(60):
        broken = bytearray(data)
        broken[int(rng.integers(20, 5000))] = int(rng.integers(0, 256))
        path.write_bytes(broken)
        try:
            load_clip(path)
        except InputFileError:
            pass


@pytest.mark.parametrize('unit_m', [0.01, 1.0])
def test_an_fbx_is_the_bvh(bvh, rng, unit_m):
    pytest.importorskip('ufbx')
    path = bvh.with_suffix('.fbx')
    path.write_text(fbx(nodes_of(read_bvh(bvh), rng, unit_m), unit_m))
    read = read_clip(path)
    assert_same_motion(load_clip(bvh), read.motion, **FLOAT32)
    assert f'unit {"metres" if unit_m == 1.0 else "centimetres"}' in read.text
    path.write_text(path.read_text()[:3000])
    with pytest.raises(InputFileError, match='expected a whole FBX file'):
        load_clip(path)


def test_without_ufbx_an_fbx_says_what_to_install(bvh, monkeypatch):
    folder = bvh.parent / 'without'
    folder.mkdir()
    (folder / 'ufbx.py').write_text('raise ImportError\n')
    monkeypatch.syspath_prepend(folder)
    path = bvh.with_suffix('.fbx')
    path.write_bytes(b'Kaydara FBX Binary  ')
    with pytest.raises(ConfigError, match='expected the package ufbx, .* pip install ufbx'):
        load_clip(path)
