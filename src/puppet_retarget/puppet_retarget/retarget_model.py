# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From one performer posture and its importance to the puppet's frame."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
import errno
import fcntl
import hashlib
from pathlib import Path
from time import perf_counter
from typing import IO, NamedTuple
import zlib

import numpy as np
from puppet_core.body import (
    ADULT_LEG_M,
    causal_velocities,
    Character,
    ContinuousEuler,
    hip_centre,
    JOINT_NAMES,
    MAX_COORDINATE_M,
    NO_PROPS,
    PERFORMER_RATIO,
    Props,
    UNIT_TOL,
    whipping,
)
from puppet_core.io import InputFileError, require_file, write_bytes
from puppet_core.math import Floats, Quats, Vec3, Vec3s
from puppet_retarget.importance import (
    are_rests,
    Environment,
    MAX_LEG_LENGTH_M,
    MIN_LEG_LENGTH_M,
    ROW,
    SELF_ROW,
)
from puppet_retarget.parameters import RetargetConfig
from puppet_retarget.solvers import (
    DiscontinuityDetector,
    HEAD,
    HoldAndBlend,
    is_usable,
    LEAST_S,
    LONGEST_S,
    make_solver,
    NO_RESTS,
    Solver,
    SolverOutput,
    WholeBodySolver,
)

MAGIC = b'puppet posture 1'
MAX_AGE_S = 86400.0  # robots hold for as long as nothing comes
BOOT_ID = Path('/proc/sys/kernel/random/boot_id')  # steady time begins anew with each
MAX_ANGLE_RAD = 1e6  # finite, and adding to it still means something
_DIGEST_SIZE = 32
_HEAD_SIZE = len(MAGIC) + _DIGEST_SIZE
_CHECKSUM_SIZE = 8

LEAP = 'eases after a leap of the input'


# The last posture, in a file that outlives the node.
#
# The file is mapped into memory and written with every frame, 10 us, so a process that is killed
# loses nothing that it published. Two records take turns, each with its checksum: one that was
# being written is not believed, and the one before is there. A second node, of another graph that
# was given the same folder, is kept from it by a lock that ends with the process.


class LastPosture(NamedTuple):
    root: Vec3  # Root position, shape (3,) [m]
    rotations: Quats  # Joint rotations, shape (16, 4)
    angles: Floats  # Joint angles in the order of their names, shape (n,) [rad]


class LastPostureFile:
    """
    The file of one puppet, a new one at its path, written from now on.

    Raises InputFileError if no file is there, OSError if it cannot be written, or another one
    does.
    """

    def __init__(self, path: Path, joint_names: Sequence[str]) -> None:
        with suppress(FileNotFoundError):
            require_file(path)  # a pipe without a reader would hold the node
        self._sequence = 0
        self._lock = _lock(path)
        dtype = _record(len(joint_names))
        # with its zeros, so that no frame needs room on a disk that is full by then
        write_bytes(path, _head(joint_names) + bytes(2 * dtype.itemsize))
        store = np.memmap(path, np.uint8, 'r+')
        self._records = store[_HEAD_SIZE:].view(dtype)
        self._bytes = [
            store[a : a + dtype.itemsize].data for a in (_HEAD_SIZE, _HEAD_SIZE + dtype.itemsize)
        ]

    def close(self) -> None:
        """Let another one write it."""
        self._lock.close()

    def write(self, now_ns: int, root: Vec3, rotations: Quats, angles: Floats) -> None:
        """Keep a posture, as of `LastPosture`, at a steady time of this machine [ns]."""
        self._sequence += 1
        slot = self._sequence % 2
        record = self._records[slot]
        record['checksum'] = 0
        record['sequence'], record['written_ns'] = self._sequence, now_ns
        record['root'], record['rotations'], record['angles'] = root, rotations, angles
        record['checksum'] = _checksum(self._bytes[slot])


def read_last_posture(path: Path, joint_names: Sequence[str], now_ns: int) -> LastPosture:
    """
    Return the posture in a file of these joints; `now_ns` is steady time of this machine.

    Raises InputFileError if it is damaged, old, of other joints or another run of the system,
    OSError if it cannot be read.
    """
    dtype = _record(len(joint_names))
    require_file(path)
    with path.open('rb') as source:
        data = source.read(_HEAD_SIZE + 2 * dtype.itemsize + 1)
    if not data.startswith(MAGIC):
        raise InputFileError(path, 'a last posture', 'other data')
    if data[:_HEAD_SIZE] != _head(joint_names):
        raise InputFileError(
            path, 'joints of this character, kept since the system started', 'others'
        )
    if len(data) != _HEAD_SIZE + 2 * dtype.itemsize:
        raise InputFileError(path, f'{_HEAD_SIZE + 2 * dtype.itemsize} bytes', f'{len(data)}')
    if not any(data[_HEAD_SIZE:]):  # of a node that ended before its first frame
        raise FileNotFoundError(errno.ENOENT, 'no posture yet', str(path))
    records = np.frombuffer(data, dtype, offset=_HEAD_SIZE)
    whole = [r for r in records if r['sequence'] > 0 and r['checksum'] == _checksum(r.tobytes())]
    if not whole:
        raise InputFileError(path, 'a record with its checksum', 'none')
    last = max(whole, key=lambda record: int(record['sequence']))
    age_s = (now_ns - int(last['written_ns'])) * 1e-9
    if not 0.0 <= age_s <= MAX_AGE_S:
        raise InputFileError(
            path, f'a posture of the last {MAX_AGE_S / 3600.0:.0f} h', f'one of {age_s:.0f} s ago'
        )
    found = LastPosture(*(last[name].copy() for name in LastPosture._fields))
    if not _is_sound(found):
        raise InputFileError(path, 'finite numbers and unit quaternions', 'others')
    return found


def open_last_posture(
    path: Path, joint_names: Sequence[str], now_ns: int
) -> tuple[LastPostureFile, LastPosture | None, str]:
    """
    Return a new file in the place of an old one, what that held, and why it was refused or ''.

    Raises what `LastPostureFile` does.
    """
    last, refusal = None, ''
    try:
        last = read_last_posture(path, joint_names, now_ns)
    except FileNotFoundError:
        pass  # the first start
    except InputFileError as err:
        refusal = str(err)
    except OSError as err:
        refusal = f'{path}: expected a readable file, got {err.strerror}'
    kept = LastPostureFile(path, joint_names)
    if last is not None:
        # still there for the next start if this one ends before its first frame
        kept.write(now_ns, *last)
    return kept, last, refusal


def _is_sound(posture: LastPosture) -> bool:
    # every comparison is false for NaN
    squares = np.einsum('ij,ij->i', posture.rotations, posture.rotations)
    return bool(
        (np.abs(posture.root) <= MAX_COORDINATE_M).all()
        and (np.abs(squares - 1.0) <= UNIT_TOL).all()
        and (np.abs(posture.angles) <= MAX_ANGLE_RAD).all()
    )


def _record(n_angles: int) -> np.dtype:
    return np.dtype(
        [
            ('checksum', '<u8'),
            ('sequence', '<u8'),
            ('written_ns', '<i8'),
            ('root', '<f8', 3),
            ('rotations', '<f8', (16, 4)),
            ('angles', '<f8', n_angles),
        ]
    )


def _head(joint_names: Sequence[str]) -> bytes:
    boot = BOOT_ID.read_text() if BOOT_ID.exists() else ''
    return MAGIC + hashlib.sha256('\n'.join((boot, *joint_names)).encode()).digest()


def _lock(path: Path) -> IO[bytes]:
    """Return an open file beside another, locked until it is closed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f'{path.name}.lock')
    if beside.exists():
        require_file(beside)
    lock = beside.open('ab')
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise OSError(errno.EBUSY, 'one that another node writes') from None
    return lock


def _checksum(record: bytes | memoryview) -> int:
    return zlib.crc32(record[_CHECKSUM_SIZE:]) + 1  # zeros are no record


# The model.


@dataclass(frozen=True, slots=True)
class RetargetedFrame:
    """One frame of the puppet; the arrays are overwritten by the next step."""

    # Posture and figures of the solver, the posture blended where `eased` says so
    solution: SolverOutput
    angles: Floats  # Joint angles in the order of the model's `joint_names`, shape (n,) [rad]
    end_effector_velocities: Vec3s  # Of the puppet, by causal differences, shape (8, 3) [m/s]
    solve_time_us: float  # Time in the solver
    eased: bool  # Whether the posture is on its way back after a gap or a change
    cause: str = ''  # Why the blend begins with this frame, in words; '' if it does not


class RetargetModel:
    def __init__(
        self, character: Character, environment: Environment, config: RetargetConfig
    ) -> None:
        self._character, self._environment = character, environment
        self.whips = 0
        """Joint-frames in which the puppet's joint whipped and its performer's did not."""
        self._split = ContinuousEuler()
        self._blend = HoldAndBlend()
        self._performer = DiscontinuityDetector(PERFORMER_RATIO)
        self._solver: Solver
        self._leg_length = 0.0  # of the performer the solver was made for; 0 wants another
        self._stamp_ns: int | None = None
        self._cause = ''  # of a blend that begins with the next frame
        self._positions = np.zeros((8, 3))
        self._hips = np.zeros(3)
        self._before: tuple[Quats, Quats] | None = None  # puppet's and performer's rotations
        self._whipping = np.zeros(16, dtype=bool)
        self._joints: tuple[Floats, Floats] | None = None  # a robot's angles and rates
        self._velocities = np.zeros((8, 3))
        self.configure(character, config)

    def configure(
        self, character: Character, config: RetargetConfig, environment: Environment | None = None
    ) -> None:
        """
        Take another character or tuning; the puppet blends into what comes of it.

        The environment is by default that of before.
        """
        self._environment = environment or self._environment
        if character is not self._character:
            self._joints = None  # the angles of the same robot go on from where they are
        self._character = character
        self._config = config
        self._leg_length = 0.0
        self._blend.size = max(1.0, character.skeleton.leg_length / ADULT_LEG_M)

    def resume(self, last: LastPosture) -> None:
        """Hold, then blend from, what a model with the same joints published before."""
        self._cause = 'eases from the last posture before a restart'
        self._blend.resume(last.root, last.rotations)
        if self._character.robot is None:
            self._split.resume(last.angles, last.rotations)
        else:
            self._joints = last.angles.copy(), np.zeros(len(last.angles))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of the angles: the robot's own, or those of the joint split."""
        robot = self._character.robot
        return JOINT_NAMES if robot is None else robot.published_names

    def warm_up(self, *solvers: str) -> None:
        """Compile what a frame needs by the solvers, the configured one if none is named."""
        rest = self._character.skeleton
        rotations = np.zeros((16, 4))
        rotations[:, 0] = 1.0
        segments = rest.rest_positions() + [0.0, 0.0, rest.rest_root_height]
        for solver in solvers or (self._config.solver,):
            config = replace(self._config, solver=solver)
            model = RetargetModel(self._character, self._environment, config)
            for stamp_ns in (0, 10_000_000, 10_000_000_000):
                model.step(
                    stamp_ns,
                    segments[0].copy(),
                    segments,
                    rotations,
                    np.zeros((4, ROW)),
                    np.zeros((8, SELF_ROW)),
                    rest.leg_length,
                )

    def step(
        self,
        stamp_ns: int,
        root: Vec3,
        segments: Vec3s,
        rotations: Quats,
        rows: Floats,
        self_rows: Floats,
        leg_length: float,
        moving: Props = NO_PROPS,
        rests: Floats = NO_RESTS,
    ) -> RetargetedFrame | None:
        """
        Return the puppet's next frame, or None if the input is not usable.

        Root, joints (16, 3) and the leg length, hip to sole, are the performer's in world [m],
        and so are `moving`, the objects that move. Rests are on objects of the environment.
        """
        leg_length = self._config.performer_leg_length_m or leg_length
        if not MIN_LEG_LENGTH_M <= leg_length <= MAX_LEG_LENGTH_M:
            return None
        if not is_usable(root, segments, rotations, rows, self_rows):
            return None
        if not are_rests(rests, len(self._environment.objects)):
            return None
        dt_s = self._advance(stamp_ns)
        is_wary = self._blend.is_wary
        is_leap = self._performer.leaps(root, rotations, dt_s, is_wary=is_wary)
        if is_leap and is_wary:
            self._blend.wait()
        elif is_leap:
            self._blend.start()
            self._cause = self._cause or LEAP
        is_new = self._renew_solver(leg_length)
        hip_centre(segments, self._hips)
        start = perf_counter()
        solution = self._solver.solve(
            root,
            self._hips,
            rotations,
            rows,
            np.inf if is_new else dt_s,
            self_rows,
            moving,
            segments[HEAD],
            rests,
        )
        solve_time_us = (perf_counter() - start) * 1e6
        leaps = self._blend.leaps
        eased = self._blend.step(
            solution.root_position, solution.rotations, dt_s, self._config.ease_s
        )
        if self._blend.leaps != leaps:
            self._cause = self._cause or LEAP
        if eased:
            self._solver.repose(rows)
        if self._character.robot is None:
            angles = self._split.step(solution.rotations)
        else:
            angles = solution.angles
            before = angles if self._joints is None else self._joints[0]
            self._joints = angles.copy(), (angles - before) / min(max(dt_s, LEAST_S), LONGEST_S)
        self._count_whips(solution.rotations, rotations, np.inf if is_leap else dt_s)
        causal_velocities(solution.end_effectors, dt_s, self._positions, self._velocities)
        cause, self._cause = self._cause if eased else '', ''
        return RetargetedFrame(solution, angles, self._velocities, solve_time_us, eased, cause)

    def _count_whips(self, puppet: Quats, performer: Quats, dt_s: float) -> None:
        """Count joints that whip within this frame; none after a gap or a leap of the input."""
        if self._before is None:
            self._before = puppet.copy(), performer.copy()
        before, captured = self._before
        self.whips += whipping(before, puppet, captured, performer, dt_s, self._whipping)
        before[:], captured[:] = puppet, performer

    def _advance(self, stamp_ns: int) -> float:
        """Return the time since the last frame [s]; infinity, and a blend, after a gap."""
        dt_s = (stamp_ns - self._stamp_ns) * 1e-9 if self._stamp_ns is not None else np.inf
        self._stamp_ns = stamp_ns
        if 0.0 <= dt_s <= self._config.hold_after_s:
            return dt_s
        self._blend.start()
        if dt_s < 0.0:
            self._cause = f'eases after the clock stepped back by {-dt_s:.1f} s'
        elif np.isfinite(dt_s):
            self._cause = f'eases after a gap of {dt_s:.1f} s'
        return np.inf

    def _renew_solver(self, leg_length: float) -> bool:
        """Make a solver if there is none for this performer; return whether it is new."""
        if leg_length == self._leg_length:
            return False
        self._leg_length = leg_length
        self._solver = make_solver(
            self._config.solver,
            self._character,
            self._environment,
            leg_length,
            self._config.tuning,
        )
        if self._joints is not None and isinstance(self._solver, WholeBodySolver):
            self._solver.resume(*self._joints)
        self._blend.start()
        self._cause = self._cause or 'eases after a change of solver, character or tuning'
        return True
