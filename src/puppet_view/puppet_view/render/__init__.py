# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures and films of bodies, objects and a floor, without a display."""

from puppet_view.render.actors import Actor, line_up
from puppet_view.render.camera import Camera, View
from puppet_view.render.image import Label, render_scene
from puppet_view.render.labels import Texts
from puppet_view.render.scene import Body, Capsule, SceneObject, Solid
from puppet_view.render.strip import even_instants, render_strip, StripRow

__all__ = [
    'Actor', 'Body', 'Camera', 'Capsule', 'even_instants', 'Label', 'line_up', 'render_scene',
    'render_strip', 'SceneObject', 'Solid', 'StripRow', 'Texts', 'View',
]
