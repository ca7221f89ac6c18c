# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The page of clips in a browser: they play, and hands, feet and trunk of the first can be dragged.

`ClipView` has the scene, `ClipViewPanel` the controls, which only report user events. Events go
into one queue, which a single loop processes. What a drag does to the motion is decided by
`puppet_edit.edit_session`.
"""

from collections.abc import Callable, Sequence
from html import escape
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
from puppet_core.body import Character, default_capsules, Motion
from puppet_core.io import PuppetError
from puppet_core.math import Quats, Vec3s
from puppet_core.robots import merged_parts, Part, read_shape, urdf_text
from puppet_edit.edit_session import EditSession, POINTS, REACH_S, warm_up
from puppet_edit.editor import PointGoal
from puppet_view.browser.body import BodyNodes
from puppet_view.browser.panel import HtmlText, QuietPanel, rich_html, ScreenshotButton, text_html
from puppet_view.browser.stage import BrowserStage, SceneSolid, SolidScene, STAGE
from puppet_view.browser.time_controls import do_time, run_on, TimeControls
from puppet_view.playback import Playback
from puppet_view.shown_motion import row_camera, row_direction
import viser

POINT, REACH = 'point', 'reach_s'
UNDO, REDO, REMOVE, SAVE, ARRANGE = 'undo', 'redo', 'remove', 'save', 'arrange'
MAX_ROWS = 8  # of the list; the panel is to leave the bodies in sight
NO_ENTRY = 'none yet: drag a point'
_ROW = '<div style="margin:2px 0">{number}. {text}{error}</div>'

DRAG, READY = 'drag', 'ready'
EDITED, BEFORE = 'clip0', 'before'
SIDE_STEP_M = 1.3  # between neighbouring clips
FOLLOW_SHARE = 0.15  # of the way to the body that the stage moves in a frame
GIZMO_M, HANDLE_M, GOAL_M = 0.28, 0.035, 0.07
HANDLES_M = {'elbow': 0.055, 'knee': 0.07}  # those inside a limb are larger, to be seen
HANDLE_COLOUR = (245, 166, 35)
GOAL_COLOUR = (0.85, 0.12, 0.10, 0.9)
FAR_OPACITY, FAR_FRAMES = 0.18, 40.0  # of goals in other frames


class ClipViewPanel(QuietPanel):
    """Controls and texts beside the scene."""

    def __init__(
        self,
        gui: viser.GuiApi,
        on_event: Callable[[str, object], None],
        n_frames: int,
        n_clips: int,
        file_name: str,
    ) -> None:
        """
        Build the panel.

        Parameters
        ----------
        gui : viser.GuiApi
            Where.
        on_event : callable
            Called with a name and a value, from another thread.
        n_frames, n_clips : int
            What is shown.
        file_name : str
            What the button writes.

        """
        super().__init__(gui, 'puppet view')
        self._on_event = on_event
        self._entries: tuple[str, ...] = ()
        self.time = TimeControls(gui, self, on_event, n_frames)
        """The time line."""
        tabs = gui.add_tab_group()
        with tabs.add_tab('Drag'):
            self.point = gui.add_dropdown('point', POINTS)
            self.hold = gui.add_checkbox(
                'hold feet', True, hint='feet that stand in this frame stay where they are'
            )
            self.reach = gui.add_slider(
                'reach [s]',
                min=0.05,
                max=2.0,
                step=0.05,
                initial_value=REACH_S,
                hint='how far a drag spreads to both sides',
            )
            self.steps = gui.add_button_group('edits', (UNDO, REDO))
        with tabs.add_tab('Constraints'):
            self._list = HtmlText(gui, rich_html(NO_ENTRY))
            self.chosen = gui.add_dropdown('entry', ('-',))
            self.remove = gui.add_button(REMOVE)
            self.save = gui.add_button(f'write {file_name}')
        with tabs.add_tab('View'):
            self.side = gui.add_checkbox('side by side', n_clips > 1, visible=n_clips > 1)
            self.names = gui.add_checkbox('names', n_clips > 1)
            self.before = gui.add_checkbox('before the edit', False)
            self.follow = gui.add_checkbox('follow', True)
            self.screenshot = ScreenshotButton(gui, file_name.rsplit('.', 1)[0])
        self._status = HtmlText(gui)
        self._connect()

    def _connect(self) -> None:
        for name, control in (
            (POINT, self.point),
            (REACH, self.reach),
            (ARRANGE, self.side),
            (ARRANGE, self.names),
            (ARRANGE, self.before),
        ):
            control.on_update(lambda _, name=name, control=control: self._say(name, control.value))
        self.save.on_click(lambda _: self._say(SAVE, None))
        self.remove.on_click(lambda _: self._say(REMOVE, None))
        self.steps.on_click(lambda event: self._say(str(event.target.value), None))

    @property
    def chosen_entry(self) -> int | None:
        """Return the index of the entry that is chosen in the list."""
        value = str(self.chosen.value)
        return self._entries.index(value) if value in self._entries else None

    def show_entries(self, texts: Sequence[str], errors_mm: Sequence[float]) -> None:
        """Show the constraints, and how far off each is."""
        rows = [
            _ROW.format(
                number=number,
                text=escape(text),
                error=f' <b style="color:#c0392b">{error:.1f} mm off</b>' if error > 1.0 else '',
            )
            for number, (text, error) in enumerate(zip(texts, errors_mm), start=1)
        ]
        if len(rows) > MAX_ROWS:
            rows = [f'<div>{len(rows) - MAX_ROWS} before these</div>', *rows[-MAX_ROWS:]]
        self._list.show(rich_html(''.join(rows) or NO_ENTRY))
        self._entries = tuple(f'{n}. {text}' for n, text in enumerate(texts, start=1))
        with self.silently():
            self.chosen.options = self._entries or ('-',)
            if self._entries:
                self.chosen.value = self._entries[-1]

    def show_point(self, name: str) -> None:
        """Show which point is dragged."""
        with self.silently():
            if self.point.value != name:
                self.point.value = name

    def show_reach(self, reach_s: float) -> None:
        """Show how far drags spread."""
        with self.silently():
            self.reach.value = reach_s

    def say(self, text: str, is_error: bool = False) -> None:
        """Show a line below the list."""
        self._status.show(text_html(text, is_error))

    @property
    def status(self) -> str:
        """Return the line as it is shown."""
        return self._status.html

    @property
    def listed(self) -> str:
        """Return the list as it is shown."""
        return self._list.html

    def _say(self, name: str, value: object) -> None:
        if not self.is_silent:
            self._on_event(name, value)


class ShownClip(NamedTuple):
    """A clip in the picture."""

    name: str
    """As the user calls it."""

    motion: Motion
    """What it does."""

    colour: tuple[float, float, float]
    """Of the body: red, green, blue in 0 .. 1."""


class ClipView:
    """A page with clips, the first of which is edited."""

    def __init__(
        self, stage: BrowserStage, session: EditSession, clips: Sequence[ShownClip]
    ) -> None:
        """
        Build the page.

        Parameters
        ----------
        stage : BrowserStage
            An empty page.
        session : EditSession
            Of the first clip.
        clips : sequence of ShownClip
            At least one.

        """
        self._stage = stage
        self._session = session
        self._clips = tuple(clips)
        self._events: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._is_dragging = False
        self._drawn: tuple[object, ...] = ()
        self.point = POINTS[0]
        """What is dragged."""
        self.playback = Playback(self._n_frames, self._clips[0].motion.rate_hz)
        """Time."""
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
        self.panel = ClipViewPanel(
            stage.server.gui, self._put, self._n_frames, len(clips), session.path.name
        )
        for name, clip in zip(names, clips):
            self._take(name, clip.motion, clip.colour)
        self._take(BEFORE, clips[0].motion, clips[0].colour, is_pale=True)
        root = session.edited.root_positions[0]
        stage.root.position = (-root[0], -root[1], 0.0)
        _, q_world, p_world = self._worlds[EDITED]
        self._row, front = row_direction(q_world[0, 0], p_world[:, 0])
        stage.look(*row_camera(self._row, front, len(clips)))
        self._show_session()
        self._arrange()

    def run(self) -> None:
        """Serve until interrupted; meanwhile get ready for the first drag."""
        self.panel.say('getting ready: the first time on a machine this takes a minute')
        Thread(target=self._get_ready, daemon=True).start()
        run_on(self.step)

    def step(self, elapsed_s: float) -> None:
        """Do what was asked for, let time run, and draw."""
        while True:
            try:
                name, value = self._events.get_nowait()
            except Empty:
                break
            try:
                self._do(name, value)
            except (PuppetError, OSError) as err:
                self.panel.say(str(err), is_error=True)
                self._drawn = ()
        self.playback.step(elapsed_s)
        self._draw()

    @property
    def _n_frames(self) -> int:
        """Return frames of the longest clip, in the first one's."""
        rate = self._clips[0].motion.rate_hz
        others = [c.motion.n_frames / c.motion.rate_hz * rate for c in self._clips[1:]]
        return int(max([self._session.edited.n_frames, *others]))

    def _get_ready(self) -> None:
        warm_up(self._session.clip)
        self._put(READY, None)

    def _put(self, name: str, value: object) -> None:
        self._events.put((name, value))

    async def _on_gizmo(self, event: viser.TransformControlsEvent) -> None:
        # in order, since it does not wait for anything
        if event.phase == 'start':
            self._is_dragging = True
        elif event.phase == 'end':
            self._put(DRAG, np.array(event.target.position))

    def _do(self, name: str, value: Any) -> None:
        session = self._session
        if do_time(self.playback, name, value):
            pass
        elif name == POINT:
            self.point = str(value)
            self.panel.show_point(self.point)
        elif name == ARRANGE:
            self._arrange()
        elif name == SAVE:
            session.save()
            self.panel.say(f'written: {session.path}')
        else:
            self._edit(name, value)
        self._drawn = ()

    def _edit(self, name: str, value: Any) -> None:
        session, frame = self._session, self._edited_frame
        if name == DRAG:
            self._is_dragging = False
            held = session.standing_feet(frame) if self.panel.hold.value else ()
            session.drag(self.point, frame, value, [h for h in held if h != self.point])
        elif name == REACH:
            session.set_reach(float(value))
        elif name == UNDO:
            session.undo()
        elif name == REDO:
            session.redo()
        elif name == REMOVE and self.panel.chosen_entry is not None:
            session.remove(self.panel.chosen_entry)
        self._show_session()

    @property
    def _edited_frame(self) -> int:
        return min(self.playback.frame, self._session.edited.n_frames - 1)

    def _show_session(self) -> None:
        session = self._session
        self._take(EDITED, session.edited, self._clips[0].colour)
        self.playback.set_length(self._n_frames)
        errors = 1e3 * session.result.constraint_errors_m
        self.panel.show_entries([entry.text for entry in session.entries], errors.tolist())
        took = 1e3 * session.result.total_time_s
        text = f'edited in {took:.0f} ms' if session.entries else 'drag an arrow, or click a ball'
        is_written = session.is_saved or not session.entries
        self.panel.say(text if is_written else f'{text}; not written yet')

    def _take(
        self, name: str, motion: Motion, colour: tuple[float, float, float], is_pale: bool = False
    ) -> None:
        """Let a body do a motion; make its meshes anew if it is another body."""
        before = self._worlds.get(name)
        if before is None or before[0].skeleton is not motion.skeleton:
            self._bodies[name].set_parts(_parts(motion, colour), is_pale)
        self._worlds[name] = (motion, *motion.world_segments())

    def _arrange(self) -> None:
        step = SIDE_STEP_M if self.panel.side.value else 0.0
        first = self._clips[0].motion.root_positions[0]
        for number, clip in enumerate(self._clips):
            shift = np.zeros(3)
            if self.panel.side.value:  # beside the first, wherever it begins
                shift[:2] = (first - clip.motion.root_positions[0])[:2]
                shift += number * step * self._row
            body = self._bodies[f'clip{number}']
            body.world.position = shift
            body.set_caption(clip.name if self.panel.names.value else '')

    def _draw(self) -> None:
        panel, playback = self.panel, self.playback
        state = (playback.frame, playback.is_playing, panel.before.value)
        if state != self._drawn:
            self._drawn = state
            with self._stage.at_once():
                self._draw_bodies()
                self._draw_handles()
            panel.time.show(playback, self._n_frames)
        if panel.follow.value and not self._is_dragging:
            self._follow()

    def _draw_bodies(self) -> None:
        for name, (motion, q_world, p_world) in self._worlds.items():
            frame = min(round(self.playback.time_s * motion.rate_hz), motion.n_frames - 1)
            self._bodies[name].move(q_world[frame], p_world[frame])
        self._bodies[BEFORE].world.visible = bool(self.panel.before.value)

    def _draw_handles(self) -> None:
        is_still = not self.playback.is_playing
        for name, handle in self._handles.items():
            is_shown = is_still and name != self.point
            if handle.visible != is_shown:
                handle.visible = is_shown
            if is_still:
                handle.position = self._session.place(name, self._edited_frame)
        self._gizmo.visible = is_still
        if is_still and not self._is_dragging:
            self._gizmo.position = self._session.place(self.point, self._edited_frame)
        self._goals.show(self._goal_solids())

    def _goal_solids(self) -> list[SceneSolid]:
        """Return the goals of single frames, fainter the farther their frame is."""
        solids = []
        for number, entry in enumerate(self._session.entries):
            goal = entry.constraint
            if not isinstance(goal, PointGoal) or len(goal.frames) > 1:
                continue
            gap = abs(int(goal.frames[0]) - self._edited_frame)
            opacity = max(FAR_OPACITY, GOAL_COLOUR[3] * (1.0 - gap / FAR_FRAMES))
            solids.append(
                SceneSolid(
                    'goals',
                    str(number),
                    'sphere',
                    goal.goals[0],
                    np.array([1.0, 0.0, 0.0, 0.0]),
                    np.full(3, GOAL_M),
                    (*GOAL_COLOUR[:3], round(opacity, 2)),
                )
            )
        return solids

    def _follow(self) -> None:
        root = self._worlds[EDITED][2][self._edited_frame, 0]
        away = np.array([-root[0], -root[1], 0.0]) - self._stage.root.position
        if np.linalg.norm(away) > 1e-3:
            self._stage.root.position = self._stage.root.position + FOLLOW_SHARE * away

    def _handle(self, scene: viser.SceneApi, name: str) -> viser.IcosphereHandle:
        radius = HANDLES_M.get(name.split('_')[-1], HANDLE_M)
        handle = scene.add_icosphere(
            f'{STAGE}/{EDITED}/handles/{name}',
            radius,
            HANDLE_COLOUR,
            subdivisions=2,
            cast_shadow=False,
            opacity=0.85,
        )
        handle.on_click(lambda _: self._put(POINT, name))
        return handle


def _parts(motion: Motion, colour: tuple[float, float, float]) -> list[Part]:
    body = Character('clip', '', motion.skeleton, default_capsules(motion.skeleton), colour)
    return merged_parts(read_shape(urdf_text(body)))
