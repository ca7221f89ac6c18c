# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Who is in the pictures of `puppet_clip render`: captured, retargeted or recorded bodies."""

import argparse
from dataclasses import replace

import numpy as np
from puppet_core.body import Character, default_capsules, Motion
from puppet_core.io import ConfigError, InputFileError, progress, PuppetError
from puppet_core.math import Floats, quaternions
from puppet_retarget.importance import Environment
from puppet_retarget.importance import objects as shapes
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import (
    ConfigFiles,
    limb_importances,
    PERFORMER,
    retarget_motion,
    RetargetJob,
    RetargetResult,
)
from puppet_view.bag_motion import read_bag_motion
from puppet_view.recording import read_recording, RecordedBody, Recording
from puppet_view.render.actors import Actor
from puppet_view.render.scene import Capsule, SceneObject, Solid

RECORDED = 'recorded'
USUAL = (PERFORMER, 'sally', 'blubby')


class Casting:
    """The bodies of one clip or bag."""

    def __init__(self, arguments: argparse.Namespace, files: ConfigFiles) -> None:
        """Read the clip; PuppetError if it cannot be read, or a name is not known."""
        self._arguments, self._files = arguments, files
        self._tuning = clip_arguments.tuning(arguments.settings, arguments.preset)
        self._environment: Environment = clip_arguments.find_environment(
            files, arguments.environment, arguments.procedural
        )
        self._motion: Motion | None = None
        self._recorded: Recording | None = None
        self._result: RetargetResult | None = None
        names = arguments.characters or USUAL
        if arguments.clip and clip_arguments.is_bag(arguments.clip):
            self._recorded = read_recording(arguments.clip)
            names = arguments.characters or self._present()
        self._names = names
        for name in names:
            if name not in (PERFORMER, RECORDED):
                self._character(name)  # a wrong name is reported before the work
        self.span = self._read()
        """Frames and their rate [Hz] that instants are counted in."""

    def actors(self) -> list[Actor]:
        """Return the bodies in order, each with what it does."""
        # puppets first: how important limbs are comes of retargeting
        found = {name: self._actors(name) for name in self._names if name != PERFORMER}
        if PERFORMER in self._names:
            found[PERFORMER] = [self._captured()]
        return [actor for name in self._names for actor in found[name]]

    def _present(self) -> tuple[str, ...]:
        recorded = self._recorded
        assert recorded is not None
        who = ((PERFORMER, recorded.performer), (RECORDED, recorded.puppets))
        return tuple(name for name, found in who if found)

    def _read(self) -> tuple[int, float]:
        """Return frames and rate of the clip or bag."""
        arguments, recorded = self._arguments, self._recorded
        if recorded is None:
            if RECORDED in self._names:
                raise ConfigError(f'--character: expected {RECORDED} of a bag only')
            motion = self._captured_motion()
            return motion.n_frames, motion.rate_hz
        if RECORDED in self._names and not recorded.puppets:
            raise InputFileError(arguments.clip, 'postures of a puppet', 'none')
        if recorded.performer is None and any(name != RECORDED for name in self._names):
            raise InputFileError(
                arguments.clip,
                'postures of the performer',
                'none',
                hint=f'--character {RECORDED} shows the puppet that was recorded',
            )
        return recorded.n_frames, recorded.rate_hz

    def _captured_motion(self) -> Motion:
        """Return what is retargeted, at a constant rate."""
        arguments = self._arguments
        if self._motion is not None:
            return self._motion
        if arguments.procedural:
            self._motion = clip_arguments.procedural_clip(self._files)
        elif self._recorded is None:
            self._motion = clip_arguments.read_clip(arguments.clip, arguments, arguments.asf)
        else:
            self._motion = read_bag_motion(arguments.clip)[0]
        return self._motion

    def _character(self, name: str) -> Character:
        return clip_arguments.find_character(self._files, name, self._arguments.world_scale)

    def _actors(self, name: str) -> list[Actor]:
        if name == RECORDED:
            assert self._recorded is not None
            return [self._driven(body) for body in self._recorded.puppets]
        character, motion = self._character(name), self._captured_motion()
        result = self._retargeted(character)
        self._result = result
        return [
            Actor(
                character,
                result.motion(character, motion.rate_hz),
                character.name.capitalize(),
                limb_importances(result) if self._arguments.importance else None,
                self._objects(character.scale_for(motion.skeleton.leg_length)),
                self._start_s(),
            )
        ]

    def _retargeted(self, character: Character) -> RetargetResult:
        tuning = self._tuning
        job = RetargetJob(
            character,
            self._environment,
            self._arguments.solver,
            tuning.importance,
            tuning.solver,
            tuning.self_interaction,
        )
        motion = self._captured_motion()
        with progress(f'retarget to {character.name}', motion.n_frames) as advance:
            return retarget_motion(motion, job, advance)

    def _captured(self) -> Actor:
        recorded = None if self._recorded is None else self._recorded.performer
        motion = recorded.frames() if recorded else self._captured_motion()
        performer = clip_arguments.find_character(self._files, PERFORMER)
        if not self._arguments.procedural:
            skeleton = motion.skeleton
            performer = Character(
                PERFORMER, '', skeleton, default_capsules(skeleton), performer.colour
            )
        times = recorded.times_s if recorded else None
        importances = None
        if self._arguments.importance:
            importances = self._known_importances(times)
            if importances is None:
                result = self._result or self._retargeted(performer)
                importances, times = limb_importances(result), None
                motion = self._captured_motion()
        return Actor(
            performer,
            motion,
            PERFORMER.capitalize(),
            importances,
            self._objects(None),
            self._start_s(),
            times,
        )

    def _known_importances(self, times_s: Floats | None) -> Floats | None:
        """Return what was recorded of the limbs' importance at some times."""
        if self._recorded is None or times_s is None:
            return None
        return self._recorded.importance.limbs_at(times_s)

    def _driven(self, body: RecordedBody) -> Actor:
        """Return a puppet that a bag recorded."""
        importances = None
        if self._arguments.importance:
            importances = self._known_importances(body.times_s)
            if importances is None:
                raise InputFileError(self._arguments.clip, 'importance', 'none')
        character = self._recorded_character(body)
        performer = self._recorded.performer if self._recorded else None
        scale = character.scale_for(performer.skeleton.leg_length) if performer else 1.0
        return Actor(
            character,
            body.frames(),
            body.name.capitalize(),
            importances,
            self._objects(scale),
            0.0,
            body.times_s,
        )

    def _recorded_character(self, body: RecordedBody) -> Character:
        """Return the character of that name in the shape that was published."""
        try:
            named = self._character(body.name)
        except PuppetError:
            named = Character(body.name, '', body.skeleton, ())
        capsules = body.capsules() or named.capsules or default_capsules(body.skeleton)
        return replace(named, skeleton=body.skeleton, capsules=capsules)

    def _start_s(self) -> float:
        recorded = self._recorded
        if recorded is None or recorded.performer is None:
            return 0.0
        return float(recorded.performer.times_s[0])

    def _objects(self, scale: float | None) -> tuple[SceneObject, ...]:
        """Return the performer's solids, or the puppet's in a world of the given scale."""
        if self._arguments.no_objects:
            return ()
        if scale is None:
            return objects_of(self._environment)
        return objects_of(self._environment, True, scale)


def objects_of(
    environment: Environment, puppet: bool = False, world_scale: float = 1.0
) -> tuple[SceneObject, ...]:
    """Return the solids of the performer's or the puppet's environment; planes are left out."""
    objects: list[SceneObject] = []
    for scene_object in environment.objects:
        place = scene_object.puppet if puppet else scene_object.real
        scale = world_scale if puppet else 1.0
        position, size = scale * place.position, scale * place.size
        if scene_object.shape in (shapes.BOX, shapes.CYLINDER):
            is_cylinder = scene_object.shape == shapes.CYLINDER
            objects.append(Solid(position, size, place.orientation, is_cylinder))
        elif scene_object.shape in (shapes.SPHERE, shapes.CAPSULE):
            along = 0.5 * size[2] * (scene_object.shape == shapes.CAPSULE)
            half = quaternions.rotate(place.orientation, np.array([0.0, 0.0, along]))
            objects.append(Capsule(position - half, position + half, float(size[0])))
    return tuple(objects)
