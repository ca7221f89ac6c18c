# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Who is in the pictures of `puppet_clip render`: captured, retargeted or recorded bodies."""

import argparse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import numpy as np
from puppet_core.body import Character, default_capsules, Motion, NO_PROPS, person, Props
from puppet_core.io import ConfigError, InputFileError, progress, PuppetError
from puppet_core.math import Floats, Quat, quaternions, Vec3
from puppet_retarget import offline
from puppet_retarget.importance import Environment, followed
from puppet_retarget.importance import objects as shapes
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import PERFORMER
from puppet_view.recording import RecordedBody, Recording
from puppet_view.render.actors import Actor
from puppet_view.render.scene import Capsule, SceneObject, Solid, UPRIGHT

RECORDED = 'recorded'
NOT_RECORDED = np.empty(0)  # times
UNKNOWN_RADIUS_M = 0.05
USUAL = (PERFORMER, 'sally', 'blubby')


class Casting:
    def __init__(self, arguments: argparse.Namespace) -> None:
        """Read the clip; PuppetError if it cannot be read, or a name is not known."""
        self._arguments = arguments
        self._tuning = clip_arguments.tuning(arguments.settings)
        self._environment = clip_arguments.find_environment(
            arguments.environment, arguments.script
        )
        self._recorded: Recording | None = None
        self._result: offline.RetargetResult | None = None
        names: tuple[str, ...] = USUAL
        if arguments.clip and clip_arguments.is_bag(arguments.clip):
            from puppet_view import bag_recording  # with ROS, which clips do not need

            self._recorded = recorded = bag_recording.read_recording(arguments.clip)
            who = ((PERFORMER, recorded.performer), (RECORDED, recorded.puppets))
            names = tuple(name for name, found in who if found)
        self._names = arguments.characters or names
        for name in self._names:
            if name not in (PERFORMER, RECORDED):
                self._character(name)  # a wrong name is reported before the work
        self.span = self._checked_span()  # frames and their rate [Hz] that instants are counted in

    def actors(self) -> list[Actor]:
        # puppets first: how important limbs are comes of retargeting
        found = {name: self._puppets(name) for name in self._names if name != PERFORMER}
        if PERFORMER in self._names:
            found[PERFORMER] = [self._captured()]
        return [actor for name in self._names for actor in found[name]]

    def _checked_span(self) -> tuple[int, float]:
        clip, recorded = self._arguments.clip, self._recorded
        if recorded is None:
            if RECORDED in self._names:
                raise ConfigError(f'--character: expected {RECORDED} of a bag only')
            return self._motion.n_frames, self._motion.rate_hz
        if RECORDED in self._names and not recorded.puppets:
            raise InputFileError(clip, 'postures of a puppet', 'none')
        if recorded.performer is None and any(name != RECORDED for name in self._names):
            hint = f'--character {RECORDED} shows the puppet that was recorded'
            raise InputFileError(clip, 'postures of the performer', 'none', hint=hint)
        return recorded.n_frames, recorded.rate_hz

    @cached_property
    def _motion(self) -> Motion:
        arguments = self._arguments
        if arguments.script:
            return clip_arguments.procedural_clip(arguments.script)
        if self._recorded is None:
            return clip_arguments.read_clip_and_props(arguments)
        from puppet_view import bag_motion  # likewise

        return bag_motion.read_bag_motion(arguments.clip)[0]

    def _character(self, name: str) -> Character:
        return clip_arguments.find_character(name, self._arguments.world_scale)

    def _puppets(self, name: str) -> list[Actor]:
        if self._recorded and name == RECORDED:
            return [self._driven(body, self._recorded) for body in self._recorded.puppets]
        character, motion = self._character(name), self._motion
        self._result = result = self._retargeted(character)
        moved = result.motion(character, motion.rate_hz)
        importances = offline.limb_importances(result) if self._arguments.importance else None
        scale = character.scale_for(motion.skeleton.leg_length)
        objects, title = self._objects(True, scale), character.name.capitalize()
        things = self._things(moved.props, True, scale)
        return [Actor(character, moved, title, importances, objects, things, self._times_s)]

    def _retargeted(self, character: Character) -> offline.RetargetResult:
        job = self._tuning.job(character, self._environment, self._arguments.solver)
        motion = self._motion
        with progress(f'retarget to {character.name}', motion.n_frames) as advance:
            return offline.retarget_motion(motion, job, advance)

    def _captured(self) -> Actor:
        recorded = self._recorded.performer if self._recorded else None
        motion = recorded.frames() if recorded else self._motion
        times = recorded.times_s if recorded else NOT_RECORDED
        body = clip_arguments.find_character(PERFORMER)
        if not self._arguments.script:
            body = person(PERFORMER, motion.skeleton, body.colour)
        importances = self._known_importances(times)
        if importances is None and self._arguments.importance:
            importances = offline.limb_importances(self._result or self._retargeted(body))
            motion, times = self._motion, self._times_s
        motion = replace(motion, props=self._performers_objects(motion))
        objects, title = self._objects(False), PERFORMER.capitalize()
        things = self._things(motion.props)
        return Actor(body, motion, title, importances, objects, things, times)

    def _performers_objects(self, motion: Motion) -> Props:
        """Return the objects that move, of what was recorded those not held."""
        if self._recorded is None and any(o.moves for o in self._environment.objects):
            result = self._result or self._retargeted(self._character(PERFORMER))
            return result.moving
        world = motion.world_segments()
        found = {o.name: followed(o, motion.props, *world) for o in self._environment.objects}
        seen = {name: place for name, place in found.items() if place is not None}
        if not seen:
            return NO_PROPS
        places, turns = zip(*seen.values())
        return Props(tuple(seen), np.stack(places, axis=1), np.stack(turns, axis=1))

    def _known_importances(self, times_s: Floats) -> Floats | None:
        """Return what was recorded of the limbs' importance at some times, if it is to be seen."""
        if self._recorded is None or not len(times_s) or not self._arguments.importance:
            return None
        return self._recorded.importance.limbs_at(times_s)

    def _driven(self, body: RecordedBody, recording: Recording) -> Actor:
        """Return a puppet that a bag recorded: of that name, in the shape that was published."""
        importances = self._known_importances(body.times_s)
        if importances is None and self._arguments.importance:
            raise InputFileError(self._arguments.clip, 'importance', 'none')
        recorded, character = body.character, body.character
        with suppress(PuppetError):
            character = self._character(body.name)
        skeleton = recorded.skeleton
        capsules = recorded.capsules or character.capsules or default_capsules(skeleton)
        character = replace(character, skeleton=skeleton, capsules=capsules)
        performer = recording.performer
        scale = character.scale_for(performer.character.skeleton.leg_length) if performer else 1.0
        objects, title, motion = self._objects(True, scale), body.name.capitalize(), body.frames()
        things = self._things(motion.props, True, scale)
        return Actor(character, motion, title, importances, objects, things, body.times_s)

    @property
    def _times_s(self) -> Floats:
        """Return the times of the frames of what is retargeted [s]."""
        performer = self._recorded.performer if self._recorded else None
        start_s = float(performer.times_s[0]) if performer else 0.0
        return start_s + np.arange(self._motion.n_frames) / self._motion.rate_hz

    def _objects(self, puppet: bool, world_scale: float = 1.0) -> tuple[SceneObject, ...]:
        return objects_of(self._environment, puppet, world_scale)

    def _things(
        self, props: Props, puppet: bool = False, world_scale: float = 1.0
    ) -> tuple[SceneObject, ...]:
        return things_of(self._environment, props.names, puppet, world_scale)


def objects_of(
    environment: Environment, puppet: bool = False, world_scale: float = 1.0
) -> tuple[SceneObject, ...]:
    """Return the solids that stand in the performer's or puppet's world; planes are left out."""
    return tuple(
        _solid(item.shape, scale * place.position, scale * place.size, place.orientation)
        for item in environment.objects
        for place, scale in [(item.puppet, world_scale) if puppet else (item.real, 1.0)]
        if not item.moves and item.shape != shapes.PLANE
    )


def things_of(
    environment: Environment, names: Sequence[str], puppet: bool = False, world_scale: float = 1.0
) -> tuple[SceneObject, ...]:
    """Return the solids that move, each in its own frame; a ball for what is not known."""
    known, scale = (
        {item.name: item for item in environment.objects},
        world_scale if puppet else 1.0,
    )
    return tuple(
        _solid(item.shape, np.zeros(3), scale * (item.puppet if puppet else item.real).size)
        if item is not None
        else Capsule(np.zeros(3), np.zeros(3), UNKNOWN_RADIUS_M)
        for item in map(known.get, names)
    )


def _solid(shape: int, position: Vec3, size: Vec3, orientation: Quat = UPRIGHT) -> SceneObject:
    if shape in (shapes.BOX, shapes.CYLINDER):
        return Solid(position, size, orientation, shape == shapes.CYLINDER)
    along = 0.5 * size[2] * (shape == shapes.CAPSULE)
    half = quaternions.rotate(orientation, np.array([0.0, 0.0, along]))
    return Capsule(position - half, position + half, float(size[0]))
