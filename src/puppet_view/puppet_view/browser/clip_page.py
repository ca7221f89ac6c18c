# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The page of clips in a browser: they play, and hands, feet and trunk of the first can be dragged.

What a drag does to the motion is decided by `puppet_edit.edit_session`.
"""

from collections.abc import Callable, Sequence
from html import escape
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
from puppet_core.body import Character, default_capsules, Motion
from puppet_core.math import Quats, Vec3s
from puppet_core.robots import merged_parts, read_shape, urdf_text
from puppet_edit.edit_session import EditSession, POINTS, REACH_S, warm_up
from puppet_edit.editor import PointGoal
from puppet_view.browser import played_page
from puppet_view.browser.body import BodyNodes
from puppet_view.browser.panel import HtmlText, rich_html, text_html
from puppet_view.browser.stage import BrowserStage, SceneSolid, SolidScene, STAGE
import viser

POINT, REACH, DRAG, READY = 'point', 'reach_s', 'drag', 'ready'
UNDO, REDO, REMOVE, SAVE, REDRAW = 'undo', 'redo', 'remove', 'save', 'redraw'
MAX_ROWS = 8  # of the list; the panel is to leave the bodies in sight
NO_ENTRY = 'none yet: drag a point'
_ROW = '<div style="margin:2px 0">{}. {}{}</div>'
_OFF = ' <b style="color:#c0392b">{:.1f} mm off</b>'

EDITED, BEFORE = 'clip0', 'before'
SIDE_STEP_M = 1.3  # between neighbouring clips
GIZMO_M, HANDLE_M, GOAL_M = 0.28, 0.035, 0.07
HANDLES_M = {'elbow': 0.055, 'knee': 0.07}  # those inside a limb are larger, to be seen
HANDLE_COLOUR = (245, 166, 35)
GOAL_COLOUR = (0.85, 0.12, 0.10, 0.9)
FAR_OPACITY, FAR_FRAMES = 0.18, 40.0  # of goals in other frames


class ClipPanel(played_page.PlayedPanel):
    def __init__(
        self,
        gui: viser.GuiApi,
        put: Callable[[str, Any], None],
        n_frames: int,
        n_clips: int,
        file_name: str,
    ) -> None:
        super().__init__(gui, put, n_frames)
        self._entries: tuple[str, ...] = ()
        tabs = gui.add_tab_group()
        with tabs.add_tab('Drag'):
            self.point = gui.add_dropdown('point', POINTS)
            text = 'feet that stand in this frame stay where they are'
            self.hold = gui.add_checkbox('hold feet', True, hint=text)
            text = 'how far a drag spreads to both sides'
            self.reach = gui.add_slider('reach [s]', 0.05, 2.0, 0.05, REACH_S, hint=text)
            self.steps = gui.add_button_group('edits', (UNDO, REDO))
        with tabs.add_tab('Constraints'):
            self.list = HtmlText(gui, rich_html(NO_ENTRY))
            self.chosen = gui.add_dropdown('entry', ('-',))
            self.remove = gui.add_button(REMOVE)
            self.save = gui.add_button(f'write {file_name}')
        with tabs.add_tab('View'):
            self.add_view(n_clips, file_name.rsplit('.', 1)[0])
            self.before = gui.add_checkbox('before the edit', False)
        self.status = HtmlText(gui)
        for name, control in ((POINT, self.point), (REACH, self.reach), (REDRAW, self.before)):
            self.connect(name, control)
        self.save.on_click(lambda _: put(SAVE, None))
        self.remove.on_click(lambda _: put(REMOVE, None))
        self.steps.on_click(lambda event: put(str(event.target.value), None))

    @property
    def chosen_entry(self) -> int | None:
        value = str(self.chosen.value)
        return self._entries.index(value) if value in self._entries else None

    def show_entries(self, texts: Sequence[str], errors_mm: Sequence[float]) -> None:
        """Show the constraints, and how far off each is."""
        rows = [
            _ROW.format(number, escape(text), _OFF.format(error) if error > 1.0 else '')
            for number, (text, error) in enumerate(zip(texts, errors_mm), start=1)
        ]
        if len(rows) > MAX_ROWS:
            rows = [f'<div>{len(rows) - MAX_ROWS} before these</div>', *rows[-MAX_ROWS:]]
        self.list.show(rich_html(''.join(rows) or NO_ENTRY))
        self._entries = tuple(f'{n}. {text}' for n, text in enumerate(texts, start=1))
        with self.silently():
            self.chosen.options = self._entries or ('-',)
            if self._entries:
                self.chosen.value = self._entries[-1]

    def show_point(self, name: str) -> None:
        with self.silently():
            played_page.set_if_other(self.point, 'value', name)

    def report(self, text: str, is_error: bool = False) -> None:
        self.status.show(text_html(text, is_error))


class ShownClip(NamedTuple):
    """A clip in the picture."""

    name: str  # as the user calls it
    motion: Motion  # what it does
    colour: tuple[float, float, float]  # of the body: red, green, blue in 0 .. 1


class ClipPage(played_page.PlayedPage):
    panel: ClipPanel

    def __init__(
        self, stage: BrowserStage, session: EditSession, clips: Sequence[ShownClip]
    ) -> None:
        """Build the page of at least one clip; the session is of the first."""
        self._session = session
        self._clips = tuple(clips)
        super().__init__(stage, self._count_frames(), clips[0].motion.rate_hz)
        self._is_dragging = False
        self.point = POINTS[0]  # what is dragged
        scene = stage.server.scene
        names = [f'clip{i}' for i in range(len(clips))]
        self._bodies = {name: BodyNodes(scene, name) for name in (*names, BEFORE)}
        self._worlds: dict[str, tuple[Motion, Quats, Vec3s]] = {}
        self._goals = SolidScene(scene, f'{STAGE}/{EDITED}/goals')
        self._handles = {name: self._handle(scene, name) for name in POINTS}
        self._gizmo = scene.add_transform_controls(
            f'{STAGE}/{EDITED}/gizmo', scale=GIZMO_M, disable_rotations=True, depth_test=False
        )
        self._gizmo.on_update(self._on_gizmo)
        self.panel = ClipPanel(
            stage.server.gui, self.put, self.playback.n_frames, len(clips), session.path.name
        )
        for name, clip in zip(names, clips):
            self._set_motion(name, clip.motion, clip.colour)
        self._set_motion(BEFORE, clips[0].motion, clips[0].colour, is_pale=True)
        stage.root.position = session.edited.root_positions[0] * (-1.0, -1.0, 0.0)
        _, q_world, p_world = self._worlds[EDITED]
        self._row, front = played_page.row_direction(q_world[0, 0], p_world[:, 0])
        played_page.look_at_row(stage, self._row, front, len(clips))
        self._show_session()
        self._arrange()

    def run(self) -> None:
        """Serve until interrupted; meanwhile get ready for the first drag."""
        self.panel.report('getting ready: the first time on a machine this takes a minute')

        def get_ready() -> None:
            warm_up(self._session.clip)
            self.put(READY)

        Thread(target=get_ready, daemon=True).start()
        super().run()

    def _count_frames(self) -> int:
        """Return the frames of the longest clip, at the first one's rate."""
        rate = self._clips[0].motion.rate_hz
        others = [c.motion.n_frames / c.motion.rate_hz * rate for c in self._clips[1:]]
        return int(max([self._session.edited.n_frames, *others]))

    async def _on_gizmo(self, event: viser.TransformControlsEvent) -> None:
        # in order, since it does not wait for anything
        if event.phase == 'start':
            self._is_dragging = True
        elif event.phase == 'end':
            self.put(DRAG, np.array(event.target.position))

    def _do(self, name: str, value: Any) -> None:
        session, panel, frame = self._session, self.panel, self._edited_frame
        if name == POINT:
            self.point = str(value)
            panel.show_point(self.point)
        elif name == SAVE:
            session.save()
            panel.report(f'written: {session.path}')
        elif name == DRAG:
            self._is_dragging = False
            held = session.standing_feet(frame) if panel.hold.value else ()
            session.drag(self.point, frame, value, [h for h in held if h != self.point])
        elif name == REACH:
            session.set_reach(float(value))
        elif name == UNDO:
            session.undo()
        elif name == REDO:
            session.redo()
        elif name == REMOVE and panel.chosen_entry is not None:
            session.remove(panel.chosen_entry)
        else:
            super()._do(name, value)
        if name in (DRAG, REACH, UNDO, REDO, REMOVE, READY):
            self._show_session()

    def _show_error(self, text: str) -> None:
        self.panel.report(text, is_error=True)

    @property
    def _edited_frame(self) -> int:
        return min(self.playback.frame, self._session.edited.n_frames - 1)

    def _show_session(self) -> None:
        session = self._session
        self._set_motion(EDITED, session.edited, self._clips[0].colour)
        self.playback.n_frames = self._count_frames()
        self.playback.seek(self.playback.frame)
        errors = 1e3 * session.result.constraint_errors_m
        self.panel.show_entries([entry.text for entry in session.entries], errors.tolist())
        took = 1e3 * session.result.total_time_s
        text = f'edited in {took:.0f} ms' if session.entries else 'drag an arrow, or click a ball'
        is_written = session.is_saved or not session.entries
        self.panel.report(text if is_written else f'{text}; not written yet')

    def _set_motion(
        self, name: str, motion: Motion, colour: tuple[float, float, float], is_pale: bool = False
    ) -> None:
        """Let a body do a motion; make its meshes anew if it is another body."""
        before = self._worlds.get(name)
        if before is None or before[0].skeleton is not motion.skeleton:
            skeleton = motion.skeleton
            body = Character('clip', '', skeleton, default_capsules(skeleton), colour)
            self._bodies[name].set_parts(merged_parts(read_shape(urdf_text(body))), is_pale)
        self._worlds[name] = (motion, *motion.world_segments())

    def _arrange(self) -> None:
        first = self._clips[0].motion.root_positions[0]
        for number, clip in enumerate(self._clips):
            shift = np.zeros(3)
            if self.panel.side.value:  # beside the first, wherever it begins
                shift = (first - clip.motion.root_positions[0]) * (1.0, 1.0, 0.0)
                shift += number * SIDE_STEP_M * self._row
            body = self._bodies[f'clip{number}']
            body.world.position = shift
            body.set_caption(clip.name if self.panel.names.value else '')

    def _draw(self) -> None:
        panel, playback = self.panel, self.playback
        state = (playback.frame, playback.is_playing, panel.before.value)
        if state != self._drawn:
            self._drawn = state
            with self._stage.at_once():
                for name, (motion, q_world, p_world) in self._worlds.items():
                    frame = min(round(playback.time_s * motion.rate_hz), motion.n_frames - 1)
                    self._bodies[name].move(q_world[frame], p_world[frame])
                self._bodies[BEFORE].world.visible = bool(panel.before.value)
                self._draw_handles()
            panel.show_time(playback)
        if panel.follow.value and not self._is_dragging:
            self._stage.follow(
                [self._worlds[EDITED][2][self._edited_frame, 0]], played_page.FOLLOW_FRACTION
            )

    def _draw_handles(self) -> None:
        is_still, frame = not self.playback.is_playing, self._edited_frame
        for name, handle in self._handles.items():
            played_page.set_if_other(handle, 'visible', is_still and name != self.point)
            if is_still:
                handle.position = self._session.place(name, frame)
        self._gizmo.visible = is_still
        if is_still and not self._is_dragging:
            self._gizmo.position = self._session.place(self.point, frame)
        self._goals.show(self._goal_solids(frame))

    def _goal_solids(self, frame: int) -> list[SceneSolid]:
        """Return the goals of single frames, fainter the farther their frame is."""
        solids = []
        for number, entry in enumerate(self._session.entries):
            goal = entry.constraint
            if not isinstance(goal, PointGoal) or len(goal.frames) > 1:
                continue
            gap = abs(int(goal.frames[0]) - frame)
            opacity = round(max(FAR_OPACITY, GOAL_COLOUR[3] * (1.0 - gap / FAR_FRAMES)), 2)
            looks = np.array([1.0, 0.0, 0.0, 0.0]), np.full(3, GOAL_M), (*GOAL_COLOUR[:3], opacity)
            solids.append(SceneSolid('goals', str(number), 'sphere', goal.goals[0], *looks))
        return solids

    def _handle(self, scene: viser.SceneApi, name: str) -> viser.IcosphereHandle:
        radius = HANDLES_M.get(name.split('_')[-1], HANDLE_M)
        path, looks = f'{STAGE}/{EDITED}/handles/{name}', {'cast_shadow': False, 'opacity': 0.85}
        handle = scene.add_icosphere(path, radius, HANDLE_COLOUR, subdivisions=2, **looks)
        handle.on_click(lambda _: self.put(POINT, name))
        return handle
