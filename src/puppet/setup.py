# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Packaging of puppet: see setup.cfg."""

from setuptools import setup

setup()
