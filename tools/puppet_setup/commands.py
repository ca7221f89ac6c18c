# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The table of commands, and the help made from it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command that runs a program of a package, as `ros2 run PACKAGE PROGRAM` does."""

    package: str
    program: str
    summary: str
    leading: tuple[str, ...] = ()
    """Arguments before the user's."""
    own_machine_only: bool = False
    """Whether its topics stay on this machine unless the user says otherwise."""


def _clip(subcommand: str, summary: str) -> Command:
    """Return a command that is a subcommand of puppet_clip."""
    return Command('puppet_clips', 'puppet_clip', summary, (subcommand,))


COMMANDS = {
    'demo': Command('puppet_bringup', 'puppet_demo', 'a performance drives a puppet, live',
                    own_machine_only=True),
    'up': Command('puppet_bringup', 'puppet_up',
                  'start the nodes: sim, hardware, topics or replay'),
    'record': Command('puppet_replay', 'record', 'record the topics of the graph in a bag'),
    'replay': Command('puppet_replay', 'replay',
                      'what the graph makes of a bag, without topics or clocks, in another bag'),
    'compare': Command('puppet_replay', 'compare', 'how two bags differ, field by field'),
    'plot': Command('puppet_replay', 'plot',
                    'importance, feet, filter and latency of a bag as pictures and numbers'),
    'goldens': Command('puppet_replay', 'goldens',
                       'replay the golden performance and compare it, or make goldens anew'),
    'retarget': _clip('retarget', 'give the motion of a clip to a character'),
    'batch': _clip('batch', 'give a library of clips to characters, by many processes'),
    'edit': _clip('edit', 'make the motion of a clip meet constraints'),
    'enhance': _clip('enhance', 'mend a captured motion by measured end-effectors'),
    'bench': _clip('bench', 'measure quality and speed over clips, characters and solvers'),
    'bench-filter': Command('puppet_filter', 'bench_filter',
                            'compare the pose filter with others on the same noisy data'),
    'bench-batch': _clip('bench-batch', 'measure the speed over a library, and where it goes'),
    'bench-edit': _clip('bench-edit', 'the motion editor on the experiments of its paper'),
    'bench-latency': Command('puppet_bringup', 'puppet_bench_latency',
                             'how long frames take from the tracker to the joint states',
                             own_machine_only=True),
    'bench-nodes': Command('puppet_bringup', 'puppet_bench_nodes',
                           'what each node does with a message, with warm and with cold caches',
                           own_machine_only=True),
    'soak': Command('puppet_bringup', 'puppet_soak',
                    'the graph for an hour: does memory grow, latency drift, are frames lost',
                    own_machine_only=True),
    'fuzz': Command('puppet_bringup', 'puppet_fuzz',
                    'damaged files of every kind: each read, or refused in a line'),
    'chaos': Command('puppet_bringup', 'puppet_chaos',
                     'cause faults in the running graph, measure how it gets over them',
                     own_machine_only=True),
    'bench-replay': Command('puppet_replay', 'bench_replay',
                            'how much faster than real time a bag is replayed'),
    'bench-rate': _clip('bench-rate', 'inverse rate control on the experiments of its paper'),
    'render': _clip('render', 'pictures and films of a clip or a bag'),
    'view': Command('puppet_retarget', 'view_clip',
                    'clips and bags in the browser: play them, drag a body'),
    'compile': Command('puppet_bringup', 'puppet_compile',
                       'compile the kernels of all nodes now: for an image of a machine'),
    'reference': Command('puppet_bringup', 'puppet_reference',
                         'write doc/reference.md and the access policy, from code and nodes',
                         own_machine_only=True),
    'layouts': _clip('layouts', 'measure what each sensor layout tells of a motion'),
    'character': _clip('character', 'make a character: from a clip, a calibration, a robot'),
    'calibrate': Command('puppet_retarget', 'calibrate',
                         "a performer's sensors and lengths, or surface: live, bag or clip"),
}

# Commands of the set-up itself.
BUILT_IN = {
    'test': 'run all tests; arguments go to pytest',
    'run': 'PACKAGE PROGRAM [ARGUMENTS]: any program of the suite, as with ros2 run',
    'setup': 'only set up and build; --test: also what the tests need',
    'shell-env': 'print the environment of the programs, for: eval "$(./puppet shell-env)"',
}

EXAMPLES = """\
examples:
  ./puppet demo
  ./puppet demo --headless --duration 20 --character blubby --json demo.json
  ./puppet up sim
  ./puppet retarget walk.bvh out.bvh --character sally --report report.json
  ./puppet run puppet_filter measure_noise --help
  ./puppet test -k quaternion"""


def command_list() -> str:
    """Return one line per command."""
    rows = {name: command.summary for name, command in COMMANDS.items()} | BUILT_IN
    width = max(map(len, rows))
    return '\n'.join(f'  {name:{width}}  {summary}' for name, summary in rows.items())


def help_text() -> str:
    """Return what --help prints."""
    return (
        'usage: ./puppet COMMAND [ARGUMENTS]\n\n'
        'Computer puppetry on ROS 2. Sets itself up in .puppet/ at the first start: with the\n'
        'sourced ROS 2 (Jazzy or Kilted), or else with ROS 2 wheels of its own.\n\n'
        f'commands:\n{command_list()}\n\n'
        './puppet COMMAND --help tells more about a command.\n\n'
        f'{EXAMPLES}\n'
    )
