# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Edit files: what a motion has to do, read and written."""

from puppet_edit.files.edit_entries import BodyTrack, EditEntry, flat, PLANT, POSITION
from puppet_edit.files.edit_file import (
    CONSTRAINTS,
    edit_text,
    EditPlan,
    load_edit,
    load_edit_tree,
    OPTIONS,
    parse_edit,
    PLAIN_READERS,
    plain_value,
    Readers,
)
from puppet_edit.files.edit_tasks import do_tasks, function_of, heights_of, TaskSources

__all__ = [
    'BodyTrack',
    'CONSTRAINTS',
    'EditEntry',
    'EditPlan',
    'OPTIONS',
    'PLAIN_READERS',
    'PLANT',
    'POSITION',
    'Readers',
    'TaskSources',
    'do_tasks',
    'edit_text',
    'flat',
    'function_of',
    'heights_of',
    'load_edit',
    'load_edit_tree',
    'parse_edit',
    'plain_value',
]
