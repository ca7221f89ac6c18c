# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Reader of animated scenes: glTF 2.0 (.glb, .gltf), and FBX through ufbx, an optional dependency.

Both are trees of nodes with a place, a rotation and a scale that animations move; what is drawn
is passed over. A clip's joints are the nodes of skins, else the bones, else what moves, and what
is between them. They rest as the skin was bound, else as without animation, and there their axes
are made the world's, as those of a BVH file are. Of several animations the longest is read.
"""

from base64 import b64decode
from collections.abc import Sequence
import json
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.options import ClipOptions
from puppet_core.clips.reading import read_bytes, read_isolated, refuse_damage
from puppet_core.io import ConfigError
from puppet_core.math import Floats, frozen, Ints
from puppet_core.math.quaternions import from_matrix, multiply, normalize, rotate, slerp

MAX_NODE_FRAMES = 4_000_000
_PARTS = {'translation': slice(0, 3), 'rotation': slice(3, 7), 'scale': slice(7, 10)}
_COMPONENTS = {5120: 'i1', 5121: 'u1', 5122: '<i2', 5123: '<u2', 5125: '<u4', 5126: '<f4'}
_WIDTHS = {'SCALAR': 1, 'VEC3': 3, 'VEC4': 4, 'MAT4': 16}
_FEW_HZ, _USUAL_HZ = 10.0, 30.0  # keys set by hand are farther apart than frames


class Scene(NamedTuple):
    """The nodes of a file, parents before children, and how they move."""

    names: Sequence[str]
    parents: Ints  # -1 for none
    rest: Floats  # Place, rotation wxyz, scale in the parent's axes (j, 10)
    motion: Floats  # The same over time (n, j, 10)
    is_joint: Ints
    rate_hz: float
    unit_m: float  # Length of the unit of places
    up_axis: str
    animations: Sequence[str]


def read_gltf(path: Path, options: ClipOptions) -> ClipFile:
    """Return a glTF file, in metres, axes as in it; or InputFileError, ConfigError."""
    with refuse_damage(path, 'glTF 2.0 file'):
        return _to_clip(path, _gltf_scene(path, options), options)


def read_fbx(path: Path, options: ClipOptions) -> ClipFile:
    """Return an FBX file, in metres, axes as in it; or InputFileError, ConfigError."""
    with refuse_damage(path, 'FBX file'):
        words = options.animation or '', str(options.rate_hz or 0.0)
        found = read_isolated(path, 'FBX', 'ufbx', fbx_content, *words)
        plain = ('names', 'animations', 'rate_hz', 'unit_m', 'up_axis')
        scene = Scene(**{key: v.tolist() if key in plain else v for key, v in found.items()})
        return _to_clip(path, scene, options)


def _to_clip(path: Path, scene: Scene, options: ClipOptions) -> ClipFile:
    known, wanted = ', '.join(scene.animations), options.animation
    if wanted is not None and wanted not in scene.animations:
        raise ConfigError(f'{path}: --animation: expected one of {known}, got {wanted!r}')
    unit_m, parents = options.unit_m or scene.unit_m, scene.parents
    poses = np.concatenate([scene.rest[None], scene.motion])
    scales = np.full((len(parents) + 1, 3), unit_m)  # of each node's axes, last the world's
    for j, parent in enumerate(parents):
        scales[j] = scene.rest[j, 7:] * scales[parent]
    places, turns = poses[..., :3] * scales[parents], normalize(poses[..., 3:7])
    if not np.isfinite(places).all() or not np.isfinite(turns).all():
        raise ValueError('numbers that are not finite')
    below = np.array(scene.is_joint)
    for j in range(len(parents) - 1, 0, -1):
        below[max(parents[j], 0)] += below[j]
    # The root is the last node that has all joints below it; those above move it.
    root = int(np.flatnonzero(below == below[0])[-1])
    above = parents[root]
    while above >= 0:
        places[:, root] = places[:, above] + rotate(turns[:, above], places[:, root])
        turns[:, root] = multiply(turns[:, above], turns[:, root])
        above = parents[above]
    kept = [root, *np.flatnonzero((below > 0) & (below < below[0])).tolist()]
    own = {j: i for i, j in enumerate(kept)}
    names = [scene.names[j] for j in kept]
    names = [f'{name} {i}' if name in names[:i] else name for i, name in enumerate(names)]
    rows = np.array([own.get(parents[j], 0 if i else -1) for i, j in enumerate(kept)])
    body = rows, places[0, kept], frozen(turns[1:, kept]), frozen(places[1:, kept]), unit_m
    notes = (f'animations: {known}',) if len(scene.animations) > 1 else ()
    clip = ClipFile(path, scene.rate_hz, tuple(names), *body, scene.up_axis, notes)
    return clip.with_rest(turns[0, kept]).with_rest_upright()


def _bind(rest: Floats, parents: Ints, bound: Floats) -> None:
    """Put nodes to where skins were bound, poses (j, 4, 4) in one world, NaN where unknown."""
    for j, parent in enumerate(parents):
        pose = bound[[parent, j]]
        if parent >= 0 and np.isfinite(pose).all():
            pose = np.linalg.solve(*pose)
            rest[j, :3], rest[j, 3:7] = pose[:3, 3], _turn_of(pose)


def _turn_of(pose: Floats) -> Floats:
    return from_matrix(pose[:3, :3] / np.linalg.norm(pose[:3, :3], axis=0))


def _chosen(names: Sequence[str], lengths_s: Sequence[float], wanted: str | None) -> int:
    if not names:
        raise ValueError('no animation')
    return names.index(wanted) if wanted in names else int(np.argmax(lengths_s))


def _times(start_s: float, length_s: float, rate_hz: float, n_nodes: int) -> Floats:
    n = round(length_s * rate_hz) + 1
    if not 0 < n * n_nodes <= MAX_NODE_FRAMES:
        raise ValueError(f'{n} frames of {n_nodes} nodes')
    return start_s + np.arange(n) / rate_hz


# glTF: JSON, whose accessors are views of binary buffers.


class _Gltf:
    def __init__(self, path: Path) -> None:
        data, binary = read_bytes(path, 'glTF'), b''
        if data[:4] == b'glTF':  # 12 bytes, then chunks: length, kind, content
            end = 20 + int.from_bytes(data[12:16], 'little')
            data, binary = data[20:end], data[end + 8 :]
        self.json: Any = json.loads(data)
        self._buffers = [
            binary
            if (uri := row.get('uri')) is None
            else b64decode(uri.partition(',')[2])
            if uri.startswith('data:')
            else read_bytes(path.parent / unquote(uri), 'glTF')
            for row in self.json['buffers']
        ]

    def values(self, index: int) -> Floats:
        """Return what an accessor holds, shape (count, width), rotations as wxyz."""
        row = self.json['accessors'][index]
        view = self.json['bufferViews'][row['bufferView']]
        kind, width = np.dtype(_COMPONENTS[row['componentType']]), _WIDTHS[row['type']]
        strides = (view.get('byteStride') or kind.itemsize * width, kind.itemsize)
        start = view.get('byteOffset', 0) + row.get('byteOffset', 0)
        data = self._buffers[view['buffer']]
        found = np.ndarray((row['count'], width), kind, data, start, strides).astype(float)
        if kind.kind != 'f':
            found = np.maximum(found / np.iinfo(kind).max, -1.0)
        return np.roll(found, 1, axis=1) if width == 4 else found


def _gltf_scene(path: Path, options: ClipOptions) -> Scene:
    file = _Gltf(path)
    nodes, above = file.json['nodes'], dict[int, int]()
    for i, node in enumerate(nodes):
        above |= dict.fromkeys(node.get('children', ()), i)
    order = [i for i in range(len(nodes)) if i not in above]
    for i in order:  # grows
        order += [k for k in dict.fromkeys(nodes[i].get('children', ())) if above[k] == i]
    place = {i: j for j, i in enumerate(order)}
    parents = np.array([place[above[i]] if i in above else -1 for i in order])
    rows, accessors = file.json.get('animations', ()), file.json['accessors']
    names = [str(row.get('name', f'animation {i}')) for i, row in enumerate(rows)]
    ends_s = [max(accessors[s['input']]['max'][0] for s in row['samplers']) for row in rows]
    row = rows[_chosen(names, ends_s, options.animation)]
    keys = np.unique(np.concatenate([file.values(s['input']) for s in row['samplers']]).round(5))
    rate_hz = options.rate_hz or round(1.0 / float(np.median(np.diff(keys))))
    rate_hz = float(rate_hz if rate_hz > _FEW_HZ else _USUAL_HZ)
    times = _times(keys[0], float(np.ptp(keys)), rate_hz, len(order))
    rest = np.array([_rest_of(nodes[i]) for i in order])
    motion, moving = np.tile(rest, (len(times), 1, 1)), list[int]()
    for channel in row['channels']:
        part, node = _PARTS.get(channel['target']['path']), channel['target'].get('node')
        if part and node is not None:
            sampler = row['samplers'][channel['sampler']]
            motion[:, place[node], part] = _sampled(file, sampler, times)
            moving.append(place[node])
    bound, is_joint = np.full((len(order), 4, 4), np.nan), np.zeros(len(order), dtype=np.int64)
    for skin in file.json.get('skins', ()):
        joints = [place[i] for i in skin['joints']]
        is_joint[joints] = 1
        if 'inverseBindMatrices' in skin:
            columns = file.values(skin['inverseBindMatrices']).reshape(-1, 4, 4)
            bound[joints] = np.linalg.inv(columns.transpose(0, 2, 1))
    _bind(rest, parents, bound)
    if not is_joint.any():
        is_joint[moving] = 1
    labels = [str(nodes[i].get('name', f'node {i}')) for i in order]
    return Scene(labels, parents, rest, motion, is_joint, rate_hz, 1.0, 'y', names)


def _rest_of(node: Any) -> Floats:
    own = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    if 'matrix' in node:
        pose = np.reshape(np.array(node['matrix'], dtype=float), (4, 4)).T
        own[:3], own[3:7] = pose[:3, 3], _turn_of(pose)
        own[7:] = np.linalg.norm(pose[:3, :3], axis=0)
    for name in _PARTS.keys() & node.keys():
        own[_PARTS[name]] = np.roll(node[name], 1) if name == 'rotation' else node[name]
    return own


def _sampled(file: _Gltf, sampler: Any, at: Floats) -> Floats:
    """Return what a sampler gives at some times [s]."""
    times, values = file.values(sampler['input'])[:, 0], file.values(sampler['output'])
    kind = sampler.get('interpolation', 'LINEAR')
    if len(times) == 1:
        return np.tile(values[len(values) // 2], (len(at), 1))
    after = np.clip(np.searchsorted(times, at, side='right'), 1, len(times) - 1)
    width = np.maximum(times[after] - times[after - 1], 1e-9)[:, None]
    u = np.clip((at - times[after - 1])[:, None] / width, 0.0, 1.0)
    if kind == 'CUBICSPLINE':  # in-tangent, value, out-tangent
        into, values, out = values[::3], values[1::3], values[2::3]
        slopes = (out[after - 1] * (1.0 - u) - into[after] * u) * width
        rise = (values[after] - values[after - 1]) * (3.0 - 2.0 * u) * u * u
        return values[after - 1] + rise + slopes * u * (1.0 - u)
    u = np.floor(u + 1e-3) if kind == 'STEP' else u  # times are rounded
    if values.shape[1] == 4:
        values = normalize(values)
        return slerp(values[after - 1], values[after], u[:, 0])
    return values[after - 1] + (values[after] - values[after - 1]) * u


# FBX, in a process of its own.

_HELD: list[Any] = []  # ufbx 0.0.5 does not count references to what it returns


def fbx_content(path: str, animation: str, rate_hz: str) -> dict[str, Any]:
    """Return the fields of a Scene of an FBX file, of an unknown animation the longest."""
    import ufbx

    compensate = ufbx.InheritModeHandling.COMPENSATE
    scene = ufbx.load_file(path, ignore_geometry=True, inherit_mode_handling=compensate)
    nodes, parents = [scene.root_node], [-1]
    for j, node in enumerate(nodes):  # grows; other lists of nodes have no parents
        nodes += node.children
        parents += [j] * (len(nodes) - len(parents))
    rest = np.array([_fbx_place(node.local_transform) for node in nodes])
    clusters, bound = list(scene.skin_clusters), np.full((len(nodes), 4, 4), np.nan)
    bones, place = [c.bone_node for c in clusters], {n.typed_id: j for j, n in enumerate(nodes)}
    for bone, bind in zip(bones, [cluster.bind_to_world for cluster in clusters]):
        columns = [(c.x, c.y, c.z, 0.0) for c in (bind.c0, bind.c1, bind.c2, bind.c3)]
        bound[place[bone.typed_id]] = np.transpose(columns) + np.diag([0.0, 0.0, 0.0, 1.0])
    _bind(rest, np.array(parents), bound)
    kinds = [int(node.attrib_type) for node in nodes]
    usual = ufbx.ElementType.BONE, ufbx.ElementType.EMPTY, kinds[-1]
    kind = next(k for k in usual if k in kinds)
    is_joint = np.isfinite(bound[:, 0, 0]) if bones else np.equal(kinds, kind)
    stacks = list(scene.anim_stacks)
    names = [stack.name for stack in stacks]
    lengths_s = [stack.time_end - stack.time_begin for stack in stacks]
    chosen = _chosen(names, lengths_s, animation)
    rate, anim = float(rate_hz) or scene.settings.frames_per_second, stacks[chosen].anim
    times = _times(stacks[chosen].time_begin, lengths_s[chosen], rate, len(nodes)).tolist()
    pose = ufbx.evaluate_transform
    _HELD.extend((nodes, bones, anim))
    return {
        'names': np.array([node.name for node in nodes], dtype=str),
        'parents': np.array(parents),
        'rest': rest,
        'motion': [[_fbx_place(pose(anim, node, t)) for node in nodes] for t in times],
        'is_joint': is_joint.astype(np.int64),
        'rate_hz': rate,
        'unit_m': scene.settings.unit_meters,
        'up_axis': ('x', '-x', 'y', '-y', 'z', '-z', '')[int(scene.settings.axes.up)],
        'animations': np.array(names, dtype=str),
    }


def _fbx_place(pose: Any) -> tuple[float, ...]:
    t, q, s = pose.translation, pose.rotation, pose.scale
    return t.x, t.y, t.z, q.w, q.x, q.y, q.z, s.x, s.y, s.z
