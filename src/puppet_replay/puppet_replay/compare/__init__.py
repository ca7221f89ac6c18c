# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Compares two bags field by field, within tolerances, and reports the differences."""

from puppet_replay.compare.comparison import compare_bags, Comparison
from puppet_replay.compare.report import report_lines, summary_lines, write_reports
from puppet_replay.compare.tolerances import EXACT, load_tolerances, Tolerances, UNITS
