# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The graph behind one of its topics, in one process and without a clock: bytes in, bytes out."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from puppet_core import io
from puppet_core.robots import description_text, urdf_text
from puppet_core.sensor_frames import FilteredFrame, SensorFrame
from puppet_filter.parameters import load_tuning, Tuning
from puppet_filter.parameters import ROWS as FILTER_ROWS
from puppet_filter.pose_filter import warm_up
from puppet_filter.pose_filter_node import PoseFilterStage
from puppet_performer.parameters import PERFORMER_ROWS, PerformerConfig
from puppet_performer.performer_node import PerformerStage
from puppet_retarget.importance_node import ImportanceStage
from puppet_retarget.parameters import (
    importance_node_config,
    IMPORTANCE_ROWS,
    ImportanceNodeConfig,
    retarget_config,
    RETARGET_ROWS,
    RetargetConfig,
)
from puppet_retarget.retarget_node import PuppetFrame, RetargetStage
from puppet_ros import config_files
from puppet_ros import interface_table as graph
from puppet_ros.bags import BagReader
from puppet_ros.messages import (
    decoded,
    encoded,
    ImportanceReader,
    ImportanceRecord,
    PoseFrameReader,
    PostureReader,
    PostureRecord,
    StreamReader,
    TrackerFrameReader,
)
from puppet_ros.node import ExactTimeSynchronizer, parameters_msg, StaticTransformTree
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
import yaml

ROWS: Mapping[str, Sequence[io.Row]] = {
    'pose_filter': FILTER_ROWS,
    'performer': PERFORMER_ROWS,
    'importance': IMPORTANCE_ROWS,
    'retarget': RETARGET_ROWS,
}

# what an option of the command sets, as the arguments of `puppet_up` do
SHORT: Mapping[str, tuple[str, ...]] = {
    'character': ('retarget.character',),
    'solver': ('retarget.solver',),
    'environment': ('importance.environment', 'retarget.environment'),
    'performer': ('performer.performer',),
    'layout': ('performer.layout',),
    'calibration': ('performer.calibration_file',),
}


class Settings(NamedTuple):
    pose_filter: Tuning
    performer: PerformerConfig
    importance: ImportanceNodeConfig
    retarget: RetargetConfig
    values: Mapping[str, Mapping[str, Any]]  # the parameters that they are of, by node and name


def recorded_parameters(reader: BagReader) -> dict[str, dict[str, Any]]:
    """Return the parameters by node that were last in force while a bag was recorded."""
    found: dict[str, dict[str, Any]] = {}
    for message in reader.messages([graph.PARAMETERS]):
        text = decoded(message.data, String).data
        for node in ROWS:
            if values := io.parse_parameters(text, reader.path, node):
                found[node] = values
    return found


def read_settings(
    params: Path | None = None,
    values: Sequence[str] = (),
    short: Mapping[str, str] | None = None,
    recorded: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Settings:
    """
    Return the configs of all nodes; ConfigError or InputFileError naming parameter or file.

    `recorded` are parameters by node, `params` a ROS parameter file over them; `values` are words
    like retarget.posture_weight=0.2; `short` has values by the names in SHORT.
    """
    given: dict[str, dict[str, Any]] = {}
    own = {node: io.read_parameter_file(params, node) for node in ROWS} if params else {}
    if params and not any(own.values()):
        wanted = f'parameters of one of {", ".join(ROWS)}, without a namespace'
        raise io.InputFileError(params, wanted, 'none')
    for node in ROWS:
        given[node] = io.read_parameter_file(config_files.config_dir() / f'{node}.yaml', node)
        given[node].update({**recorded.get(node, {}), **own.get(node, {})})
    for name, text in (short or {}).items():
        if text:
            for target in SHORT[name]:
                node, _, parameter = target.partition('.')
                given[node][parameter] = text
    for word in values:
        name, mark, text = word.partition('=')
        node, dot, parameter = name.partition('.')
        if not mark or not dot or node not in ROWS:
            form = f'NODE.PARAMETER=VALUE, NODE one of {", ".join(ROWS)}'
            raise io.ConfigError(f'set: expected {form}, got {word!r}')
        try:
            given[node][parameter] = io.load_plain_yaml(text) if text else ''
        except (yaml.YAMLError, RecursionError):
            got = f'{text[:40]!r}'
            raise io.ConfigError(f'set: expected a YAML value for {name}, got {got}') from None
    checked = {}
    for node, rows in ROWS.items():
        given[node].pop('use_sim_time', None)
        try:
            checked[node] = io.check_values(rows, given[node])
        except io.ConfigError as err:
            raise io.ConfigError(f'{node}: {err}') from err
    return Settings(
        load_tuning(checked['pose_filter']),
        io.build_config(PerformerConfig, checked['performer']),
        importance_node_config(checked['importance']),
        retarget_config(checked['retarget']),
        checked,
    )


FIXED_DATE = 'at the replay'  # of a calibration that is made on the way
SOLVE_TIME_US = 0.0  # by the wall clock in the live graph
UNPLACED, UNCALIBRATED = 'performer: no_transform', 'performer: not_calibrated'
"""Reasons to drop a frame: where its tracker stands, or the performer, is not known."""


class Output(NamedTuple):
    topic: str
    data: bytes


class Pipeline:
    def __init__(self, settings: Settings, entry: str = graph.RAW) -> None:
        self.drops: dict[str, int] = {}  # input that gave nothing, by node and reason
        self.errors: list[str] = []  # what a node would have logged as an error, each once
        self._transforms = StaticTransformTree()
        warm_up()
        self._filter = PoseFilterStage(settings.pose_filter)
        self._performer = PerformerStage(
            settings.performer, self._transforms.lookup, lambda: FIXED_DATE
        )
        self._performer.load_calibration(settings.performer)
        self._importance = ImportanceStage(settings.importance)
        character = config_files.character(settings.retarget.character)
        self._retarget = RetargetStage(character, settings.retarget)
        self._join = ExactTimeSynchronizer[PostureRecord, ImportanceRecord]()
        self._entry = entry
        # of the streams that a replay may begin with
        self.readers: dict[str, StreamReader[Any]] = {
            graph.RAW: TrackerFrameReader(),
            graph.FILTERED: PoseFrameReader(),
            graph.POSTURE: PostureReader(),
            graph.IMPORTANCE: ImportanceReader(),
        }
        self._frame_id = ''  # of the input's header
        self._steps: dict[str, Callable[[Any, list[Output]], None]] = {
            graph.RAW: self._on_raw,
            graph.FILTERED: self._on_filtered,
            graph.POSTURE: self._on_posture,
            graph.IMPORTANCE: self._on_importance,
        }
        self._descriptions = [
            (graph.DESCRIPTION, description_text(character)),
            (graph.BODY_DESCRIPTION, urdf_text(character)),
            *((graph.PARAMETERS, parameters_msg(*row).data) for row in settings.values.items()),
        ]
        if entry in (graph.RAW, graph.FILTERED):
            body = urdf_text(self._performer.character)
            self._descriptions.insert(0, (graph.PERFORMER_DESCRIPTION, body))

    @property
    def is_calibrated(self) -> bool:
        return self._performer.model.calibration is not None

    @property
    def unseen(self) -> tuple[str, ...]:
        """Return the names of objects whose sensor was in no frame yet."""
        return self._importance.model.unseen

    def stages(self) -> list[tuple[str, Any]]:
        """Return the stages, each with what it does, in the order of the data."""
        return [
            ('filter', self._filter),
            ('performer', self._performer),
            ('importance', self._importance),
            ('solver', self._retarget),
        ]

    def descriptions(self) -> list[Output]:
        return [Output(t, encoded(String(data=d))) for t, d in self._descriptions]

    def transform(self, data: bytes) -> None:
        """Take a message of /tf_static."""
        changed = [self._transforms.add(t) for t in decoded(data, TFMessage).transforms]
        if any(changed) and self._performer.tracker_frame:
            self._performer.locate(self._performer.tracker_frame)

    def step(self, topic: str, data: bytes) -> list[Output]:
        """Return what the graph publishes on a message of an entry topic, in that order."""
        outputs: list[Output] = []
        try:
            reader = self.readers[topic]
            record = reader.read(data)
            self._frame_id = reader.frame_id
            self._steps[topic](record, outputs)
        except io.PuppetError as err:
            self._drop(f'{topic}: bad input', str(err))
        return outputs

    def _on_raw(self, frame: SensorFrame, outputs: list[Output]) -> None:
        filtered = self._filter.step(frame, self._frame_id)
        if filtered is None:
            self._drop('pose_filter: stamp')
            return
        outputs.append(Output(graph.FILTERED, self._filter.data(filtered)))
        self._perform(filtered, self._filter.frame_id, outputs)

    def _on_filtered(self, frame: FilteredFrame, outputs: list[Output]) -> None:
        self._perform(frame, self._frame_id, outputs)

    def _perform(self, frame: FilteredFrame, frame_id: str, outputs: list[Output]) -> None:
        stage = self._performer
        if frame_id != stage.tracker_frame and not stage.locate(frame_id):
            self._drop(UNPLACED, f'performer: no transform of {frame_id!r} in {graph.TF_STATIC}')
            return
        record = stage.step(frame)
        outcome = stage.model.outcome
        if outcome is not None and outcome.calibration is None:
            self._drop('', f'performer: calibration refused: {outcome.text}')
        if record is None:
            self._drop(UNCALIBRATED)
            return
        outputs.append(Output(graph.POSTURE, stage.data(record)))
        self._judge(record, outputs)

    def _on_posture(self, record: PostureRecord, outputs: list[Output]) -> None:
        if self._entry == graph.IMPORTANCE:
            self._solve(self._join.push_left(record.stamp_ns, record), outputs)
        else:
            self._judge(record, outputs)

    def _judge(self, record: PostureRecord, outputs: list[Output]) -> None:
        importance = self._importance.step(record)
        if importance is None:
            self._drop('importance: not_usable')
            return
        outputs.append(Output(graph.IMPORTANCE, self._importance.data(importance)))
        self._solve((record, importance), outputs)

    def _on_importance(self, record: ImportanceRecord, outputs: list[Output]) -> None:
        self._solve(self._join.push_right(record.stamp_ns, record), outputs)

    def _solve(
        self, pair: tuple[PostureRecord, ImportanceRecord] | None, outputs: list[Output]
    ) -> None:
        if pair is None:
            return
        performer, stage = pair[0], self._retarget
        frame = stage.step(*pair)
        if frame is None:
            self._drop('retarget: not_usable')
            return
        dropped = self.drops.get('retarget: not_usable', 0)
        dropped += sum(self._join.unmatched)
        puppet = PuppetFrame(performer, frame, dropped, SOLVE_TIME_US)
        outputs += (
            Output(graph.JOINTS, stage.joints_data(puppet)),
            Output(graph.PUPPET, stage.posture_data(puppet)),
            Output(graph.STATUS, stage.status_data(puppet)),
        )

    def _drop(self, reason: str, error: str = '') -> None:
        if reason:
            self.drops[reason] = self.drops.get(reason, 0) + 1
        if error and error not in self.errors:
            self.errors.append(error)
