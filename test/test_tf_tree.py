# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The TF tree of the whole graph: which frames, whose, static or not, stamped like the data."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

import numpy as np  # noqa: E402,I100
from puppet_core.body.character import load_character, save_character  # noqa: E402
from puppet_core.body.continuous_euler import JOINT_NAMES  # noqa: E402
from puppet_core.body.skeleton import PARENTS, SEGMENTS  # noqa: E402
from puppet_core.robots.description import urdf_text  # noqa: E402
from puppet_core.robots.limbs import RobotMap  # noqa: E402
from puppet_core.robots.robot_character import character_from_urdf  # noqa: E402
from puppet_driver.parameters import DEFAULT_SENSORS  # noqa: E402
from puppet_ros.messages import angles_of, posture_msg  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402
from tf_rig import CHARACTERS, stamp_of, TfRig, TRANSMITTER_M  # noqa: E402
from urdf_walk import HUMANOID, link_poses  # noqa: E402

pytestmark = pytest.mark.ros

Tree = dict[str, str]  # child -> parent
STATIC, MOVING = '/tf_static', '/tf'
WORLDS = {'puppet': 'puppet_world'}  # where a puppet is as its posture says, moved in world
TOL = 1e-6  # [m] and [rad]
WANTED_FRAMES = 25
SOLE_IN_LINK = np.array([0.04, 0.0, -0.07, 1.0])  # middle of the foot box's lower face, URDF [m]


@pytest.fixture(scope='module')
def tin_file(tmp_path_factory):
    """Return the character file of a humanoid robot."""
    path = tmp_path_factory.mktemp('robot') / 'tin.yaml'
    save_character(character_from_urdf(HUMANOID, RobotMap()).character, path)
    return path


@pytest.fixture
def make_rig():
    """Yield a maker of a graph on a domain of its own."""
    rigs: list[TfRig] = []
    with isolated_context() as context:

        def make(character: Path, seed: int = 0) -> TfRig:
            rigs.append(TfRig(context, character, seed))
            return rigs[-1]

        yield make
        for rig in rigs:
            rig.close()


def body_tree(body: str) -> Tree:
    """Return the frames of a body, from the names of segments alone."""
    tree = {f'{body}/pelvis': WORLDS.get(body, 'world')}
    for segment, parent in zip(SEGMENTS[1:], PARENTS[1:]):
        tree[f'{body}/{segment}_z'] = f'{body}/{SEGMENTS[parent]}'
        tree[f'{body}/{segment}_y'] = f'{body}/{segment}_z'
        tree[f'{body}/{segment}'] = f'{body}/{segment}_y'
    return tree


def robot_trees() -> tuple[Tree, Tree]:
    """Return the moving and the fixed frames of the robot, from its file's text."""
    moving, fixed = {'puppet/pelvis': WORLDS['puppet']}, {'puppet/base': 'puppet/pelvis'}
    for joint in ElementTree.parse(HUMANOID).getroot().findall('joint'):
        tree = fixed if joint.get('type') == 'fixed' else moving
        tree[f'puppet/{joint.find("child").get("link")}'] = (
            f'puppet/{joint.find("parent").get("link")}'
        )
    return moving, fixed


def owners(rig: TfRig) -> dict[str, set[str]]:
    """Return the nodes that publish on both topics."""
    return {
        topic: {info.node_name for info in rig.other.get_publishers_info_by_topic(topic)}
        for topic in (MOVING, STATIC)
    }


def of_body(messages: list[Any], body: str) -> list[Any]:
    """Return the messages of one body's frames."""
    return [m for m in messages if m.transforms[0].child_frame_id.startswith(f'{body}/')]


def world_poses(*messages: Any) -> dict[str, np.ndarray]:
    """Chain the transforms: 4 x 4 poses by frame, each in the world that it is below."""
    poses = {world: np.eye(4) for world in ('world', *WORLDS.values())}
    waiting = [t for m in messages for t in m.transforms if t.child_frame_id not in poses]
    while waiting:
        t = next(t for t in waiting if t.header.frame_id in poses)
        waiting.remove(t)
        p, q = t.transform.translation, t.transform.rotation
        pose = np.eye(4)
        pose[:3, :3] = Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix()
        pose[:3, 3] = p.x, p.y, p.z
        poses[t.child_frame_id] = poses[t.header.frame_id] @ pose
    return poses


def segment_poses(msg: Any) -> dict[str, np.ndarray]:
    """Return the 4 x 4 poses of a posture message's segments, by scipy's own products."""
    record = posture_msg.from_msg(msg)
    turns: list[Rotation] = []
    poses = {}
    for i, segment in enumerate(SEGMENTS):
        own = Rotation.from_quat(np.roll(record.posture.rotations[i], -1))
        turns.append(own if i == 0 else turns[PARENTS[i]] * own)
        poses[segment] = np.eye(4)
        poses[segment][:3, :3] = turns[i].as_matrix()
        poses[segment][:3, 3] = record.segments[i]
    return poses


def assert_same(a: np.ndarray, b: np.ndarray, what: str) -> None:
    """Compare two 4 x 4 poses to TOL in metres and radians."""
    assert np.abs(a[:3, 3] - b[:3, 3]).max() <= TOL, what
    turn = Rotation.from_matrix(a[:3, :3].T @ b[:3, :3]).magnitude()
    assert turn <= TOL, what


@pytest.mark.parametrize('is_robot', [False, True], ids=['body', 'robot'])
def test_tree_is_exactly_this(make_rig, tin_file, tmp_path, is_robot):
    """One parent a frame, one publisher a frame, static where static, the data's stamps."""
    rig = make_rig(tin_file if is_robot else CHARACTERS / 'blubby.yaml')
    rig.add_tracker(tmp_path)
    puppet, fixed = robot_trees() if is_robot else (body_tree('puppet'), {})
    sensors = {f'tracker/{name}': 'transmitter' for name in DEFAULT_SENSORS}
    wanted = {
        MOVING: {**sensors, **body_tree('performer'), **puppet},
        STATIC: {'transmitter': 'world', WORLDS['puppet']: 'world', **fixed},
    }
    got = rig.got

    def is_whole() -> bool:
        return (
            all(len(rig.edges[topic]) >= len(tree) for topic, tree in wanted.items())
            and len(got['/puppet/posture']) >= WANTED_FRAMES
        )

    # postures one after the other leave the emulator, in this process, no time to answer
    assert spin_until(rig.executor, lambda: bool(got['/tracker/raw']))
    assert rig.feed_until(is_whole), {k: len(v) for k, v in got.items()}
    for topic, tree in wanted.items():
        assert rig.edges[topic] == set(tree.items()), topic
    assert not set(wanted[MOVING]) & set(wanted[STATIC])
    assert owners(rig)[MOVING] == {'tracker_driver', 'visualization'}
    assert owners(rig)[STATIC] == {'tracker_driver', 'visualization'}

    # no message mixes the frames of the two publishers
    kinds = [{t.child_frame_id.split('/')[0] for t in m.transforms} for m in got[MOVING]]
    assert all(len(kind) == 1 for kind in kinds)
    (transmitter,) = [
        t for m in got[STATIC] for t in m.transforms if t.child_frame_id == 'transmitter'
    ]
    place = transmitter.transform.translation
    assert (place.x, place.y, place.z) == TRANSMITTER_M

    for who, topic in (
        ('performer', '/performer/posture'),
        ('puppet', '/puppet/posture'),
        ('tracker', '/tracker/raw'),
    ):
        known = {stamp_of(m.header) for m in got[topic]}
        shown = [{stamp_of(t.header) for t in m.transforms} for m in of_body(got[MOVING], who)]
        assert shown and all(len(stamps) == 1 for stamps in shown)
        # one topic may have been heard a little sooner, or further, than the other
        heard = [stamps.pop() for stamps in shown]
        both = [stamp for stamp in heard if min(known) <= stamp <= max(known)]
        assert both and set(both) <= known
        assert heard == sorted(heard) and len(set(heard)) == len(heard)


@pytest.mark.parametrize('name', ['performer', 'sally', 'blubby', 'frog'])
def test_urdf_with_joint_states_is_the_posture(make_rig, name):
    """Conventions of robot_state_publisher: both descriptions, /joint_states and /tf agree."""
    rig = make_rig(CHARACTERS / f'{name}.yaml', seed=len(name))
    got = rig.got
    assert rig.feed_until(lambda: len(_whole_frames(rig)) >= WANTED_FRAMES, wild=True)
    for joints, posture, transforms in _whole_frames(rig):
        wanted, shown = segment_poses(posture), world_poses(transforms)
        angles = dict(zip(joints.name, joints.position))
        poses = link_poses(got['/robot_description'][-1].data, angles, wanted['pelvis'])
        assert {f'puppet/{link}' for link in poses} | {'world', 'puppet_world'} == set(shown)
        for segment in SEGMENTS:
            assert_same(poses[segment], wanted[segment], segment)
        # a joint's own links may turn the other way round: each angle has two triples
        for segment in SEGMENTS:
            assert_same(poses[segment], shown[f'puppet/{segment}'], segment)

    # the performer has no joint states of its own: its frames are its description's links
    links = link_poses(got['/performer/robot_description'][-1].data, _Zeros())
    postures = {stamp_of(m.header): m for m in got['/performer/posture']}
    for message in of_body(got[MOVING], 'performer'):
        posture = postures.get(stamp_of(message.transforms[0].header))
        shown = world_poses(message)
        assert {f'performer/{link}' for link in links} | {'world', 'puppet_world'} == set(shown)
        for segment, pose in segment_poses(posture).items() if posture is not None else ():
            assert_same(pose, shown[f'performer/{segment}'], segment)


def test_robot_with_joint_states_is_its_frames(make_rig, tin_file):
    """A robot's own URDF, its joint states and its frames on /tf and /tf_static agree."""
    rig = make_rig(tin_file, seed=7)
    assert rig.feed_until(
        lambda: len(_whole_frames(rig)) >= WANTED_FRAMES and bool(rig.got[STATIC]), wild=True
    )
    (fixed,) = rig.got[STATIC]
    for joints, posture, transforms in _whole_frames(rig):
        shown = world_poses(transforms, fixed)
        assert_same(shown['puppet/pelvis'], segment_poses(posture)['pelvis'], 'pelvis')
        poses = link_poses(
            rig.got['/robot_description'][-1].data,
            dict(zip(joints.name, joints.position)),
            shown['puppet/base'],
        )
        for link, pose in poses.items():
            assert_same(pose, shown[f'puppet/{link}'], link)


def test_robot_has_joint_states_and_descriptions_of_its_own(make_rig, tin_file):
    """In its own names and limits, with velocities; its soles are where the posture has them."""
    rig = make_rig(tin_file)
    got, robot = rig.got, rig.puppet.robot
    assert rig.feed_until(lambda: len(got['/joint_states']) >= 30 and _whole_frames(rig))
    joints = ElementTree.fromstring(robot.urdf)
    order = [j.get('name') for j in joints if j.get('name') in robot.names]
    for before, msg in zip(got['/joint_states'], got['/joint_states'][1:]):
        assert list(msg.name) == order
        angles = angles_of(msg, robot.names)
        assert np.all(robot.lower <= angles) and np.all(angles <= robot.upper)
        step_s = (stamp_of(msg.header) - stamp_of(before.header)) * 1e-9
        moved = np.subtract(msg.position, before.position) / step_s
        np.testing.assert_allclose(msg.velocity, moved, atol=1e-9)
    assert np.ptp([m.position for m in got['/joint_states']], axis=0).max() > 0.01
    assert [m.data for m in got['/robot_description']] == [HUMANOID.read_text()]
    assert [m.data for m in got['/puppet/robot_description']] == [urdf_text(rig.puppet)]
    _, posture, transforms = _whole_frames(rig)[-1]
    shown, soles = world_poses(transforms, *got[STATIC]), posture_msg.from_msg(posture).posture
    for side, sole in zip(('left', 'right'), soles.end_effectors[2:4]):
        found = shown[f'puppet/{side}_foot'] @ SOLE_IN_LINK
        np.testing.assert_allclose(found[:3], sole, atol=TOL)


def test_robot_gives_way_to_another_body(make_rig, tin_file):
    """Names, descriptions and frames become those of the other character."""
    rig = make_rig(tin_file)
    got, blubby = rig.got, CHARACTERS / 'blubby.yaml'
    assert rig.feed_until(lambda: bool(got['/joint_states'] and got[MOVING]))
    for node in rig.nodes[-2:]:  # retarget and visualization
        assert node.set_parameters([Parameter('character', value=str(blubby))])[0].successful
    rig.edges[MOVING].clear()
    assert rig.feed_until(
        lambda: (
            len(got['/joint_states'][-1].name) == len(JOINT_NAMES)
            and ('puppet/left_shank_z', 'puppet/left_thigh') in rig.edges[MOVING]
            and got['/robot_description'][-1].data == urdf_text(load_character(blubby))
        )
    )


class _Zeros(dict):
    def __missing__(self, key: str) -> float:
        return 0.0


def _whole_frames(rig: TfRig) -> list[tuple[Any, Any, Any]]:
    """Return joint states, posture and transforms of the puppet with equal stamps."""
    got = rig.got
    joints = {stamp_of(m.header): m for m in got['/joint_states']}
    postures = {stamp_of(m.header): m for m in got['/puppet/posture']}
    moving = {stamp_of(m.transforms[0].header): m for m in of_body(got[MOVING], 'puppet')}
    return [
        (joints[s], postures[s], moving[s])
        for s in sorted(set(joints) & set(postures) & set(moving))
    ]
