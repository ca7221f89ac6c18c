# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures and films of bodies, objects and a floor, without a display."""

from puppet_view.render import command_render
from puppet_view.render.actors import Actor, line_up
from puppet_view.render.camera import Camera, View
from puppet_view.render.image import render_scene
from puppet_view.render.scene import Body, Capsule, SceneObject, Solid
from puppet_view.render.strip import even_instants, GUTTER_PX, render_strip, StripRow, Texts

__all__ = [
    'Actor',
    'Body',
    'Camera',
    'Capsule',
    'GUTTER_PX',
    'SceneObject',
    'Solid',
    'StripRow',
    'Texts',
    'View',
    'command_render',
    'even_instants',
    'line_up',
    'render_scene',
    'render_strip',
]
