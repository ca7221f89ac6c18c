# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The page of clips in a browser: they play, and points of the first can be dragged."""

from collections.abc import Callable, Sequence
from html import escape
from threading import Thread
from typing import Any

import numpy as np
from puppet_core.body import person
from puppet_core.math import Vec3
from puppet_edit.edit_session import EditSession, POINTS, REACH_S, warm_up
from puppet_edit.editor import PointGoal
from puppet_view.browser import played_page
from puppet_view.browser.body import BodyNodes
from puppet_view.browser.panel import HtmlText, rich_html, set_if_other, text_html
from puppet_view.browser.stage import BrowserStage, SceneSolid, SolidScene
from puppet_view.recording import RecordedBody
import viser

POINT, REACH, DRAG, READY = 'point', 'reach_s', 'drag', 'ready'
UNDO, REDO, REMOVE, SAVE, REDRAW = 'undo', 'redo', 'remove', 'save', 'redraw'
MAX_ROWS = 8  # of the list; the panel is to leave the bodies in sight
NO_ENTRY = 'none yet: drag a point'
_ROW = '<div style="margin:2px 0">{}. {}{}</div>'
_OFF = ' <b style="color:#c0392b">{:.1f} mm off</b>'

CLIP = 'clip'  # who it is, for no performer of a recording
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
            set_if_other(self.point, 'value', name)

    def report(self, text: str, is_error: bool = False) -> None:
        self.status.show(text_html(text, is_error))


class ClipPage(played_page.PlayedPage):
    panel: ClipPanel

    def __init__(
        self, stage: BrowserStage, session: EditSession, clips: Sequence[RecordedBody]
    ) -> None:
        """Build the page of at least one clip; the session is of the first."""
        self._session = session
        super().__init__(stage, clips)
        self._original = clips[0]
        self._is_dragging = False
        self.point = POINTS[0]  # what is dragged
        scene, edited = stage.server.scene, self.bodies[0].world.name
        self._before = BodyNodes(scene, 'before')
        self._before.set_parts(self._original.parts(), is_pale=True)
        self._goals = SolidScene(scene, f'{edited}/goals')
        self._handles = {name: self._handle(scene, f'{edited}/handles', name) for name in POINTS}
        self._gizmo = scene.add_transform_controls(
            f'{edited}/gizmo', scale=GIZMO_M, disable_rotations=True, depth_test=False
        )
        self._gizmo.on_update(self._on_gizmo)
        self.panel = ClipPanel(
            stage.server.gui, self.put, self.playback.n_frames, len(clips), session.path.name
        )
        stage.root.position = session.edited.root_positions[0] * (-1.0, -1.0, 0.0)
        self._show_session()
        self._arrange()

    def run(self) -> None:
        """Serve until interrupted; meanwhile get ready for the first drag."""
        self.panel.report('getting ready: the first time on a machine this takes a minute')

        def get_ready() -> None:
            warm_up(self._session.clip)
            self.put(READY)

        # no daemon: a compiler that is still at work when Python ends aborts the process
        Thread(target=get_ready).start()
        super().run()

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
        session, character = self._session, self._tracks[0].character
        skeleton = session.edited.skeleton
        is_another = skeleton is not character.skeleton
        if is_another:
            character = person(character.name, skeleton, character.colour)
        self._tracks[0] = RecordedBody.of_motion(CLIP, session.edited, character)
        if is_another:
            self.bodies[0].set_parts(self._tracks[0].parts())
        self.playback.n_frames = self._count_frames()
        self.playback.seek(self.playback.frame)
        errors = 1e3 * session.result.constraint_errors_m
        self.panel.show_entries([entry.text for entry in session.entries], errors.tolist())
        took = 1e3 * session.result.total_time_s
        text = f'edited in {took:.0f} ms' if session.entries else 'drag an arrow, or click a ball'
        is_written = session.is_saved or not session.entries
        self.panel.report(text if is_written else f'{text}; not written yet')

    def _origins(self) -> list[Vec3]:
        """Return where the clips begin if they stand beside each other, else one place."""
        if not self.panel.side.value:
            return [np.zeros(3)] * len(self._tracks)
        return [self._original.p_world[0, 0], *(t.p_world[0, 0] for t in self._tracks[1:])]

    def _follow(self) -> None:
        if not self._is_dragging:
            self._stage.follow(self._places()[:1], played_page.FOLLOW_FRACTION)

    def _show(self, is_time_shown: bool) -> None:
        played_page.move_to(self._before, self._original, self.playback.time_s)
        self._before.world.visible = bool(self.panel.before.value)
        self._draw_handles()

    def _draw_handles(self) -> None:
        is_still, frame = not self.playback.is_playing, self._edited_frame
        for name, handle in self._handles.items():
            set_if_other(handle, 'visible', is_still and name != self.point)
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

    def _handle(self, scene: viser.SceneApi, parent: str, name: str) -> viser.IcosphereHandle:
        radius, looks = HANDLES_M.get(name.split('_')[-1], HANDLE_M), {'opacity': 0.85}
        handle = scene.add_icosphere(
            f'{parent}/{name}', radius, HANDLE_COLOUR, subdivisions=2, cast_shadow=False, **looks
        )
        handle.on_click(lambda _: self.put(POINT, name))
        return handle
