# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A comparison as JUnit XML: a suite for each topic, a case for each field."""

import re
from xml.etree import ElementTree

from puppet_replay.compare_result import Comparison
from puppet_replay.compare_table import described

# What XML 1.0 cannot say at all.
_FORBIDDEN = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')


def junit_text(comparison: Comparison, name: str = 'puppet compare') -> str:
    """Return the file's text."""
    cases = [field for topic in comparison for field in topic.fields]
    failures = [field for field in cases if not field.within]
    root = ElementTree.Element(
        'testsuites', name=name, tests=str(len(cases)), failures=str(len(failures)), errors='0'
    )
    for topic in comparison:
        wrong = sum(not field.within for field in topic.fields)
        suite = ElementTree.SubElement(
            root, 'testsuite', name=_clean(topic.topic), tests=str(len(topic.fields)),
            failures=str(wrong), errors='0', skipped='0', time='0',
        )  # fmt: skip
        for field in topic.fields:
            case = ElementTree.SubElement(
                suite, 'testcase', classname=_clean(topic.topic), name=_clean(field.name),
                time='0',
            )  # fmt: skip
            if not field.within:
                text = _clean(described(field))
                failure = ElementTree.SubElement(case, 'failure', message=text)
                a, b = map(_clean, comparison.paths)
                failure.text = f'A: {a}\nB: {b}'
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(
        root, encoding='unicode'
    ) + '\n'  # fmt: skip


def _clean(text: str) -> str:
    return _FORBIDDEN.sub('?', text)
