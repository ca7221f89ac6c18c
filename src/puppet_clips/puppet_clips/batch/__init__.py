# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Retargets a library of clips to characters in parallel; a ledger allows resuming."""

from puppet_clips.batch import command_batch
from puppet_clips.batch.batch_run import BatchResult, run_batch
from puppet_clips.batch.plan import find_clips, make_tasks
from puppet_clips.batch.retarget_file import warm_up
from puppet_clips.batch.runners import LocalRunner
from puppet_clips.batch.task import FAILED, Reading
