# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the benches: bodies, clips, frames of samples, and the benches themselves."""

from importlib import import_module
from pathlib import Path

from puppet_setup.commands import BENCHES
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def installed(checkout_installed):
    """Let every bench find the checkout's configuration."""


@pytest.fixture
def run(outcome):
    """Return a function that runs a bench by its name; returns its exit code and texts."""
    return lambda name, *words: outcome(import_module(BENCHES[name].program).main, *words)


@pytest.fixture(scope='session')
def skeleton(performer):
    """Return the average adult's lengths."""
    return performer.skeleton
