# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures and films of bodies, objects and a floor, without a display."""

from puppet_view.render import command_render, film
from puppet_view.render.actors import Actor, line_up
from puppet_view.render.camera import Camera, View
from puppet_view.render.cast import objects_of
from puppet_view.render.image import render_scene
from puppet_view.render.scene import Body, Capsule, Solid
from puppet_view.render.strip import even_instants, GUTTER_PX, render_strip, StripRow, Texts
