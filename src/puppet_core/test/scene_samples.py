# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Scenes written for tests: the joints of a clip as nodes with axes of their own, GLB and FBX."""

from dataclasses import dataclass
import json

import numpy as np
from puppet_core.clips.clip_file import quats_to_continuous_euler
from puppet_core.math.quaternions import conjugate, multiply, normalize, rotate, to_matrix

TICKS = 46186158000  # of FBX, a second


@dataclass
class Nodes:
    """Nodes below a helper that scales and turns all of them."""

    names: list
    parents: list
    rest: tuple  # Places (j, 3), rotations (j, 4)
    places: np.ndarray
    turns: np.ndarray
    rate_hz: float


def nodes_of(clip, rng, unit=1.0):
    """Return a clip's joints as nodes that at rest are turned at random, places over a unit."""
    axes = normalize(rng.normal(size=(len(clip.parents) + 1, 4)))
    parents = [-1, *(int(p) + 1 for p in clip.parents)]
    still = np.zeros((1, 1, 3)), np.array([[[1.0, 0.0, 0.0, 0.0]]])

    def tuned(places, turns):
        places = np.concatenate([np.repeat(still[0], len(places), axis=0), places], axis=1)
        turns = np.concatenate([np.repeat(still[1], len(turns), axis=0), turns], axis=1)
        above = np.vstack([still[1][0], axes[parents[1:]]])
        turns = multiply(multiply(conjugate(above), turns), axes)
        return rotate(conjugate(above), places) / unit, turns

    rest_turns = np.tile(still[1], (1, len(clip.parents), 1))
    rest = tuned(clip.offsets[None], rest_turns)
    moved = tuned(clip.translations, clip.rotations)
    names = ['Armature', *clip.joint_names]
    return Nodes(names, parents, (rest[0][0], rest[1][0]), *moved, clip.rate_hz)


def world(nodes, places, turns):
    """Return the 4 x 4 pose of each node."""
    poses = []
    for place, turn, parent in zip(places, turns, nodes.parents):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = to_matrix(turn), place
        poses.append(pose if parent < 0 else poses[parent] @ pose)
    return np.array(poses)


def glb(nodes, is_bound=True, kind='LINEAR', thin=1, names=('Take',)):
    """Return the bytes of a GLB; without a binding the nodes stand as in the last frame."""
    blob, views, accessors = b'', [], []

    def accessor(values, shape):
        nonlocal blob
        data = np.ascontiguousarray(values, dtype='<f4').tobytes()
        views.append({'buffer': 0, 'byteOffset': len(blob), 'byteLength': len(data)})
        row = {'bufferView': len(views) - 1, 'componentType': 5126, 'type': shape}
        accessors.append(row | {'count': len(values), 'max': np.max(values, axis=0).tolist()})
        blob += data
        return len(accessors) - 1

    times = accessor(np.arange(len(nodes.turns))[::thin, None] / nodes.rate_hz, 'SCALAR')
    xyzw = np.roll(nodes.turns, -1, axis=-1)
    samplers, channels = [], []
    for j in range(len(nodes.names)):
        for path, values in (
            ('rotation', xyzw[::thin, j]),
            ('translation', nodes.places[::thin, j]),
        ):
            if kind == 'CUBICSPLINE':  # without slopes
                values = np.stack([0 * values, values, 0 * values], axis=1).reshape(
                    -1, values.shape[1]
                )
            out = accessor(values, 'VEC4' if path == 'rotation' else 'VEC3')
            channels.append({'sampler': len(samplers), 'target': {'node': j, 'path': path}})
            samplers.append({'input': times, 'output': out, 'interpolation': kind})
    still = nodes.rest if is_bound else (nodes.places[-1], nodes.turns[-1])
    rows = [
        {
            'name': name,
            'translation': still[0][j].tolist(),
            'rotation': np.roll(still[1][j], -1).tolist(),
            'children': [k for k, parent in enumerate(nodes.parents) if parent == j],
        }
        for j, name in enumerate(nodes.names)
    ]
    document = {'asset': {'version': '2.0'}, 'nodes': rows, 'bufferViews': views}
    if is_bound:
        inverse = np.linalg.inv(world(nodes, *nodes.rest))[1:].transpose(0, 2, 1).reshape(-1, 16)
        matrices = accessor(inverse, 'MAT4')
        joints = list(range(1, len(nodes.names)))
        document['skins'] = [{'joints': joints, 'inverseBindMatrices': matrices}]
    short = {'samplers': samplers[:2], 'channels': channels[:2]}
    whole = {'samplers': samplers, 'channels': channels}
    document['animations'] = [
        {'name': name, **(short if i else whole)} for i, name in enumerate(names)
    ]
    document |= {'accessors': accessors, 'buffers': [{'byteLength': len(blob)}]}
    text = json.dumps(document).encode()
    text += b' ' * (-len(text) % 4)
    size = 28 + len(text) + len(blob)
    head = b'glTF' + np.array([2, size, len(text)], '<u4').tobytes() + b'JSON'
    return head + text + np.array([len(blob)], '<u4').tobytes() + b'BIN\0' + blob


def fbx(nodes, unit_m):
    """Return the nodes as an ASCII FBX; Euler angles of order XYZ, as R_z R_y R_x."""
    ticks = ','.join(str(round(i * TICKS / nodes.rate_hz)) for i in range(len(nodes.turns)))
    angles = np.degrees(quats_to_continuous_euler(nodes.turns, (2, 1, 0)))[..., ::-1]
    still = np.degrees(quats_to_continuous_euler(nodes.rest[1][None], (2, 1, 0)))[0, :, ::-1]
    objects = ['AnimationStack: 1, "AnimStack::Take 001", "" {', 'Properties70: {']
    end = round((len(nodes.turns) - 1) * TICKS / nodes.rate_hz)
    for key, time in (('LocalStart', 0), ('LocalStop', end)):
        objects.append(f'P: "{key}", "KTime", "Time", "",{time}')
    objects += ['}', '}']
    objects += ['AnimationLayer: 2, "AnimLayer::Base", "" {', '}']
    links = ['C: "OO",2,1']
    for j, name in enumerate(nodes.names):
        model, kind = 1000 + j, 'LimbNode' if j else 'Null'
        objects += [
            f'Model: {model}, "Model::{name}", "{kind}" {{',
            'Version: 232',
            'Properties70: {',
        ]
        for key, values in (('Lcl Translation', nodes.rest[0][j]), ('Lcl Rotation', still[j])):
            row = ','.join(f'{v:.10g}' for v in values)
            objects.append(f'P: "{key}", "{key}", "", "A",{row}')
        objects += ['}', '}']
        attribute = 5000 + j
        objects.append(f'NodeAttribute: {attribute}, "NodeAttribute::", "{kind}" {{')
        objects += [f'TypeFlags: "{"Skeleton" if j else "Null"}"', '}']
        above = 1000 + nodes.parents[j] if j else 0
        links += [f'C: "OO",{model},{above}', f'C: "OO",{attribute},{model}']
        for k, (key, values) in enumerate(
            (('Lcl Translation', nodes.places[:, j]), ('Lcl Rotation', angles[:, j]))
        ):
            node = 10_000 + 10 * j + 5 * k
            objects += [f'AnimationCurveNode: {node}, "AnimCurveNode::{key[4]}", "" {{', '}']
            links += [f'C: "OO",{node},2', f'C: "OP",{node},{model}, "{key}"']
            for axis in range(3):
                curve = 100_000 + 10 * node + axis
                count = len(values)
                row = ','.join(f'{v:.10g}' for v in values[:, axis])
                objects += [
                    f'AnimationCurve: {curve}, "AnimCurve::", "" {{',
                    'Default: 0',
                    'KeyVer: 4008',
                    f'KeyTime: *{count} {{\na: {ticks}\n}}',
                    f'KeyValueFloat: *{count} {{\na: {row}\n}}',
                    'KeyAttrFlags: *1 {\na: 4\n}',  # linear
                    'KeyAttrDataFloat: *4 {\na: 0,0,0,0\n}',
                    f'KeyAttrRefCount: *1 {{\na: {count}\n}}',
                    '}',
                ]
                links.append(f'C: "OP",{curve},{node}, "d|{"XYZ"[axis]}"')
    settings = [
        ('UpAxis', 'int', 'Integer', 1),
        ('UpAxisSign', 'int', 'Integer', 1),
        ('FrontAxis', 'int', 'Integer', 2),
        ('FrontAxisSign', 'int', 'Integer', 1),
        ('CoordAxis', 'int', 'Integer', 0),
        ('CoordAxisSign', 'int', 'Integer', 1),
        ('UnitScaleFactor', 'double', 'Number', 100.0 * unit_m),
        ('TimeMode', 'enum', '', 14),
        ('CustomFrameRate', 'double', 'Number', nodes.rate_hz),
    ]
    rows = [f'P: "{key}", "{kind}", "{more}", "",{value}' for key, kind, more, value in settings]
    return '\n'.join(
        [
            '; FBX 7.4.0 project file',
            'FBXHeaderExtension:  {\nFBXVersion: 7400\n}',
            'GlobalSettings:  {\nVersion: 1000\nProperties70:  {',
            *rows,
            '}\n}',
            'Objects:  {',
            *objects,
            '}',
            'Connections:  {',
            *links,
            '}\n',
        ]
    )
