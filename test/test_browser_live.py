# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_view` in a real browser, on real nodes: bodies move, sliders set parameters."""

from pathlib import Path
import queue
import threading
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')
pytest.importorskip('viser', reason='viser is not installed')

from browser_samples import walk  # noqa: E402,I100
from chromium import chromium, Tab  # noqa: E402
import numpy as np  # noqa: E402
from puppet_core.body import save_character  # noqa: E402
from puppet_core.body.posture import Posture  # noqa: E402
from puppet_core.robots import character_from_urdf, RobotMap  # noqa: E402
from puppet_msgs.msg import Posture as PostureMsg  # noqa: E402
from puppet_performer.performer_node import PerformerNode  # noqa: E402
from puppet_retarget.importance_node import ImportanceNode  # noqa: E402
from puppet_retarget.retarget_node import RetargetNode  # noqa: E402
from puppet_ros.messages.posture_msg import PostureRecord, PostureWriter  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.testing import isolated_context  # noqa: E402
from puppet_view.browser.live_page import (  # noqa: E402
    Choices,
    LiveView,
    PERFORMER,
    PUPPET,
    ViewNode,  # noqa: E402
)
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]

PERIOD_S = 1.0 / 30.0
HUMANOID = Path(__file__).resolve().parents[1] / 'src' / 'puppet_core' / 'test' / 'humanoid.urdf'


class Stage:
    """A performer that walks, the nodes behind it, and the viewer, spinning in a thread."""

    def __init__(self, context: Any) -> None:
        changes: queue.SimpleQueue[tuple[str, object]] = queue.SimpleQueue()
        self.view = LiveView(lambda *event: changes.put(event), Choices(('blubby', 'sally')))
        self.importance = ImportanceNode(context=context)
        self.retarget = RetargetNode(context=context)
        source = Node('source', context=context)
        self._stream = source.create_publisher(PostureMsg, '/performer/posture', qos.STREAM)
        self._writer = PostureWriter()
        self._segments = walk().world_segments()[1]
        self._velocities = walk().end_effector_velocities()
        self._count = 0
        source.create_timer(PERIOD_S, self._publish)
        self.executor = make_executor(context)
        for node in (
            self.importance,
            self.retarget,
            PerformerNode(context=context),
            source,
            ViewNode(self.view, changes, context=context),
        ):
            self.executor.add_node(node)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def value(self, name: str) -> object:
        """Return a parameter of the importance node."""
        return self.importance.get_parameter(name).value

    def place(self, who: str) -> np.ndarray:
        """Return where the browser was told that a body's pelvis is."""
        return self.view._bodies[who].places()[0]

    def close(self) -> None:
        """Stop."""
        self._stopped.set()
        self._thread.join()
        self.executor.shutdown()
        self.view.close()

    def _spin(self) -> None:
        while not self._stopped.is_set():
            self.executor.spin_once(timeout_sec=0.05)

    def _publish(self) -> None:
        i = self._count % walk().n_frames
        posture = Posture(
            walk().root_positions[i],
            walk().rotations[i],
            walk().end_effectors[i],
            self._velocities[i],
        )
        self._count += 1
        self._stream.publish(
            self._writer.fill(
                PostureRecord(
                    round(1e9 * PERIOD_S * self._count) + 1,
                    self._count,
                    'performer',
                    posture,
                    self._segments[i],
                    np.zeros(16, np.uint8),
                    walk().skeleton.leg_length,
                )
            )
        )


@pytest.fixture(scope='module')
def stage():
    """Yield a running graph with its viewer."""
    with isolated_context() as context:
        running = Stage(context)
        yield running
        running.close()


@pytest.fixture(scope='module')
def tab(stage, tmp_path_factory):
    """Yield the viewer's page in a browser."""
    with chromium(tmp_path_factory.mktemp('profile')) as context:
        yield Tab(context, stage.view.address)


def test_page_shows_the_running_graph(tab, stage):
    tab.until(lambda: tab.sees('left foot') and ' Hz' in tab.text(), 'rate and bars')
    tab.until(lambda: np.isfinite(stage.place(PUPPET)).all(), 'a puppet')
    before = {who: stage.place(who) for who in (PERFORMER, PUPPET)}
    first = tab.picture()
    tab.until(
        lambda: all(np.linalg.norm(stage.place(who) - before[who]) > 0.1 for who in before),
        'bodies that move',
    )
    tab.until(lambda: tab.picture() != first, 'another picture')
    assert tab.errors == []


def test_slider_sets_the_parameter_of_the_node(tab, stage):
    tab.open_tab('Tuning')
    box = tab.number_beside('prediction λ [s]')
    tab.until(lambda: float(box.input_value()) == stage.value('prediction_s'), "the node's value")
    box.fill('0.3')
    tab.page.keyboard.press('Enter')
    tab.until(lambda: stage.value('prediction_s') == 0.3, 'the parameter')
    stage.importance.set_parameters([Parameter('prediction_s', value=0.7)])
    tab.until(lambda: float(box.input_value()) == 0.7, 'what was set elsewhere')
    assert tab.errors == []


def test_refused_value_is_told_and_taken_back(tab, stage):
    tab.open_tab('Tuning')
    before = stage.value('influence_distance_m')
    box = tab.number_beside('influence D [m]')
    tab.until(lambda: float(box.input_value()) == before, "the node's value")
    box.fill('0')  # the slider's end, which the parameter has not
    tab.page.keyboard.press('Enter')
    tab.until(lambda: tab.sees('influence_distance_m: expected 0.0 < value'), 'why')
    tab.until(lambda: float(box.input_value()) == before, 'the value in force')
    assert stage.value('influence_distance_m') == before and tab.errors == []


def test_calibrate_button_shows_the_answer(tab):
    tab.open_tab('Calibrate')
    tab.press('calibrate')
    tab.until(lambda: tab.sees('tracker/filtered: expected frames'), 'the answer')


def test_character_is_chosen_for_the_puppet(tab, stage):
    assert stage.retarget.get_parameter('character').value == 'blubby'
    tab.open_tab('Tuning')
    tab.page.locator('input[value="blubby"]:visible').click()
    tab.page.get_by_role('option', name='sally').click()
    tab.until(lambda: stage.retarget.get_parameter('character').value == 'sally', 'Sally')
    tab.until(lambda: stage.view._captions[PUPPET] == 'sally', 'her body')
    assert tab.errors == []


def test_a_robot_is_shown_by_the_shapes_of_its_urdf(stage, tab, tmp_path):
    text = HUMANOID.read_text()
    box = '<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual></link>'
    (tmp_path / 'tin.urdf').write_text(text.replace('</link>', box))
    robot = character_from_urdf(tmp_path / 'tin.urdf', RobotMap()).character
    save_character(robot, tmp_path / 'tin.yaml')
    chosen = Parameter('character', value=str(tmp_path / 'tin.yaml'))
    assert all(result.successful for result in stage.retarget.set_parameters([chosen]))
    tab.until(lambda: stage.view._robots.get(PUPPET) is not None, 'its links')
    tab.until(lambda: stage.view._captions[PUPPET] == robot.name, 'its name')
