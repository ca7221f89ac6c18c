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
*demo | puppet_bringup/puppet_demo | drive a puppet with an emulated performance, live
up | puppet_bringup/puppet_up | start the nodes: sim, hardware, topics or replay
calibrate | puppet_clips/calibrate | calibrate a performer's sensors, lengths or surface: live, bag or clip
record | puppet_replay/record | record the topics of the graph to a bag
replay | puppet_replay/replay | run the pipeline offline on a bag and write the result to another bag
compare | puppet_replay/compare | compare two bags, field by field
plot | puppet_replay/plot | plot importance, feet, filter and latency from a bag
retarget | puppet_clips/puppet_clip/retarget | retarget a clip to a character
batch | puppet_clips/puppet_clip/batch | retarget a library of clips to characters, in parallel
edit | puppet_clips/puppet_clip/edit | edit a clip so that it meets constraints
enhance | puppet_clips/puppet_clip/enhance | correct a clip with measured hand and foot positions
character | puppet_clips/puppet_clip/character | make a character from a clip, a calibration or a robot; check one
layouts | benchmarks.layouts | measure how well each sensor layout captures a motion
render | puppet_clips/puppet_clip/render | render pictures and videos of a clip or a bag
view | puppet_clips/puppet_clip/view | play clips and bags in the browser; edit a clip by dragging
""")  # noqa: E501

BENCHES = _commands("""
quality | benchmarks.quality.bench | quality and speed over clips, characters and solvers
filter | benchmarks.filter.bench | the pose filter compared with others on the same noisy data
rate | benchmarks.rate.bench | inverse rate control on the experiments of its paper
edit | benchmarks.edit.bench | the motion editor on the experiments of its paper
enhance | benchmarks.enhance | how much measurement error enhancement removes from known motions
*latency | benchmarks.latency.bench | latency from the tracker to the joint states
*nodes | benchmarks.nodes | time of each node's callbacks, with warm and cold caches
replay | benchmarks.replay | replay speed relative to real time
batch | benchmarks.batch | batch throughput and profile
layouts | benchmarks.layouts | measure how well each sensor layout captures a motion
calibration | benchmarks.calibration | calibration error, and whether faults are detected
carry | benchmarks.carry | how puppets carry a box of another size
robots | benchmarks.robots | how well robots follow clips: soles, slide, limits, jerk, collision
""")

STRESSES = _commands("""
*chaos | robustness.chaos.command | inject faults into the running graph and measure its recovery
fuzz | robustness.fuzz.command | read damaged files of every kind; each must be read or cleanly refused
*soak | robustness.soak.command | run the graph for an hour; check memory growth, latency drift, lost frames
""")  # noqa: E501

DEV_PROGRAMS = _commands("""
compile | puppet_bringup/puppet_compile | compile the kernels of all nodes ahead of time, for instance for an image
goldens | robustness.goldens | compare a replay with the golden bags, or regenerate them
wheel | tools.wheel_command | build the wheel for pip, with compiled kernels
*reference | tools.reference | generate doc/reference/ and the access policy from code and nodes
""")  # noqa: E501

BUILT_IN = {
    'test': 'run all tests; --quick: only those without ROS and processes (some 90 s); '
    'other arguments go to pytest',
    'setup': 'set up and build, nothing else; --test: also install test dependencies; '
    '--with film,c3d,fbx,robots,cluster,peers,docs, or all: optional parts',
    'run': 'PACKAGE PROGRAM [ARGUMENTS]: run any program of the suite, like ros2 run',
}
"""Commands of the set-up itself."""

DEV_BUILT_IN = {
    'setup': BUILT_IN['setup'],
    'docs': 'build the documentation site in .puppet/site, warnings are errors; --serve: serve it',
    'shell-env': 'print the environment of the programs, for: eval "$(./puppet dev shell-env)"',
    'completion': 'bash or zsh: print a completion script, for: '
    'eval "$(./puppet dev completion bash)"',
}
"""Commands of `./puppet dev` of the set-up itself."""

FAMILIES: dict[str, tuple[str, Mapping[str, Command], Mapping[str, str]]] = {
    'bench': ('measure quality and speed', BENCHES, {}),
    'stress': ('run stress tests', STRESSES, {}),
    'dev': ('maintain the suite', DEV_PROGRAMS, DEV_BUILT_IN),
}
"""What each command that takes a NAME does, its programs, and its commands of the set-up."""

GROUPS = {
    'live': ('demo', 'up', 'calibrate', 'run'),
    'bags': ('record', 'replay', 'compare', 'plot'),
    'clips': ('retarget', 'batch', 'edit', 'enhance', 'character', 'layouts', 'render', 'view'),
}

TOOLS = {
    'test, setup': 'run all tests; only set up and build (--test: also test dependencies,\n'
    '                      --with film,c3d,fbx,robots,cluster,peers,docs or all: optional parts)',
    'bench, stress, dev': 'benchmarks, stress tests, maintenance; without a NAME each lists its '
    'own',
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
        f'./puppet {family} NAME --help explains one.\n'
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
        'Computer puppetry on ROS 2. The first start sets everything up in .puppet/, with the\n'
        'sourced ROS 2 (Jazzy or Kilted), or else with ROS 2 from Python wheels.\n\n'
        f'{groups}\n\n'
        './puppet COMMAND --help explains a command; ./puppet --version prints the version.\n\n'
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
