# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Who is in the pictures of `puppet_clip render`: captured, retargeted or recorded bodies."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from puppet_core.character import Character, default_capsules
from puppet_core.errors import ConfigError, InputFileError, PuppetError
from puppet_core.posture import Motion
from puppet_retarget.importance.environment import Environment
from puppet_retarget.offline import clip_arguments
from puppet_retarget.offline.actor import Actor
from puppet_retarget.offline.clip_arguments import ConfigFiles, PERFORMER
from puppet_retarget.offline.clip_retarget import (
    limb_importances,
    retarget_motion,
    RetargetJob,
    RetargetResult,
)
from puppet_retarget.offline.picture_body import objects_of, Pill, Solid
from puppet_retarget.offline.recorded import Recorded, RecordedBody
from puppet_retarget.offline.terminal_progress import progress

RECORDED = 'recorded'
USUAL = (PERFORMER, 'sally', 'blubby')


class Bags(Protocol):
    """How bags are read, which needs ROS."""

    def read_recorded(self, path: Path) -> Recorded:
        """Return the bodies in a bag."""
        ...


class Casting:
    """The bodies of one clip or bag."""

    def __init__(
        self, arguments: argparse.Namespace, files: ConfigFiles, bags: Bags | None
    ) -> None:
        """
        Read the clip.

        Raises
        ------
        PuppetError : if it cannot be read, or a name is not known.

        """
        self._arguments, self._files = arguments, files
        self._tuning = clip_arguments.tuning(arguments.settings, arguments.preset)
        self._environment: Environment = clip_arguments.find_environment(
            files, arguments.environment, arguments.procedural
        )
        self._recorded: Recorded | None = None
        self._result: RetargetResult | None = None
        names = arguments.characters or USUAL
        if bags is not None and arguments.clip and clip_arguments.is_bag(arguments.clip):
            self._recorded = bags.read_recorded(arguments.clip)
            names = arguments.characters or self._present()
        self._names = names
        for name in names:
            if name not in (PERFORMER, RECORDED):
                self._character(name)  # a wrong name is told before the work
        self.motion = self._read()

    def actors(self) -> list[Actor]:
        """Return the bodies in order, each with what it does."""
        # puppets first: how important limbs are comes of retargeting
        found = {name: self._actor(name) for name in self._names if name != PERFORMER}
        if PERFORMER in self._names:
            found[PERFORMER] = self._captured()
        return [found[name] for name in self._names]

    def _present(self) -> tuple[str, ...]:
        recorded = self._recorded
        assert recorded is not None
        who = ((PERFORMER, recorded.performer), (RECORDED, recorded.puppet))
        return tuple(name for name, body in who if body is not None)

    def _read(self) -> Motion:
        """Return the motion that instants are counted in."""
        arguments = self._arguments
        if arguments.procedural:
            return clip_arguments.procedural_clip(self._files)
        if self._recorded is None:
            if RECORDED in self._names:
                raise ConfigError(f'--character: expected {RECORDED} of a bag only')
            return clip_arguments.read_clip(arguments.clip, arguments, arguments.asf)
        performer, puppet = self._recorded.performer, self._recorded.puppet
        if RECORDED in self._names and puppet is None:
            raise InputFileError(arguments.clip, 'postures of a puppet', 'none')
        if performer is None and any(name != RECORDED for name in self._names):
            raise InputFileError(
                arguments.clip, 'postures of the performer', 'none',
                hint=f'--character {RECORDED} shows the puppet that was recorded',
            )  # fmt: skip
        body = performer or puppet
        assert body is not None
        return body.motion

    def _character(self, name: str) -> Character:
        return clip_arguments.find_character(self._files, name, self._arguments.world_scale)

    def _actor(self, name: str) -> Actor:
        if name == RECORDED:
            return self._driven()
        character = self._character(name)
        result = self._retargeted(character)
        self._result = result
        return Actor(
            character, result.motion(character, self.motion.rate_hz),
            character.name.capitalize(),
            limb_importances(result) if self._arguments.importance else None,
            self._objects(character.scale_for(self.motion.skeleton.leg_length)),
            self._start_s(),
        )  # fmt: skip

    def _retargeted(self, character: Character) -> RetargetResult:
        tuning = self._tuning
        job = RetargetJob(
            character, self._environment, self._arguments.solver, tuning.importance,
            tuning.solver, tuning.self_interaction,
        )  # fmt: skip
        with progress(f'retarget to {character.name}', self.motion.n_frames) as advance:
            return retarget_motion(self.motion, job, advance)

    def _captured(self) -> Actor:
        performer = clip_arguments.find_character(self._files, PERFORMER)
        if not self._arguments.procedural:
            skeleton = self.motion.skeleton
            performer = Character(
                PERFORMER, '', skeleton, default_capsules(skeleton), performer.colour
            )
        importances = None
        if self._arguments.importance:
            recorded = self._recorded
            if recorded is not None and recorded.performer is not None:
                importances = recorded.importances_of(recorded.performer)
            if importances is None:
                importances = limb_importances(self._result or self._retargeted(performer))
        return Actor(
            performer, self.motion, PERFORMER.capitalize(), importances, self._objects(None),
            self._start_s(),
        )  # fmt: skip

    def _driven(self) -> Actor:
        """Return the puppet that a bag recorded."""
        assert self._recorded is not None and self._recorded.puppet is not None
        body = self._recorded.puppet
        importances = None
        if self._arguments.importance:
            importances = self._recorded.importances_of(body)
            if importances is None:
                raise InputFileError(self._arguments.clip, 'importance', 'none')
        character = self._recorded_character(body)
        leg = self.motion.skeleton.leg_length
        return Actor(
            character, body.motion, (body.name or RECORDED).capitalize(), importances,
            self._objects(character.scale_for(leg) if self._recorded.performer else 1.0),
            self._recorded.start_s(body),
        )  # fmt: skip

    def _recorded_character(self, body: RecordedBody) -> Character:
        """Return the shape that was published, or else that of the character of that name."""
        try:
            named = self._character(body.name)
        except PuppetError:
            named = Character(body.name, '', body.motion.skeleton, ())
        capsules = body.capsules or named.capsules or default_capsules(body.motion.skeleton)
        return replace(named, skeleton=body.motion.skeleton, capsules=capsules)

    def _start_s(self) -> float:
        recorded = self._recorded
        if recorded is None or recorded.performer is None:
            return 0.0
        return recorded.start_s(recorded.performer)

    def _objects(self, scale: float | None) -> tuple[Solid | Pill, ...]:
        """Return the performer's solids, or the puppet's in a world of the given scale."""
        if self._arguments.no_objects:
            return ()
        if scale is None:
            return objects_of(self._environment)
        return objects_of(self._environment, True, scale)
