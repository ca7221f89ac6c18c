# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The process table of a running graph, for launch files and `./puppet up`; '' keeps a default."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
import difflib
import json
from pathlib import Path
import re
import shutil
from typing import Any

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from puppet_core import named_files
from puppet_core.body import person, save_character, SEGMENTS
from puppet_core.clips import AUTO, ClipOptions, load_clip, skeleton_beside, unit_length_m
from puppet_core.cue_file import load_cues
from puppet_core.io import ConfigError, load_plain_yaml
from puppet_core.procedural import SCRIPTS, SHOW
from puppet_ros import config_files, interface_table
from puppet_ros.node import ALLOW_SECOND, cores_of, Scheduling
from puppet_ros.process import middleware_settings

# Small arrays only: pools of threads for linear algebra cost more than they give.
ONE_THREAD = {f'{name}_NUM_THREADS': '1' for name in ('OMP', 'OPENBLAS', 'MKL', 'NUMBA')}


@dataclass(frozen=True, slots=True)
class Process:
    name: str  # node name, and what its log lines are prefixed with
    package: str  # package that installs it; '' for a program on PATH
    executable: str  # its name in the package's lib folder
    is_node: bool = True  # whether it takes ROS arguments
    arguments: tuple[str, ...] = ()  # its own arguments
    parameter_file: str = ''  # relative to the configuration folder
    parameters: Mapping[str, Any] = field(default_factory=dict)  # on top of the file's
    remappings: tuple[tuple[str, str], ...] = ()  # from and to, of topics
    namespace: str = ''  # of its node, as in '/robot1'
    nodes: 'tuple[Process, ...]' = ()  # what runs in it, if it is a process for several nodes

    def ros_arguments(self, config_dir: Path) -> list[str]:
        """Return what follows the program on a command line; nothing for other programs."""
        if self.nodes:
            return [
                word
                for node in self.nodes
                for word in ('--node', node.executable, *node.ros_arguments(config_dir))
            ]
        if not self.is_node:
            return []
        words = ['--ros-args', '-r', f'__node:={self.name}']
        if self.namespace:
            words += ['-r', f'__ns:={self.namespace}']
        if self.parameter_file:
            words += ['--params-file', str(config_dir / self.parameter_file)]
        for name, value in self.parameters.items():
            # JSON is YAML, and keeps numbers, texts and lists apart
            words += ['-p', f'{name}:={json.dumps(value)}']
        for old, new in self.remappings:
            words += ['-r', f'{old}:={new}']
        return words


def command_line(process: Process, config_dir: Path) -> list[str]:
    """Return the words that start a process; ConfigError if its program is not installed."""
    folder, place = None, f'{process.executable}: expected this program on PATH'
    hint = 'it comes with a system installation of ROS 2'
    if process.package:
        try:
            folder = f'{get_package_prefix(process.package)}/lib/{process.package}'
        except PackageNotFoundError as err:
            raise ConfigError(
                f'{process.package}: expected an installed package, found none; '
                'build the workspace and source its setup file'
            ) from err
        place = f'{folder}/{process.executable}: expected an executable program'
        hint = 'build the workspace'
    program = shutil.which(process.executable, path=folder)
    if program is None:
        raise ConfigError(f'{place}, got none; {hint}')
    return [program, *process.arguments, *process.ros_arguments(config_dir)]


def child_environment(environ: Mapping[str, str], **changes: str) -> dict[str, str]:
    """Return this environment for children: numerics in one thread, and `middleware_settings`."""
    given = {**environ, **changes}
    return {**ONE_THREAD, **given, **middleware_settings(given)}


SIM, HARDWARE, TOPICS, REPLAY = 'sim', 'hardware', 'topics', 'replay'
VARIANTS = {
    SIM: 'emulated tracker and performer on pseudo-terminals, then the whole graph',
    HARDWARE: 'a real tracker on serial ports, then the whole graph',
    TOPICS: 'the graph behind PoseStamped or PoseArray topics of another tracker',
    REPLAY: 'the graph behind a recorded /tracker/raw, or a later topic',
}

PLAYER = 'bag'  # the program that plays one
VIEW = 'puppet_view'  # the browser's page, and the package that it is in
PIPELINE = 'puppet_pipeline'  # the process that nodes share
WORN = tuple(name for name in SEGMENTS if name not in ('spine', 'head'))  # have a sensor
EMULATED_LINES = 3  # what 14 sensors at 120 Hz need at 115200 bps
# where the data comes from; stopped before the others
SOURCES = (PLAYER, 'tracker_driver', 'pose_topics', PIPELINE)
TRUE_WORDS, FALSE_WORDS = ('true', '1', 'yes', 'on'), ('false', '0', 'no', 'off', '')

# of the second puppet and further ones
_PUPPET_TOPICS = (
    ('joint_states', 'puppet_{}/joint_states'),
    ('puppet/posture', 'puppet_{}/posture'),
    ('retarget/status', 'puppet_{}/status'),
    ('robot_description', 'puppet_{}/robot_description'),
    ('puppet/robot_description', 'puppet_{}/body_description'),
)

# nodes before each topic at which a recording may enter, in the order of the data
_BEFORE_ENTRY = {
    '': (),
    '/tracker/raw': (),
    '/tracker/filtered': ('pose_filter',),
    '/performer/posture': ('pose_filter', 'performer'),
    '/importance': ('pose_filter', 'performer', 'importance'),
}

# where the poses come from
_TRACKERS = {SIM: 'tracker_driver', HARDWARE: 'tracker_driver', TOPICS: 'pose_topics'}

# arguments that name files, and who finds these, or reads them
FILES: Mapping[str, Callable[[str], object]] = {
    'character': config_files.character,
    'performer': config_files.character,
    'environment': named_files.environment_file,
    'layout': named_files.layout_file,
    'cues': load_cues,
}

# in the order of the data: module and class
NODES = {
    'tracker_driver': ('puppet_driver.tracker_driver_node', 'TrackerDriverNode'),
    'pose_topics': ('puppet_driver.pose_topics_node', 'PoseTopicsNode'),
    'pose_filter': ('puppet_filter.pose_filter_node', 'PoseFilterNode'),
    'performer': ('puppet_performer.performer_node', 'PerformerNode'),
    'importance': ('puppet_retarget.importance_node', 'ImportanceNode'),
    'retarget': ('puppet_retarget.retarget_node', 'RetargetNode'),
    'visualization': ('puppet_view.rviz.visualization_node', 'VisualizationNode'),
    'tracker_markers': ('puppet_filter.tracker_markers_node', 'TrackerMarkersNode'),
}
MARKERS = 'tracker_markers'  # the node that only RViz needs
EVERY_FRAME_HZ = 10000.0  # so often that none is left out, in the process that has them anyway
OFF_THE_PATH = ('visualization', MARKERS)  # nodes that frames need not wait for
PUPPET = 'puppet'  # the first; the second is puppet_2
RVIZ, RVIZ_PUPPET = 'rviz2', 'puppet'  # the program, and what true shows


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a launch description, as in `name:=value`."""

    name: str
    description: str
    sets: tuple[str, ...] = ()  # parameters, as in 'retarget.character'
    variants: tuple[str, ...] = (SIM, HARDWARE, TOPICS, REPLAY)  # descriptions that have it
    default: str = ''  # '' leaves the parameter file's value
    choices: tuple[str, ...] = ()  # the values that are possible; empty: any


SOLVERS = (
    'whole_body',
    'importance_based',
    'elbow_circle',
    'rate_control',
    'joint_angles',
    'position',
)
DEVICES = 'flock_of_birds', 'fastrak', 'fastrak_ascii', 'liberty', 'patriot', 'motionstar', 'mock'
ARGUMENTS = (
    Argument(
        'character',
        'Puppet, by name or path of its YAML file. Several are separated by commas; the second '
        'one publishes /puppet_2/joint_states and so on.',
        ('retarget.character', 'visualization.character'),
    ),
    Argument(
        'namespace',
        'Namespace of all topics, services and nodes, such as robot1; graphs with different '
        'namespaces do not interfere.',
    ),
    Argument(
        'display_offset_m',
        'Offset x,y,z from the performer to the puppet, and from each puppet to the next, in TF '
        'and RViz; if empty 2,0,0, or 0,0,0 when a robot is commanded.',
        ('visualization.display_offset_m',),
    ),
    Argument(
        'tf_rate_hz',
        'Rate of the bodies on /tf; 0: none; if empty, 60 Hz, or every frame if composed.',
        ('visualization.tf_rate_hz',),
    ),
    Argument(
        'command_type',
        "Commands to the first puppet's robot controller: trajectory, positions or none.",
        ('retarget.command_type',),
        choices=('trajectory', 'positions', 'none'),
    ),
    Argument(
        'solver',
        f'Solver that poses the puppet: {", ".join(SOLVERS)}.',
        ('retarget.solver',),
        choices=SOLVERS,
    ),
    Argument(
        'environment',
        'Environment, by name or path of its YAML file.',
        ('importance.environment', 'retarget.environment', 'visualization.environment'),
    ),
    Argument('performer', "The performer's character, by name or path.", ('performer.performer',)),
    Argument('layout', 'Sensor layout, by name or path.', ('performer.layout',)),
    Argument(
        'calibration_file',
        'Calibration file to load; new calibrations are saved to it.',
        ('performer.calibration_file',),
    ),
    Argument(
        'enhance_weight',
        'Weight of positions relative to orientations when sensor readings are made consistent '
        'with one body, for instance 0.97; 0, the default, leaves them as they are.',
        ('performer.enhance_weight',),
    ),
    Argument(
        'state_dir',
        'Folder of the state kept for restarts: the last posture of each puppet. If empty, a '
        'temporary one, deleted at the end of the run.',
    ),
    Argument(
        'rate_hz',
        'Frames per second of the tracker.',
        ('tracker_driver.rate_hz', 'pose_topics.rate_hz', 'pose_filter.expected_rate_hz'),
        (SIM, HARDWARE, TOPICS),
    ),
    Argument(
        'device',
        f'Kind of tracker: {", ".join(DEVICES)}.',
        ('tracker_driver.device',),
        (HARDWARE,),
        choices=DEVICES,
    ),
    Argument(
        'ports', 'Serial ports, separated by commas.', ('tracker_driver.ports',), (HARDWARE,)
    ),
    Argument(
        'topics',
        'Topics of the sensors, separated by commas, or one topic with {sensor} or [*].',
        ('pose_topics.topics',),
        (TOPICS,),
    ),
    Argument(
        'autostart',
        'Whether the driver activates itself; false: it waits for a lifecycle manager.',
        ('tracker_driver.autostart',),
        (SIM, HARDWARE),
    ),
    *(
        Argument(name, description, (), (SIM,), default)
        for name, description, default in (
            ('ports_dir', 'Folder for the emulated ports; if empty, a temporary one.', ''),
            ('clip', 'BVH or AMC clip to perform; if empty, a built-in performance.', ''),
            ('asf', 'ASF skeleton of an AMC clip.', ''),
            ('name_map', "Name map of the clip's joints; detected if empty.", ''),
            (
                'unit',
                'Unit of the clip: mm, cm, in, m, or its length in metres; detected if empty.',
                '',
            ),
            ('up_axis', 'Axis of the clip that points up: x, -x, y, ...; detected if empty.', ''),
            ('t_pose_s', 'Initial time in the T-pose, in which the nodes start.', '10'),
            ('seed', 'Random seed of mounting, noise and faults of the emulated sensors.', ''),
        )
    ),
    Argument(
        'script',
        'Built-in performance if no clip is given: show, seated (the show with sitting down), '
        'carry or throw a box, acrobatics, or range for calibration. It brings its environment '
        'and layout.',
        (),
        (SIM,),
        choices=tuple(SCRIPTS),
    ),
    Argument('bag', 'Bag to play; if empty, none is played.', (), (REPLAY,)),
    Argument('rate', 'Playback speed; 1 is real time.', (), (REPLAY,), '1'),
    Argument(
        'clock', 'Whether the bag drives the clock of the nodes, on /clock.', (), (REPLAY,), 'true'
    ),
    Argument(
        'entry',
        'Topic at which the bag enters the graph: /tracker/raw or a later one; nodes before it '
        'are not started. If empty, the first one in the bag.',
        (),
        (REPLAY,),
        choices=tuple(topic for topic in _BEFORE_ENTRY if topic),
    ),
    Argument(
        'composed',
        'Whether all nodes run in one process, puppet_pipeline, for lower latency.',
        default='false',
    ),
    Argument(
        'realtime',
        'Whether the nodes run with real-time priority and CPU idle states off, where the '
        'system allows it.',
        default='false',
    ),
    Argument(
        'allow_second',
        'Whether the nodes may start while nodes of the same names run on this domain.',
        default='false',
    ),
    Argument('pin', 'CPU cores for the nodes, assigned round-robin, such as 2,3; all if empty.'),
    Argument('view', 'Whether to show the bodies in a browser.', default='false'),
    Argument('cues', 'Cue file; the browser page gets a button for each cue. None if empty.'),
    Argument(
        'rviz',
        'Start RViz: true or puppet shows the bodies, tracker the sensors; or the path of an '
        '.rviz file.',
        default='false',
    ),
)


def arguments_of(variant: str) -> tuple[Argument, ...]:
    return tuple(argument for argument in ARGUMENTS if variant in argument.variants)


def processes(variant: str, given: Mapping[str, str]) -> tuple[Process, ...]:
    """Return the programs of a launch description, in the order of the data, or ConfigError."""
    values = _checked(variant, given)
    parameters = _node_parameters(variant, values)
    listed = [_emulator(values)] if variant == SIM else []
    rviz = rviz_choice(values['rviz'])
    absent = _BEFORE_ENTRY[values.get('entry', '')] + (() if rviz else (MARKERS,))
    for name, (module, _) in NODES.items():
        if name in _TRACKERS.values() and name != _TRACKERS.get(variant) or name in absent:
            continue
        file, own = f'{name}.yaml', parameters[name]
        package = module.split('.')[0]
        node = Process(name, package, name, parameter_file=file, parameters=own)
        listed += _puppets(node, values) if name == 'retarget' else [node]
    nodes = tuple(process for process in listed if process.is_node)
    if _truth('composed', values['composed']):
        listed = [process for process in listed if not process.is_node]
        listed.append(Process(PIPELINE, 'puppet_bringup', PIPELINE, is_node=False, nodes=nodes))
    listed = _scheduled(listed, values)
    if _truth('view', values['view']):
        words = ['--follow'] if values.get('clip') else []  # a clip goes where it likes
        if values['cues']:
            words += ['--cues', str(Path(values['cues']).resolve())]
        listed.append(Process(VIEW, VIEW, VIEW, is_node=False, arguments=tuple(words)))
    if rviz:
        time_of = {'use_sim_time': True} if parameters['visualization'].get('use_sim_time') else {}
        listed.append(Process(RVIZ, '', RVIZ, arguments=('-d', rviz), parameters=time_of))
    if variant == REPLAY and values['bag']:
        listed.append(_player(values, [process.name for process in nodes]))
    if space := _space(values):
        listed = [_in_namespace(process, space) for process in listed]
    return tuple(listed)


def _space(values: Mapping[str, str]) -> str:
    """Return the namespace as in '/robot1', or nothing."""
    name = values.get('namespace', '').strip('/')
    return f'/{name}' if name else ''


def _in_namespace(process: Process, space: str) -> Process:
    """Return a process whose topics are below a namespace; other programs' are remapped."""
    nodes = tuple(_in_namespace(node, space) for node in process.nodes)
    names = [topic.name for topic in interface_table.TOPICS]
    if process.is_node and process.package:
        names = [interface_table.CLOCK]
    moved = tuple((name, space + name) for name in names)
    own = replace(process, nodes=nodes, namespace=space)
    if process.is_node:
        return replace(own, remappings=(*process.remappings, *moved))
    if process.name not in (VIEW, PLAYER):
        return own
    words = [word for old, new in (('__ns', space), *moved) for word in ('-r', f'{old}:={new}')]
    return replace(own, arguments=(*process.arguments, '--ros-args', *words))


def rviz_choice(text: str) -> str:
    """Return which configuration of RViz an argument asks for, or its path; '' for none."""
    if text.lower() in FALSE_WORDS:
        return ''
    return RVIZ_PUPPET if text.lower() in TRUE_WORDS else text


def _puppets(retarget: Process, values: Mapping[str, str]) -> list[Process]:
    """Return a retarget node for each character; the second one's topics are its own."""
    found = []
    for i, character in enumerate(_words(values['character']) or ['']):
        name = retarget.name if not i else f'{retarget.name}_{i + 1}'
        own = dict(retarget.parameters, **({'character': character} if character else {}))
        if i:
            own.pop('command_type', None)  # one robot, one master
        if values['state_dir']:
            own['last_posture_file'] = str(Path(values['state_dir']) / f'{name}.posture')
        remappings = tuple((old, new.format(i + 1)) for old, new in _PUPPET_TOPICS) if i else ()
        found.append(replace(retarget, name=name, parameters=own, remappings=remappings))
    return found


def _scheduled(listed: Sequence[Process], values: Mapping[str, str]) -> list[Process]:
    """Return the processes with words for those through which frames go."""
    scheduling = Scheduling(_truth('realtime', values['realtime']), cores_of(values['pin']))
    on_the_way = [p.name for p in listed if p.is_node and p.name not in OFF_THE_PATH]
    own = {name: scheduling.of_node(i).words() for i, name in enumerate(on_the_way)}
    own[PIPELINE] = scheduling.words()
    second = (ALLOW_SECOND,) if _truth('allow_second', values['allow_second']) else ()
    return [
        replace(process, arguments=(*second, *own.get(process.name, ()), *process.arguments))
        if process.is_node or process.nodes
        else process
        for process in listed
    ]


def _checked(variant: str, given: Mapping[str, str]) -> dict[str, str]:
    if variant not in VARIANTS:
        raise ConfigError(f'description: expected one of {", ".join(VARIANTS)}, got {variant!r}')
    values = {argument.name: argument.default for argument in arguments_of(variant)}
    for name, value in given.items():
        if name not in values:
            near = difflib.get_close_matches(name, values, 1)
            hint = f'; did you mean {near[0]!r}?' if near else ''
            known = ', '.join(values)
            raise ConfigError(
                f'{name}: expected an argument of {variant}, got an unknown one; '
                f'known: {known}{hint}'
            )
        values[name] = value
    for argument in arguments_of(variant):
        value = values[argument.name]
        if value and argument.choices and value not in argument.choices:
            known = ', '.join(argument.choices)
            raise ConfigError(f'{argument.name}: expected one of {known}, got {value!r}')
    if not re.fullmatch(r'(/[A-Za-z_]\w*)*', _space(values), re.ASCII):
        got = values['namespace']
        raise ConfigError(f'namespace: expected a name such as robot1 or lab/robot1, got {got!r}')
    if variant == SIM and not values['ports_dir']:
        raise ConfigError('ports_dir: expected a folder, got none')
    if variant == SIM and values['clip'] and values['script']:
        raise ConfigError(f'script: expected none beside a clip, got {values["script"]!r}')
    if variant == SIM and not values['clip']:
        script = SCRIPTS[values['script'] or SHOW]
        for name in ('environment', 'layout'):
            values[name] = values[name] or getattr(script, name)
    return values


def _node_parameters(variant: str, values: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    parameters: dict[str, dict[str, Any]] = {name: {} for name in NODES}
    for argument in arguments_of(variant):
        if text := values[argument.name]:
            for target in argument.sets:
                node, parameter = target.split('.')
                parameters[node][parameter] = _typed(argument.name, text)
    if variant == SIM:
        lines = (f'line{i}' for i in range(EMULATED_LINES))  # as the emulator names its ports
        ports = [str(Path(values['ports_dir']) / line) for line in lines]
        parameters['tracker_driver']['ports'] = ports
        if (props := SCRIPTS[values['script'] or SHOW].props) and not values['clip']:
            parameters['tracker_driver']['sensors'] = [*WORN, *props]
    if variant == REPLAY:
        for own in parameters.values():
            own['use_sim_time'] = _truth('clock', values['clock'])
    shown = parameters['visualization']
    if further := _words(values['character'])[1:]:
        shown['further_characters'] = ','.join(further)
    if values['command_type'] not in ('', 'none'):  # a real robot stands where it is
        shown.setdefault('display_offset_m', [0.0, 0.0, 0.0])
    if _truth('composed', values['composed']):
        shown.setdefault('tf_rate_hz', EVERY_FRAME_HZ)
    return parameters


def _player(values: Mapping[str, str], nodes: Sequence[str]) -> Process:
    words = [values['bag'], '--rate', repr(_number('rate', values['rate']))]
    if _truth('clock', values['clock']):
        words.append('--clock')
    if values['entry']:
        words += ['--entry', values['entry']]
    words += ['--wait-for', *nodes]
    return Process(PLAYER, 'puppet_replay', 'play', is_node=False, arguments=tuple(words))


def _typed(argument: str, text: str) -> Any:
    if argument in ('ports', 'topics'):
        return _words(text)
    if argument == 'display_offset_m':
        return [_number(argument, word) for word in _words(text)]
    if argument == 'character':
        return _words(text)[0]
    if argument in ('rate_hz', 'tf_rate_hz', 'enhance_weight'):
        return _number(argument, text)
    if argument == 'autostart':
        return _truth(argument, text)
    return text


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(',') if word.strip()]


def _number(argument: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f'{argument}: expected a number, got {text!r}') from None


def _truth(argument: str, text: str) -> bool:
    if text.lower() not in TRUE_WORDS + FALSE_WORDS:
        raise ConfigError(f'{argument}: expected true or false, got {text!r}')
    return text.lower() in TRUE_WORDS


def _emulator(values: Mapping[str, str]) -> Process:
    words = ['--ports-dir', values['ports_dir'], '--lines', str(EMULATED_LINES)]
    for argument in ('clip', 'script', 'asf', 'name_map', 'unit', 'up_axis', 'seed'):
        if values[argument]:
            words.append(f'--{argument.replace("_", "-")}={values[argument]}')  # one may be -y
    words += ['--t-pose-s', repr(_number('t_pose_s', values['t_pose_s']))]
    if values['rate_hz']:
        words += ['--rate-hz', repr(_number('rate_hz', values['rate_hz']))]
    name = 'tracker_emulator'
    return Process(name, 'puppet_driver', name, is_node=False, arguments=tuple(words))


def _write_clip_performer(given: Mapping[str, str], folder: Path) -> Path:
    """Write the body of a clip's performer, for the performer node to calibrate."""
    unit = given.get('unit')
    options = ClipOptions(
        unit_m=unit_length_m(unit) if unit else None, up_axis=given.get('up_axis') or AUTO
    )
    clip = Path(given['clip'])
    asf, names = (given.get(key) or None for key in ('asf', 'name_map'))
    skeleton = load_clip(clip, skeleton_beside(clip, asf), names, options).skeleton
    title, path = f'The performer of {clip.stem}', folder / f'{clip.stem}.yaml'
    save_character(person(clip.stem, skeleton, title=title), path)
    return path


def prepared(variant: str, given: dict[str, str], folder: Path) -> tuple[Process, ...]:
    """Return the processes, which keep their files in `folder`; or ConfigError."""
    given = {**given, 'state_dir': given.get('state_dir') or str(folder)}
    # for a performer that is started again in the middle of things
    given['calibration_file'] = given.get('calibration_file') or f'{folder}/calibration.yaml'
    for name, find in FILES.items():
        for word in _words(given.get(name, '')):
            find(word)
    if variant == SIM:
        given = {**given, 'ports_dir': given.get('ports_dir') or str(folder)}
        if given.get('clip') and not given.get('performer'):
            given['performer'] = str(_write_clip_performer(given, folder))
    if rviz := rviz_choice(given.get('rviz', '')):
        path = config_files.rviz_file(rviz)
        puppets = len(_words(given.get('character', '')))
        if rviz == RVIZ_PUPPET and puppets > 1:
            path = _write_rviz(path, puppets, _space(given), folder)
        given = {**given, 'rviz': str(path)}
    return processes(variant, given)


def _write_rviz(path: Path, puppets: int, space: str, folder: Path) -> Path:
    """Write RViz' file with a model of each puppet; return where."""
    config = load_plain_yaml(path.read_text(encoding='utf-8'))
    groups = {group['Name']: group for group in config['Visualization Manager']['Displays']}
    models = groups['Bodies']['Displays']
    first = next(display for display in models if display.get('TF Prefix') == PUPPET)
    for name in (f'{PUPPET}_{i}' for i in range(2, puppets + 1)):
        topic = {**first['Description Topic'], 'Value': f'{space}/{name}/robot_description'}
        models.append({**first, 'Name': name, 'TF Prefix': name, 'Description Topic': topic})
    own = folder / path.name
    own.write_text(json.dumps(config), encoding='utf-8')  # JSON is YAML
    return own
