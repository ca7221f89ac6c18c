# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From records of all lines to stamped frames: reading, ticks, clock fit, assembly."""

from puppet_driver.frames.assembler import FrameAssembler, RawFrame
from puppet_driver.frames.line_reader import LineReader
