# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that run whole programs."""

import uuid

from marked_processes import has_mark, MARK
import psutil
import pytest


@pytest.fixture
def mark(monkeypatch):
    """Mark what the test starts; afterwards nothing of it may be left."""
    value = uuid.uuid4().hex
    monkeypatch.setenv(MARK, value)
    yield value
    left = [p.name() for p in psutil.process_iter() if has_mark(p, value)]
    assert left == []
