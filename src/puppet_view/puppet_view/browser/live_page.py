# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`puppet_view`: the running graph in a browser of this machine, in a process of its own."""

import argparse
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
import math
import os
from pathlib import Path
import queue
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from puppet_core import named_files
from puppet_core.body import END_EFFECTORS, world_orientations
from puppet_core.cue_file import Cue, load_cues, SHORT
from puppet_core.io import CommandParser, PuppetError, run_command
from puppet_core.marker_spec import IDS_PER_PUPPET
from puppet_core.math import Floats, Quats, Vec3, Vec3s
from puppet_core.robots import drawn_robot, DrawnRobot, merged_parts, Part, read_shape, robot_name
from puppet_msgs.msg import Importance, Posture
from puppet_msgs.srv import Calibrate
from puppet_ros import config_files
from puppet_ros.cues import CueCaller
from puppet_ros.messages import decoded, posture_of, raw_header
from puppet_ros.node import qos, spin_node
from puppet_view.browser import panel as panels
from puppet_view.browser import stage
from puppet_view.browser.body import BodyNodes
from puppet_view.browser.expiring_markers import ExpiringMarkers, REAL
from rcl_interfaces.msg import ParameterEvent
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import qos_profile_parameter_events
from rclpy.task import Future
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from std_msgs.msg import String
import viser
from visualization_msgs.msg import MarkerArray

CHARACTER, ENVIRONMENT, MODEL = 'character', 'environment', 'process.model'
CALIBRATE, CUE = 'calibrate', 'cue'


class Slider(NamedTuple):
    node: str  # that has the parameter
    title: str
    low: float  # of the parameter, of its logarithm to base 10 if that is slid
    high: float
    step: float
    twin: str = ''  # a parameter that is always equal
    is_log: bool = False

    def shown(self, value: float) -> float:
        """Return where the slider stands for a value of the parameter."""
        if self.is_log:
            value = math.log10(max(value, 10.0**self.low))
        return min(max(value, self.low), self.high)


# By the parameters' names.
SLIDERS = {
    'prediction_s': Slider('importance', 'prediction λ [s]', 0.0, 1.0, 0.005),
    'influence_distance_m': Slider('importance', 'influence D [m]', 0.0, 10.0, 0.05),
    'smoothing_s': Slider('importance', 'smoothing [s]', 0.0, 1.0, 0.005),
}
# Shin2002 eq. 3.5, to be tuned interactively; powers of ten.
Q_SLIDERS = {
    f'process.q{k}': Slider('pose_filter', f'log q{k}, {text}', low, high, 0.05, twin, is_log=True)
    for k, twin, low, high, text in (
        (1, '', -9.0, 0.0, 'position'),
        (2, 'process.q3', -9.0, 1.0, 'position, velocity (q3)'),
        (4, '', -6.0, 3.0, 'velocity'),
        (5, '', -9.0, 1.0, 'rotation'),
        (6, 'process.q7', -9.0, 2.0, 'rotation, rate (q7)'),
        (8, '', -6.0, 4.0, 'rate'),
    )
}
ALL_SLIDERS = {**SLIDERS, **Q_SLIDERS}
MODELS = ('adaptive', 'physical', 'printed')
# setting -> nodes that have a parameter of that name; the first one's value is shown
TARGETS = {
    CHARACTER: SHORT[CHARACTER],
    ENVIRONMENT: SHORT[ENVIRONMENT],
    MODEL: ('pose_filter',),
    **{name: (slider.node,) for name, slider in ALL_SLIDERS.items()},
}
MAX_LATENCY_MS = 60e3  # more is no latency: the stamps are of another clock, as of a played bag

PERFORMER, PUPPET, RANGE_BALLS = 'performer', 'puppet', 'range_balls'
# between neighbours in the row: the performer, the puppet, and what other puppets there are
SIDE_STEP_M = np.array([2.4, 0.0, 0.0])
CAMERA_FROM, CAMERA_TO = (4.6, -3.5, 2.4), (0.0, 0.0, 0.8)
STEP_BACK = 0.22  # of the camera's distance, for each puppet after the first
FOLLOW_FRACTION = 0.03  # of the way to the bodies that the stage moves in a frame
FLAT_M = 0.02  # thinner and wider objects are the floor, which the grid shows already
WIDE_M = 5.0

SERVICE = 'performer/calibrate'
DURATION_S = 2.0

NODE_NAME = 'puppet_view'
DRAW_PERIOD_S = 1.0 / 60.0
SOLIDS_PERIOD_S = 1.0 / 30.0
PANEL_PERIOD_S = 0.1
SEARCH_PERIOD_S = 1.0
LATENCY_FRAMES = 480
WINDOW_NS = 2_000_000_000  # of rate and latency
COMPLAINT_PERIOD_S = 5.0
NICENESS = 5  # drawing gives way to the graph
MAX_PUPPETS = 8
POSTURE, POSTURE_NAME = 'puppet_msgs/msg/Posture', '/posture'
EXAMPLE = 'example: puppet_view --port 8080'
Changes = queue.SimpleQueue[tuple[str, object]]
Postures = dict[str, tuple[Quats, Vec3s]]  # orientations and joints in world of each body


class Choices(NamedTuple):
    """What a person may choose of."""

    characters: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    cues: tuple[Cue, ...] = ()


class ViewPanel(panels.QuietPanel):
    def __init__(
        self,
        gui: viser.GuiApi,
        on_setting: Callable[[str, object], None],
        choices: Choices,
        on_arrange: Callable[[], None],
        follow: bool,
    ) -> None:
        """Show the controls; what sets parameters is reported to `on_setting`."""
        super().__init__(gui, 'puppet', on_setting)
        self.numbers = panels.HtmlText(gui, _numbers(None, None))
        tabs = gui.add_tab_group()
        with tabs.add_tab('Importance'):
            self.bars = panels.HtmlText(gui, panels.importance_html({}))
        with tabs.add_tab('Tuning'):
            # what sets parameters, by the parameters' names
            self.controls: dict[str, viser.GuiDropdownHandle | viser.GuiSliderHandle] = {
                CHARACTER: gui.add_dropdown('character', choices.characters or ('-',)),
                ENVIRONMENT: gui.add_dropdown('environment', choices.environments or ('-',)),
            }
            self._again = gui.add_button('read the environment again')
            self._add_sliders(gui, SLIDERS)
        with tabs.add_tab('Filter'):
            self.controls[MODEL] = gui.add_dropdown('process model', MODELS)
            gui.add_html(panels.text_html('printed: q1 to q8, as powers of ten'))
            self._add_sliders(gui, Q_SLIDERS)
        if choices.cues:
            with tabs.add_tab('Cues'):
                for cue in choices.cues:
                    button = gui.add_button(cue.name)
                    button.on_click(lambda _, cue=cue: on_setting(CUE, cue))
        with tabs.add_tab('View'):
            self.side = gui.add_checkbox('side by side', True)
            self.follow = gui.add_checkbox('follow', follow)
            self.names = gui.add_checkbox('names', False)
            self.balls = gui.add_checkbox('range balls', False)
            self.screenshot = panels.ScreenshotButton(gui, 'puppet')
        with tabs.add_tab('Calibrate'):
            gui.add_html(panels.text_html('Stand in the T-pose, still, and press.'))
            self._calibrate = gui.add_button('calibrate')
            self._outcome = panels.HtmlText(gui)
        self._refusal = panels.HtmlText(gui)
        for name, control in self.controls.items():
            self.connect(name, control)
        self._again.on_click(lambda _: on_setting(ENVIRONMENT, self.controls[ENVIRONMENT].value))
        self._calibrate.on_click(lambda _: on_setting(CALIBRATE, None))
        for box in (self.side, self.names):
            box.on_update(lambda _: on_arrange())

    def _add_sliders(self, gui: viser.GuiApi, sliders: Mapping[str, Slider]) -> None:
        for name, slider in sliders.items():
            low, high, step = slider.low, slider.high, slider.step
            self.controls[name] = gui.add_slider(slider.title, low, high, step, low)

    def show_settings(self, values: Mapping[str, Any]) -> None:
        """Move the controls to what the nodes have, without telling the nodes."""
        with self.silently():
            for name, value in values.items():
                control, slider = self.controls[name], ALL_SLIDERS.get(name)
                if slider is not None:
                    value = slider.shown(value)
                elif value not in control.options:
                    control.options = (*control.options, str(value))
                panels.set_if_other(control, 'value', value)

    def show_refusal(self, text: str) -> None:
        """Show why a value was refused; '' when the next one was taken."""
        self._refusal.show(panels.text_html(text, is_error=True) if text else '')

    def show_calibration(self, text: str, is_error: bool, is_running: bool) -> None:
        self._outcome.show(panels.text_html(text, is_error))
        self._calibrate.disabled = is_running


def _numbers(rate_hz: float | None, latency_ms: tuple[float, float] | None) -> str:
    rate = 'waiting' if rate_hz is None else f'{rate_hz:.1f} Hz'
    if latency_ms is not None and abs(latency_ms[0]) >= MAX_LATENCY_MS:
        latency_ms = None
    return panels.numbers_html({'rate': rate, 'latency': panels.latency_text(latency_ms) or '-'})


class LiveView:
    def __init__(
        self,
        on_setting: Callable[[str, object], None],
        choices: Choices,
        host: str = stage.LOOPBACK,
        port: int = 0,
        follow: bool = False,
    ) -> None:
        """Start the server; see ViewPanel and BrowserStage for what is given."""
        self._stage = stage.BrowserStage(host, port)
        self._scene = self._stage.server.scene
        self.address = self._stage.address  # what to open in a browser
        gui = self._stage.server.gui
        self.panel = ViewPanel(gui, on_setting, choices, self._arrange, follow)
        self._solids: dict[str, stage.SolidScene] = {}
        self._captions: dict[str, str] = {}
        self._roots: dict[str, Vec3] = {}
        self._robots: dict[str, DrawnRobot | None] = {}
        self._bodies = {who: BodyNodes(self._scene, who) for who in (PERFORMER, PUPPET)}
        self._arrange()

    @property
    def is_watched(self) -> bool:
        return self._stage.is_watched

    def set_body(
        self, who: str, parts: Sequence[Part], caption: str = '', robot: DrawnRobot | None = None
    ) -> None:
        """Show another body with a caption above its head; a new name joins the end of the row."""
        self._robots[who] = robot
        if who not in self._bodies:
            self._bodies[who] = BodyNodes(self._scene, who)
        self._captions[who] = caption
        self._bodies[who].set_caption('')
        self._bodies[who].set_parts(parts, is_pale=who == PERFORMER)
        self._arrange()

    def move_bodies(self, postures: Postures) -> None:
        """Put bodies' segments by name, shapes (16, 4) and (16, 3) [m], all in one instant."""
        with self._stage.at_once():
            for who, (q_world, p_world) in postures.items():
                if who in self._bodies:
                    self._bodies[who].move(q_world, p_world)
                    robot = self._robots.get(who)
                    if robot is not None:
                        self._bodies[who].move_links(*robot.poses(q_world, p_world))
                    self._roots[who] = p_world[0]
            if self.panel.follow.value and self._roots:
                worlds = {who: self._bodies[who].world.position for who in self._roots}
                places = [root + worlds[who] for who, root in self._roots.items()]
                self._stage.follow(places, FOLLOW_FRACTION)

    def set_importance(self, importances: Floats) -> None:
        """Turn the puppets' hands and feet, and a little their limbs, to importance's colour."""
        for who, body in self._bodies.items():
            if who != PERFORMER:
                body.set_importance(importances)

    def set_solids(self, group: str, solids: list[stage.SceneSolid]) -> None:
        if group == RANGE_BALLS and not self.panel.balls.value:
            solids = []
        if group not in self._solids:
            world = PERFORMER if group == REAL else PUPPET
            self._solids[group] = stage.SolidScene(self._scene, f'{stage.STAGE}/{world}/{group}')
        high = [s for s in solids if s.size[2] >= FLAT_M or min(s.size[:2]) <= WIDE_M]
        self._solids[group].show(high)  # the page has a floor of its own

    def close(self) -> None:
        self._stage.close()

    def _arrange(self) -> None:
        """Put the worlds beside each other, or into one, and look at all of them."""
        others = sorted(who for who in self._bodies if who not in (PERFORMER, PUPPET))
        for number, who in enumerate((PERFORMER, PUPPET, *others), start=-1):
            body = self._bodies[who]
            body.world.position = number * SIDE_STEP_M * bool(self.panel.side.value)
            body.set_caption(self._captions.get(who, '') if self.panel.names.value else '')
        back = 1.0 + STEP_BACK * len(others)
        place = CAMERA_TO + back * np.subtract(CAMERA_FROM, CAMERA_TO)
        self._stage.look(tuple(place.tolist()), CAMERA_TO)


class CalibrationCall:
    def __init__(self, node: Node, panel: ViewPanel) -> None:
        self._client = node.create_client(Calibrate, SERVICE)
        self._panel = panel
        self._pending: Future | None = None

    def start(self) -> None:
        """Call, unless a call is under way or nobody offers the service."""
        if not self._client.service_is_ready():
            self._panel.show_calibration(f'{SERVICE}: nobody offers it', True, False)
        elif self._pending is None or self._pending.done():
            self._panel.show_calibration(f'stand still for {DURATION_S:g} s', False, True)
            request = Calibrate.Request(kind=Calibrate.Request.KIND_POSE, duration_s=DURATION_S)
            self._pending = self._client.call_async(request)
            self._pending.add_done_callback(self._show)

    def step(self) -> None:
        """Give up a call that nobody will answer any more."""
        pending = self._pending
        if pending is not None and not pending.done() and not self._client.service_is_ready():
            pending.cancel()
            self._pending = None
            self._panel.show_calibration(f'{SERVICE}: gone without an answer', True, False)

    def _show(self, future: Future) -> None:
        if not future.cancelled():
            answer = future.result()
            text = answer.message
            if answer.success:
                millimetres, degrees = 1e3 * answer.residual_m, answer.residual_deg
                text += f': residual {millimetres:.1f} mm, {degrees:.2f} deg'
            self._panel.show_calibration(text, not answer.success, False)


def cue_of(setting: str, value: Any) -> Cue:
    """Return what a control sets."""
    names, slider = [setting], ALL_SLIDERS.get(setting)
    if slider is not None:
        value = 10.0**value if slider.is_log else float(value)
        names += [slider.twin] * bool(slider.twin)
    return Cue(setting, {node: dict.fromkeys(names, value) for node in TARGETS[setting]})


class NodeSettings:
    """Carries changes from the controls to the nodes, and the nodes' values to the controls."""

    def __init__(self, node: Node, changes: Changes, panel: ViewPanel) -> None:
        self._node = node
        self._home = node.get_namespace().rstrip('/') + '/'
        self._changes = changes
        self._panel = panel
        names = {nodes[0] for nodes in TARGETS.values()}
        self._clients = {name: AsyncParameterClient(node, name) for name in names}
        self._caller = CueCaller(node)
        self._unread = set(TARGETS)
        self._under_way = dict.fromkeys(TARGETS, 0)
        self._events = node.create_subscription(
            ParameterEvent, '/parameter_events', self._on_event, qos_profile_parameter_events
        )

    def step(self) -> None:
        """Send what was changed since the last step, and ask for what is not known yet."""
        for setting in tuple(self._unread):
            client = self._clients[TARGETS[setting][0]]
            if client.services_are_ready() and not self._under_way[setting]:
                self._unread.discard(setting)
                client.get_parameters([setting]).add_done_callback(partial(self._show, setting))
        latest: dict[str, Any] = {}
        while not self._changes.empty():
            setting, value = self._changes.get()
            latest[setting] = value  # a slider on its way; only where it is now counts
        for setting, value in latest.items():
            if isinstance(value, Cue):
                self._caller.call(value, self._show_refusal)
            else:
                self._under_way[setting] += 1
                self._caller.call(cue_of(setting, value), partial(self._check, setting))

    def _show_refusal(self, reason: str) -> None:
        self._panel.show_refusal(reason)
        if reason:
            self._node.get_logger().warning(reason)

    def _show(self, setting: str, future: Future) -> None:
        if self._under_way[setting] or not self._changes.empty():
            self._unread.add(setting)  # while somebody moves a control, it is where they want it
            return
        for value in future.result().values:
            self._panel.show_settings({setting: parameter_value_to_python(value)})

    def _check(self, setting: str, reason: str) -> None:
        self._under_way[setting] -= 1
        self._show_refusal(reason)
        if reason:
            self._unread.add(setting)  # show what is in force

    def _on_event(self, event: ParameterEvent) -> None:
        for changed in (*event.new_parameters, *event.changed_parameters):
            if event.node == self._home + TARGETS.get(changed.name, ('',))[0]:
                # asked for, not taken from here: an answer under way may be older, and come later
                self._unread.add(changed.name)


class ViewNode(Node):
    def __init__(self, view: LiveView, changes: Changes, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **kwargs)
        self._view = view
        self._changes = changes
        self._set: Changes = queue.SimpleQueue()
        self._settings = NodeSettings(self, self._set, view.panel)
        self._calibration = CalibrationCall(self, view.panel)
        self._latest: dict[str, bytes] = {}
        self._solids = ExpiringMarkers()
        self._arrivals: deque[tuple[int, int]] = deque(maxlen=LATENCY_FRAMES)
        self._shown: list[str] = []
        self._puppet_name = ''  # as it is described
        self._searched = ('', '')  # character and name for which meshes were looked for
        for who in (PERFORMER, PUPPET):
            self._show_body(who)
        self._keep_latest(Importance, 'importance', 'importance')
        guarded = self._guarded
        self.create_subscription(MarkerArray, 'markers', guarded(self._on_markers), 10)
        self.create_subscription(
            JointState, 'joint_states', guarded(self._on_joints), qos.STREAM, raw=True
        )
        self.create_timer(DRAW_PERIOD_S, guarded(self._draw))
        self.create_timer(SOLIDS_PERIOD_S, guarded(self._draw_solids))
        self.create_timer(PANEL_PERIOD_S, guarded(self._fill_panel))
        self.create_timer(SEARCH_PERIOD_S, self._search)

    def _show_body(self, who: str) -> None:
        """Draw what moves on /WHO/posture, in the shape that /WHO/robot_description gives."""
        self._shown.append(who)
        self._keep_latest(Posture, f'{who}{POSTURE_NAME}', who)
        described = self._guarded(partial(self._on_description, who))
        self.create_subscription(String, f'{who}/robot_description', described, qos.LATCHED)

    def _guarded(self, callback: Callable[..., None]) -> Callable[..., None]:
        """Return the callback such that an invalid message is reported and not shown."""

        def run(*given: object) -> None:
            try:
                callback(*given)
            except PuppetError as err:
                self.get_logger().warning(str(err), throttle_duration_sec=COMPLAINT_PERIOD_S)

        return run

    def _search(self) -> None:
        """Draw every other posture that somebody publishes, too: puppets of other nodes."""
        home = self.get_namespace().rstrip('/')
        for topic, types in sorted(self.get_topic_names_and_types()):
            space, _, who = topic.removesuffix(POSTURE_NAME).rpartition('/')
            if POSTURE in types and space == home and who not in self._shown:
                if topic.endswith(POSTURE_NAME) and len(self._shown) <= MAX_PUPPETS:
                    self._show_body(who)

    def _keep_latest(self, kind: type, topic: str, key: str) -> None:
        def keep(data: Any) -> None:
            self._latest[key] = data

        self.create_subscription(kind, topic, keep, qos.STREAM, raw=True)

    def _on_joints(self, data: bytes) -> None:
        self._arrivals.append((raw_header.stamp_ns(data), time.time_ns()))

    def _on_description(self, who: str, msg: String) -> None:
        parts, name = merged_parts(read_shape(msg.data)), robot_name(msg.data)
        self._view.set_body(who, parts, name or who)
        if who == PUPPET:
            self._puppet_name, self._searched = name, ('', '')

    def _find_meshes(self) -> None:
        """Draw a robot by its meshes if the file of `retarget`'s character can be read here."""
        searched = str(self._view.panel.controls[CHARACTER].value), self._puppet_name
        if searched == self._searched:
            return
        self._searched = searched
        try:
            character = config_files.character(searched[0])
        except (PuppetError, OSError):  # on another machine, perhaps
            return
        if character.name == self._puppet_name and (robot := drawn_robot(character)) is not None:
            self._view.set_body(PUPPET, robot.parts, character.name, robot)

    def _on_markers(self, msg: MarkerArray) -> None:
        for marker in msg.markers:
            if marker.id < IDS_PER_PUPPET:  # of the first
                self._solids.add(marker)

    def _draw(self) -> None:
        if not self._view.is_watched:
            return
        postures: Postures = {}
        for who in self._shown:
            data = self._latest.pop(who, None)
            if data is not None:
                self._guarded(self._keep_posture)(postures, who, data)
        if postures:
            self._view.move_bodies(postures)

    def _keep_posture(self, postures: Postures, who: str, data: bytes) -> None:
        record = posture_of(data)
        postures[who] = world_orientations(record.posture.rotations), record.segments

    def _draw_solids(self) -> None:
        if self._view.is_watched:
            for group in self._solids.groups():
                shown = self._solids.shown(group, bool(self._view.panel.side.value))
                self._view.set_solids(group, shown)

    def _fill_panel(self) -> None:
        while not self._changes.empty():
            name, value = self._changes.get()
            if name == CALIBRATE:
                self._calibration.start()
            else:
                self._set.put((name, value))
        self._settings.step()
        self._calibration.step()
        if not self._view.is_watched:
            return
        self._find_meshes()
        panel = self._view.panel
        panel.numbers.show(_numbers(*self._rate_and_latency()))
        data = self._latest.get('importance')
        if data is not None:
            values = np.clip(np.nan_to_num(decoded(data, Importance).importance), 0.0, 1.0)
            panel.bars.show(panels.importance_html(dict(zip(END_EFFECTORS, values.tolist()))))
            self._view.set_importance(values)

    def _rate_and_latency(self) -> tuple[float | None, tuple[float, float] | None]:
        """Return frames per second, and median and 99th percentile of the latency [ms]."""
        since_ns = time.time_ns() - WINDOW_NS
        recent = np.array([row for row in self._arrivals if row[1] > since_ns])
        if len(recent) < 2 or recent[-1, 0] <= recent[0, 0]:
            return None, None
        rate_hz = 1e9 * (len(recent) - 1) / (recent[-1, 0] - recent[0, 0])
        p50, p99 = np.percentile(1e-6 * (recent[:, 1] - recent[:, 0]), (50, 99))
        return float(rate_hz), (float(p50), float(p99))


def parser() -> argparse.ArgumentParser:
    p = CommandParser(
        prog='puppet_view', description='Show the running graph in a browser.', epilog=EXAMPLE
    )
    p.add_argument('--port', type=int, default=0, help='default: 8080, or any free port')
    text, flag = 'keep the bodies centred', argparse.BooleanOptionalAction
    p.add_argument('--follow', action=flag, default=True, help=text)
    text = 'show a button for each cue of this file (see puppet_cue)'
    p.add_argument('--cues', type=Path, metavar='FILE', help=text)
    p.add_argument(
        '--host',
        default=stage.LOOPBACK,
        help='address to listen on; default %(default)s: only this machine',
    )
    return p


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    return run_command('puppet_view', lambda: _serve(words))


def _serve(words: Sequence[str]) -> int:
    options = parser().parse_args(remove_ros_args(words))
    changes: Changes = queue.SimpleQueue()
    place = options.host, options.port, options.follow
    choices = Choices(
        named_files.available('characters'),
        named_files.available('environments'),
        load_cues(options.cues) if options.cues else (),
    )
    view = LiveView(lambda *change: changes.put(change), choices, *place)
    try:
        print(f'open {view.address} in a browser', flush=True)
        if stage.is_open(options.host):
            print(f'puppet_view: {stage.OPEN_WARNING}', file=sys.stderr, flush=True)
        os.nice(NICENESS)
        own = [word for word in words if word not in remove_ros_args(words)]
        return spin_node(lambda: ViewNode(view, changes), own)
    finally:
        view.close()


if __name__ == '__main__':
    sys.exit(main())
