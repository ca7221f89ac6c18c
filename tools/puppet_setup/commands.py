# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of `./puppet`, the help made from them, and the completion of shells."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import difflib


@dataclass(frozen=True)
class Command:
    """A command that runs a program of a package, as `ros2 run PACKAGE PROGRAM` does."""

    package: str  # Empty for what is not installed: then `program` is the module, which has main()
    program: str
    summary: str
    leading: tuple[str, ...] = ()  # Arguments before the user's
    # Whether its topics stay on this machine unless the user says otherwise
    own_machine_only: bool = False


def _commands(rows: str) -> dict[str, Command]:
    """
    Return commands by name from lines `name | program | summary`.

    A program is `package/program`, with a subcommand as a third part, or a module that is not
    installed. A `*` before the name: its topics stay on this machine.
    """
    commands = {}
    for row in rows.strip().splitlines():
        name, program, summary = (word.strip() for word in row.split('|'))
        parts = program.split('/')
        home, *rest = parts if len(parts) > 1 else ['', program]
        commands[name.lstrip('*')] = Command(
            home, rest[0], summary, tuple(rest[1:]), name.startswith('*')
        )
    return commands


COMMANDS = _commands("""
*demo | puppet_bringup/puppet_demo | a performance drives a puppet, live
up | puppet_bringup/puppet_up | start the nodes: sim, hardware, topics or replay
calibrate | puppet_clips/calibrate | a performer's sensors and lengths, or surface: live, bag or clip
record | puppet_replay/record | record the topics of the graph in a bag
replay | puppet_replay/replay | what the graph makes of a bag, without topics or clocks, in another bag
compare | puppet_replay/compare | how two bags differ, field by field
plot | puppet_replay/plot | importance, feet, filter and latency of a bag as pictures and numbers
retarget | puppet_clips/puppet_clip/retarget | give the motion of a clip to a character
batch | puppet_clips/puppet_clip/batch | give a library of clips to characters, by many processes
edit | puppet_clips/puppet_clip/edit | make the motion of a clip meet constraints
enhance | puppet_clips/puppet_clip/enhance | mend a captured motion by measured end-effectors
character | puppet_clips/puppet_clip/character | make a character: from a clip, a calibration, a robot
layouts | benchmarks.layouts | what each sensor layout tells of a motion
render | puppet_clips/puppet_clip/render | pictures and films of a clip or a bag
view | puppet_clips/puppet_clip/view | clips and bags in the browser: play them, drag a body
""")  # noqa: E501

BENCHES = _commands("""
quality | benchmarks.quality.bench | quality and speed over clips, characters and solvers
filter | benchmarks.filter.bench | the pose filter and others on the same noisy data
rate | benchmarks.rate.bench | inverse rate control on the experiments of its paper
edit | benchmarks.edit.bench | the motion editor on the experiments of its paper
enhance | benchmarks.enhance | known motions measured with errors, and how much enhancement mends
*latency | benchmarks.latency.bench | how long frames take from the tracker to the joint states
*nodes | benchmarks.nodes | what each node does with a message, with warm and with cold caches
replay | benchmarks.replay | how much faster than real time a bag is replayed
batch | benchmarks.batch | the speed over a library, and where it goes
layouts | benchmarks.layouts | what each sensor layout tells of a motion
calibration | benchmarks.calibration | how far calibrations are off, and whether faults are named
carry | benchmarks.carry | how puppets carry a box of another size
robots | benchmarks.robots | what robots make of clips: soles, slide, limits, jerk, self-collision
""")

STRESSES = _commands("""
*chaos | robustness.chaos.command | cause faults in the running graph, measure how it recovers
fuzz | robustness.fuzz.command | damaged files of every kind: each read, or refused in a line
*soak | robustness.soak.command | the graph for an hour: does memory grow, latency drift, are frames lost
""")  # noqa: E501

DEV_PROGRAMS = _commands("""
compile | puppet_bringup/puppet_compile | compile the kernels of all nodes now: for an image of a machine
goldens | robustness.goldens | replay the golden performance and compare it, or make goldens anew
wheel | tools.wheel_command | build the wheel for pip, with compiled kernels
*reference | tools.reference | write doc/reference/ and the access policy, from code and nodes
""")  # noqa: E501

BUILT_IN = {
    'test': 'run all tests, --quick: in some 90 s those without ROS and processes; '
    'arguments go to pytest',
    'setup': 'only set up and build; --test: also what the tests need; --with film,c3d,fbx,robots,'
    'cluster,peers,docs, or all: optional parts',
    'run': 'PACKAGE PROGRAM [ARGUMENTS]: any program of the suite, as with ros2 run',
}
"""Commands of the set-up itself."""

DEV_BUILT_IN = {
    'setup': BUILT_IN['setup'],
    'docs': 'build the site of doc/ strictly into .puppet/site; --serve: show it on this machine',
    'shell-env': 'print the environment of the programs, for: eval "$(./puppet dev shell-env)"',
    'completion': 'bash or zsh: print what completes commands, for: '
    'eval "$(./puppet dev completion bash)"',
}
"""Commands of `./puppet dev` of the set-up itself."""

FAMILIES: dict[str, tuple[str, Mapping[str, Command], Mapping[str, str]]] = {
    'bench': ('measure quality and speed', BENCHES, {}),
    'stress': ('break the suite on purpose', STRESSES, {}),
    'dev': ('maintain the suite', DEV_PROGRAMS, DEV_BUILT_IN),
}
"""What each command that takes a NAME does, its programs, and its commands of the set-up."""

GROUPS = {
    'live': ('demo', 'up', 'calibrate', 'run'),
    'bags': ('record', 'replay', 'compare', 'plot'),
    'clips': ('retarget', 'batch', 'edit', 'enhance', 'character', 'layouts', 'render', 'view'),
}

TOOLS = {
    'test, setup': 'run all tests; only set up and build (--test: also what the tests need,\n'
    '                      --with film,c3d,fbx,robots,cluster,peers,docs or all: optional parts)',
    'bench, stress, dev': 'measure, break on purpose, maintain: without a NAME each lists its own',
}

EXAMPLES = """\
examples:
  ./puppet demo
  ./puppet demo --headless --duration 20 --character blubby --json demo.json
  ./puppet up sim
  ./puppet retarget walk.bvh out.bvh --character sally --report report.json
  ./puppet run puppet_filter measure_noise --help
  ./puppet test -k quaternion"""


def names_of(family: str = '') -> list[str]:
    """Return the names of all commands, or those of a family."""
    if family:
        _, programs, built_in = FAMILIES[family]
        return [*programs, *built_in]
    return [*COMMANDS, *BUILT_IN, *FAMILIES]


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean NAME?` for the known name that is nearest, if one is near."""
    near = difflib.get_close_matches(name, known, 1)
    return f'; did you mean {near[0]!r}?' if near else ''


def family_help(family: str) -> str:
    """Return the names of a family, a line each."""
    summary, programs, built_in = FAMILIES[family]
    rows = {name: command.summary for name, command in programs.items()} | dict(built_in)
    return (
        f'usage: ./puppet {family} NAME [ARGUMENTS]\n\n'
        f'{summary[0].upper()}{summary[1:]}.\n\nnames:\n{_lines(rows)}\n\n'
        f'./puppet {family} NAME --help tells more.\n'
    )


def help_text() -> str:
    """Return what --help prints: the commands of users, in groups."""
    rows = {name: command.summary for name, command in COMMANDS.items()} | BUILT_IN
    width = max(map(len, [*rows, *TOOLS]))
    parts = [
        f'{group}:\n{_lines({name: rows[name] for name in names}, width)}'
        for group, names in GROUPS.items()
    ]
    groups = '\n\n'.join([*parts, f'tools:\n{_lines(TOOLS, width)}'])
    return (
        'usage: ./puppet COMMAND [ARGUMENTS]\n\n'
        'Computer puppetry on ROS 2. Sets itself up in .puppet/ at the first start: with the\n'
        'sourced ROS 2 (Jazzy or Kilted), or else with ROS 2 wheels of its own.\n\n'
        f'{groups}\n\n'
        './puppet COMMAND --help tells more about a command; ./puppet --version the version.\n\n'
        f'{EXAMPLES}\n'
    )


def _lines(rows: Mapping[str, str], width: int = 0) -> str:
    width = width or max(map(len, rows))
    return '\n'.join(f'  {name:{width}}  {summary}' for name, summary in rows.items())


def completion(shell: str) -> str:
    """Return a script for bash or zsh that completes commands, names and options."""
    words = '\n'.join(
        f'    {family}) words="{" ".join(names_of(family))}" ;;' for family in FAMILIES
    )
    start = 'autoload -U +X bashcompinit && bashcompinit\n' if shell == 'zsh' else ''
    return f"""{start}_puppet() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words="" n=1
  case "${{COMP_WORDS[1]}}" in
{words}
    *) n=0; words="{' '.join(names_of())}" ;;
  esac
  if [ "$COMP_CWORD" -le $((n + 1)) ]; then
    if [ "$COMP_CWORD" -eq 1 ]; then words="{' '.join(names_of())}"; fi
  elif [ "${{word#-}}" != "$word" ]; then
    words=$("${{COMP_WORDS[@]:0:n+2}}" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u)
  else
    words=""
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _puppet puppet ./puppet
"""
