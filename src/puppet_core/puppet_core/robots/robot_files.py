# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The files of a robot: URDF, xacro or MJCF (MuJoCo's format) as URDF text, and its meshes.

xacro is expanded and MJCF compiled by their own packages, which nothing else needs. Of MJCF the
largest tree of bodies is kept: hinges and slides, joints that follow others, solids and meshes.
"""

from collections.abc import Iterable, Mapping
from functools import partial
import os
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.body import parse_urdf, UrdfLink, UrdfRobot, UrdfShape
from puppet_core.io import how_to_install, InputFileError, read_utf8, read_xml
from puppet_core.math import Floats, Quat, Vec3, Vec3s
from puppet_core.math import quaternions as qb

MAX_BYTES = 10_000_000
COLLADA_HEAD = 10_000  # bytes that have its <asset>
MOST_WORDS = 200  # characters of what another package says
_KINDS = {2: 'prismatic', 3: 'continuous'}  # of mujoco.mjtJoint
_SPHERE, _MESH = 2, 7  # mujoco.mjtGeom
_Y_TO_Z = np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])


def read_robot_file(path: Path) -> UrdfRobot:
    """
    Return a robot with the convex hulls of its meshes, those that can be read, for the meshes.

    Raise InputFileError naming file, line and what is missing, unknown or impossible, as a
    package that is not installed.
    """
    urdf = parse_urdf(path, _as_urdf(path, read_utf8(path, MAX_BYTES)))
    hulls = read_hulls(urdf)
    links = upright(urdf, hulls).links
    return urdf._replace(links={name: _hulled(link, hulls) for name, link in links.items()})


def upright(urdf: UrdfRobot, hulls: Mapping[str, Vec3s]) -> UrdfRobot:
    """
    Return a robot with its meshes as they are meant, by their hulls.

    RViz does not look at the axis that a Collada file says is up, Drake does for glTF. Here it
    counts where the joints are nearer to their links' meshes with it.
    """
    links = {name: _raised(urdf.path, link) for name, link in urdf.links.items()}
    both = urdf, urdf._replace(links=links)
    return min(both, key=partial(_looseness, hulls))


def _looseness(hulls: Mapping[str, Vec3s], urdf: UrdfRobot) -> float:
    """Return how far joints are outside of the boxes around the meshes of their links [m]."""
    total = 0.0
    for joint in urdf.joints:
        for link, place in ((joint.parent, joint.pose[:3, 3]), (joint.child, np.zeros(3))):
            found = [
                (hulls[s.file] * s.size) @ s.pose[:3, :3].T + s.pose[:3, 3]
                for s in urdf.links[link].shapes
                if s.kind == 'mesh' and len(hulls[s.file])
            ]
            if found:
                points = np.concatenate(found)
                outside = np.maximum(points.min(axis=0) - place, place - points.max(axis=0))
                total += float(np.linalg.norm(np.maximum(outside, 0.0)))
    return total


def _as_urdf(path: Path, text: str) -> str:
    top = read_xml(path, text)
    if top.tag == 'mujoco':
        package, what = 'mujoco', 'an MJCF that compiles'
    elif path.suffix == '.xacro' or any(x.tag.startswith('xacro:') for x in top.children):
        package, what = 'xacro', 'a xacro that expands'
    else:
        return text
    try:
        if package == 'mujoco':
            return _from_mjcf(path)
        import xacro

        return str(xacro.process_file(str(path)).toxml())
    except ImportError as err:
        wanted = f'the package {package}, which reads this file'
        hint = how_to_install('robots', package)
        raise InputFileError(path, wanted, f'no {err.name}', hint=hint) from err
    except InputFileError:
        raise
    except Exception as err:  # whatever the package raises
        raise InputFileError(path, what, str(err)[:MOST_WORDS]) from err


def find_mesh(urdf: Path, name: str) -> Path | None:
    """Return the file of a mesh that a URDF names, None if there is none."""
    scheme, _, place = name.rpartition('://')
    folder = urdf.resolve().parent
    found = [folder / place]
    if scheme == 'package':
        # in a package above the URDF, whatever its folder is called, or in an installed one
        prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
        place = place.lstrip('/')
        inside = place.partition('/')[2]
        found = [above / p for above in (folder, *folder.parents) for p in (place, inside)]
        found += [Path(prefix, 'share', place) for prefix in prefixes]
    return next((file for file in found if file.is_file()), None)


def read_hulls(urdf: UrdfRobot) -> dict[str, Vec3s]:
    """Return the corners of the convex hulls of meshes by name, none of one without a reader."""
    import trimesh

    hulls: dict[str, Vec3s] = {}
    for name in {shape.file for link in urdf.links.values() for shape in link.shapes} - {''}:
        try:
            mesh = trimesh.load_mesh(find_mesh(urdf.path, name))
            hulls[name] = np.array(mesh.convex_hull.vertices)
        except Exception:  # no file, a format without a reader, a mesh without a volume
            hulls[name] = np.empty((0, 3))
    return hulls


def is_y_up(urdf: Path, name: str) -> bool:
    """Return whether a mesh is a glTF, or a Collada file whose Y axis is up."""
    file = find_mesh(urdf, name)
    if file is None or file.suffix.lower() != '.dae':
        return name.lower().endswith(('.gltf', '.glb'))
    with file.open('rb') as source:
        return b'Y_UP' in source.read(COLLADA_HEAD)


def _raised(urdf: Path, link: UrdfLink) -> UrdfLink:
    """Return a link whose meshes with Y up have Z up."""

    def up(shape: UrdfShape) -> UrdfShape:
        return shape._replace(pose=shape.pose @ _Y_TO_Z) if is_y_up(urdf, shape.file) else shape

    return link._replace(shapes=tuple(map(up, link.shapes)))


def _hulled(link: UrdfLink, hulls: Mapping[str, Vec3s]) -> UrdfLink:
    shapes = [
        s._replace(kind='hull', size=hulls[s.file] * s.size) if s.kind == 'mesh' else s
        for s in link.shapes
    ]
    return link._replace(shapes=tuple(s for s in shapes if len(s.size)))


def _from_mjcf(path: Path) -> str:
    import mujoco

    if path.suffix == '.xml':
        spec: Any = mujoco.MjSpec.from_file(str(path))
    else:  # whose content MuJoCo knows by the suffix only
        spec = mujoco.MjSpec.from_string(read_utf8(path, MAX_BYTES))
        spec.modelfiledir = str(path.resolve().parent)
    model: Any = spec.compile()
    top = int(np.argmax(np.bincount(model.body_rootid[1:])))
    names = [model.body(i).name or f'body_{i}' for i in range(model.nbody)]
    follows = (model.eq_type == mujoco.mjtEq.mjEQ_JOINT) & (model.eq_obj2id >= 0)
    folder = path.resolve().parent / spec.meshdir
    parts = []
    for body in np.flatnonzero(model.body_rootid == top):
        above = names[model.body_parentid[body]]
        pose = _pose(model.body_pos[body], model.body_quat[body])
        for i in np.flatnonzero(model.jnt_bodyid == body) if body != top else ():
            name, kind = model.joint(i).name, _KINDS.get(model.jnt_type[i], 'fixed')
            if model.jnt_type[i] == mujoco.mjtJoint.mjJNT_BALL:
                hint = 'three hinges in one place are the same'
                raise InputFileError(path, 'hinges', 'a ball joint', field=name, hint=hint)
            more = f'<axis xyz="{_row(model.jnt_axis[i])}"/>'
            if kind == 'continuous' and model.jnt_limited[i]:
                kind, (low, high) = 'revolute', model.jnt_range[i]
                more += f'<limit lower="{low}" upper="{high}"/>'
            for k in np.flatnonzero(follows & (model.eq_obj1id == i)):
                leader, data = model.joint(model.eq_obj2id[k]).name, model.eq_data[k]
                more += f'<mimic joint="{leader}" multiplier="{data[1]}" offset="{data[0]}"/>'
            anchor = np.eye(4)
            anchor[:3, 3] = model.jnt_pos[i]
            parts.append(f'<link name="{name}_frame"/>')
            parts.append(_joint(name, kind, above, f'{name}_frame', pose @ anchor, more))
            above, pose = f'{name}_frame', np.asarray(np.linalg.inv(anchor), np.float64)
        if body != top:
            parts.append(_joint(f'{names[body]}_fixed', 'fixed', above, names[body], pose))
        solids = (_solid(model, int(i), folder) for i in np.flatnonzero(model.geom_bodyid == body))
        parts.append(f'<link name="{names[body]}">{"".join(solids)}</link>')
    return f'<robot name="{path.stem}">{"".join(parts)}</robot>'


def _pose(place: Vec3, turn: Quat) -> Floats:
    pose = np.eye(4)
    pose[:3, 3], pose[:3, :3] = place, qb.to_matrix(turn)
    return pose


def _row(values: Iterable[float]) -> str:
    return ' '.join(f'{value:.9g}' for value in values)


def _origin(pose: Floats) -> str:
    from transforms3d.euler import mat2euler

    rpy = _row(mat2euler(pose[:3, :3], 'sxyz'))
    return f'<origin xyz="{_row(pose[:3, 3])}" rpy="{rpy}"/>'


def _joint(name: str, kind: str, above: str, link: str, pose: Floats, more: str = '') -> str:
    links = f'<parent link="{above}"/><child link="{link}"/>'
    return f'<joint name="{name}" type="{kind}">{_origin(pose)}{links}{more}</joint>'


def _solid(model: Any, i: int, folder: Path) -> str:
    kind, pose = model.geom_type[i], _pose(model.geom_pos[i], model.geom_quat[i])
    solid = f'<box size="{_row(2.0 * model.geom_aabb[i, 3:])}"/>'  # around any other one
    if kind == _SPHERE:
        solid = f'<sphere radius="{model.geom_size[i, 0]}"/>'
    elif kind == _MESH:
        mesh = model.geom_dataid[i]
        file = model.paths[model.mesh_pathadr[mesh] :].split(b'\0', 1)[0].decode()
        scale = _row(model.mesh_scale[mesh])
        solid = f'<mesh filename="file://{folder / file}" scale="{scale}"/>'
        # MuJoCo moves meshes to their centres
        pose = pose @ np.linalg.inv(_pose(model.mesh_pos[mesh], model.mesh_quat[mesh]))
    tag = 'collision' if model.geom_contype[i] or model.geom_conaffinity[i] else 'visual'
    return f'<{tag}>{_origin(pose)}<geometry>{solid}</geometry></{tag}>'
