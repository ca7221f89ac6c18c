# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Markers live as long as they say, and shared objects appear in both worlds."""

from operator import attrgetter

import numpy as np
import pytest

pytest.importorskip('visualization_msgs', reason='needs ROS 2')
pytest.importorskip('viser', reason='viser is not installed')

from puppet_view.browser import expiring_markers  # noqa: E402,I100
from puppet_view.browser.expiring_markers import ExpiringMarkers  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402


def _marker(ns, identifier=0, text='', seconds=1):
    marker = Marker(ns=ns, id=identifier, type=Marker.CUBE, text=text)
    marker.lifetime.sec = seconds
    marker.pose.position.x = 2.0
    marker.pose.orientation.w = 1.0
    marker.scale.x = marker.scale.y = marker.scale.z = 0.5
    return marker


def test_markers_live_as_long_as_they_were_sent_last(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(expiring_markers.time, 'monotonic', lambda: clock[0])
    solids = ExpiringMarkers()
    solids.add(_marker('environment', seconds=0))  # for ever
    for _ in range(3):
        solids.add(_marker('goals'))
        clock[0] += 0.9
    assert len(solids.shown('goals', False)) == 1
    clock[0] += 1.1
    assert solids.shown('goals', False) == []
    clock[0] += 1e6
    assert len(solids.shown('environment', False)) == 1


def test_shared_object_is_copied_to_the_performer_only_side_by_side():
    solids = ExpiringMarkers()
    solids.add(_marker('environment', 0, 'table'))
    solids.add(_marker('environment', 1, 'ball'))
    solids.add(_marker('real', 0, 'ball'))  # where the puppet's is
    assert solids.shown('real', False) == []
    beside = solids.shown('real', True)
    assert {solid.name for solid in beside} == {'0', 'copy_0'}
    assert all(solid.group == 'real' for solid in beside)


@pytest.mark.parametrize('value', [np.nan, np.inf, -1e300])
@pytest.mark.parametrize('part', ['pose.position', 'pose.orientation', 'scale'])
def test_senseless_numbers_are_passed_over(value, part):
    solids, marker = ExpiringMarkers(), _marker('goals')
    attrgetter(part)(marker).z = value
    solids.add(marker)
    assert solids.shown('goals', False) == []


def test_endless_names_and_unknown_shapes_are_passed_over():
    solids, text = ExpiringMarkers(), _marker('text')
    text.type = Marker.TEXT_VIEW_FACING
    solids.add(text)
    solids.add(_marker('goals', text='x' * 10_000))
    solids.add(_marker('x' * 10_000))
    assert solids.groups() == ('real',)


def test_names_without_end_are_forgotten():
    solids = ExpiringMarkers()
    for number in range(3 * expiring_markers.MAX_SOLIDS):
        solids.add(_marker('goals', number))
        solids.add(_marker(f'group {number}'))
    assert len(solids.groups()) <= expiring_markers.MAX_GROUPS
    shown = solids.shown('goals', False)
    assert len(shown) <= expiring_markers.MAX_SOLIDS
    assert shown[-1].name == str(3 * expiring_markers.MAX_SOLIDS - 1)
