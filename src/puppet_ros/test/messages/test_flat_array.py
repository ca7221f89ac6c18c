# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""flat_array: views, quaternion order."""

from array import array

from builtin_interfaces.msg import Time
import numpy as np
from puppet_ros.messages import flat_array
import pytest

pytestmark = pytest.mark.ros


def test_rows_share_memory_with_the_field() -> None:
    field = array('d', range(6))
    rows = flat_array.float_rows('poses', field, 2, 3)
    field[4] = 40.0
    np.testing.assert_array_equal(rows, [[0, 1, 2], [3, 40, 5]])


def test_no_sensors_give_empty_rows() -> None:
    assert flat_array.float_rows('poses', array('d'), 0, 7).shape == (0, 7)
    assert flat_array.bytes_row('status', array('B'), 0).shape == (0,)


def test_quaternion_order_changes_and_changes_back() -> None:
    xyzw = np.array([[0.1, 0.2, 0.3, 0.9]])
    wxyz = flat_array.wxyz(xyzw)
    np.testing.assert_array_equal(wxyz, [[0.9, 0.1, 0.2, 0.3]])
    np.testing.assert_array_equal(flat_array.xyzw(wxyz), xyzw)


@pytest.mark.parametrize('ns', [0, 999_999_999, 1_000_000_000, 1_790_000_000_123_456_789])
def test_stamp_round_trip_is_exact(ns: int) -> None:
    stamp = Time()
    flat_array.write_stamp(ns, stamp)
    assert flat_array.stamp_ns(stamp) == ns
