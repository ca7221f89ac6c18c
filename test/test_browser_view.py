# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`view_clip` in a real browser: pages load without errors, bodies move, pictures are saved."""

from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')
pytest.importorskip('viser', reason='viser is not installed')

from browser_samples import recorded_bag, Served, walk  # noqa: E402,I100
from chromium import chromium, Tab  # noqa: E402
from edit_samples import NO_READERS  # noqa: E402
import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402
from puppet_edit.edit_session import EditSession  # noqa: E402
from puppet_view.bag_recording import read_recording  # noqa: E402
from puppet_view.browser.bag_page import RecordingPage  # noqa: E402
from puppet_view.browser.clip_page import CLIP, ClipPage  # noqa: E402
from puppet_view.recording import person, RecordedBody  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]

BLUE = (0.25, 0.45, 0.75)
PHONE = {'width': 390, 'height': 844}


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    """Yield one browser for all tests of this module."""
    with chromium(tmp_path_factory.mktemp('profile')) as context:
        yield context


@pytest.fixture(scope='module')
def bag(browser, tmp_path_factory):
    """Return a bag as the live graph's, with a walk and a puppet."""
    return recorded_bag(tmp_path_factory.mktemp('bag') / 'walk.mcap')


def test_scrubbing_a_bag_moves_the_bodies(browser, bag, tmp_path):
    take = read_recording(bag)
    assert [body.name for body in take.bodies] == ['performer', 'sally']
    with Served(lambda stage: RecordingPage(stage, [take])) as served:
        tab = Tab(browser, served.stage.address)
        tab.until(lambda: tab.sees('left hand'), 'the bars')
        tab.number_beside('frame').fill('30')
        tab.page.keyboard.press('Enter')
        tab.until(lambda: served.view.playback.frame == 30, 'frame 30')
        tab.until(lambda: tab.sees('1.00 s'), 'its time')
        shown = [body.places() for body in served.view.bodies]
        for places, track in zip(shown, take.bodies):
            np.testing.assert_allclose(places, track.p_world[30], atol=1e-3)
        tab.press('play')
        tab.until(lambda: tab.sees('pause') and served.view.playback.frame > 40, 'time to run')
        tab.press('pause')
        tab.open_tab('View')
        with tab.page.expect_download() as download:
            tab.press('screenshot')
        download.value.save_as(tmp_path / 'shot.png')
        _check_screenshot(tmp_path / 'shot.png')
        assert tab.errors == []
        tab.page.close()


def test_page_of_a_clip_fits_a_phone(browser, tmp_path):
    session = EditSession(walk(), NO_READERS, path=tmp_path / 'edit.yaml')
    body = person('walk', walk().skeleton, BLUE)
    clips = [RecordedBody.of_motion(CLIP, walk(), body)]
    with Served(lambda stage: ClipPage(stage, session, clips)) as served:
        tab = Tab(browser, served.stage.address, PHONE)
        tab.until(lambda: tab.sees('hold feet'), 'the panel')
        tab.until(lambda: tab.page.title() == 'puppet view', 'our title')
        panel = tab.page.get_by_text('puppet view', exact=True).bounding_box()
        assert panel['y'] > 0.4 * PHONE['height']  # the scene above it is free
        box = tab.page.get_by_text('hold feet', exact=True).bounding_box()
        assert 0 <= box['x'] < PHONE['width'] and box['y'] < PHONE['height']
        tab.open_tab('Constraints')
        tab.until(lambda: tab.sees('write edit.yaml'), 'the button')
        tab.press('write edit.yaml')
        tab.until((tmp_path / 'edit.yaml').is_file, 'the file')
        assert tab.errors == []
        tab.page.close()


def _check_screenshot(path: Path) -> None:
    """Check that it has the size of the page, sky, floor, and bodies of several colours."""
    with Image.open(path) as image:
        picture = np.asarray(image.convert('RGB'), dtype=float)
    assert picture.shape[0] >= 400 and picture.shape[1] >= 550
    colourful = np.ptp(picture, axis=2) > 60.0
    assert 0.001 < colourful.mean() < 0.5
