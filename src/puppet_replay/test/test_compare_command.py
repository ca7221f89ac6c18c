# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What `./puppet compare` prints, writes and returns."""

import json
from pathlib import Path
import re
from xml.etree import ElementTree

from graph_messages import moments, write_bag
import numpy as np
from puppet_replay.compare import command
from puppet_ros.bags import BagWriter
import pytest

pytestmark = pytest.mark.slow

N = 30
TEXT = bytes([0, 1, 0, 0, 2, 0, 0, 0, 97, 0])
SVG = '{http://www.w3.org/2000/svg}'


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    """Of A importance is less from frame 10 on, and it has frames 4 and 5."""
    folder = tmp_path_factory.mktemp('bags')

    def changed(moment):
        rows = moment.rows + 0.01 * (moment.index > 9) * np.eye(8)[0]
        return None if moment.index in (4, 5) else moment._replace(rows=rows)

    frames = moments(N)
    return write_bag(folder / 'a.mcap', frames), write_bag(folder / 'b.mcap', frames, changed)


def run(*arguments):
    return command.main([str(argument) for argument in arguments])


def test_outcome_and_worst_difference_are_printed_first(bags, capsys):
    assert run(*bags) == 1
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r'differs: 8 of \d+ fields of 8 topics', lines[0])
    assert lines[1] == (
        'worst: /tracker/raw messages: 2 missing, 0 extra at frame 4, stamp 1.033333333'
    )
    assert lines[2] == 'begins: /tracker/raw'
    assert lines[4].split() == ['topic', 'field', 'max', 'p99', 'rms', 'allowed', 'first', 'worst']
    row = next(line for line in lines if ' importance ' in line)
    assert '0.01' in row and '0.083 s #10' in row
    assert len(lines) == 5 + 8 and max(map(len, lines)) < 180
    assert run(bags[0], bags[0], '--exact') == 0
    equal = r'within tolerance: \d+ fields of 8 topics; all equal\n'
    assert re.fullmatch(equal, capsys.readouterr().out)
    assert run(bags[0], bags[0], '--all') == 0
    assert capsys.readouterr().out.count('/puppet/posture') > 8


def test_tolerances_and_topics_decide(bags, tmp_path, capsys):
    rules = tmp_path / 't.yaml'
    rules.write_text(
        'format: puppet-tolerances/1\nrules:\n  - {missing_messages: 2}\n'
        '  - {field: importance, max_ratio: 0.02}\n  - {topic: /x, max_mm: 1.0}\n'
    )
    assert run(*bags, '--tolerances', rules) == 0
    assert f'warning: {rules}:5: fits nothing: topic /x' in capsys.readouterr().err
    assert (run(*bags, '--topics', '/robot_*'), run(*bags, '--topics', '/imp*')) == (0, 1)


def test_reports_have_what_their_page_says(bags, tmp_path):
    kinds = ('json', 'junit', 'html')
    paths = {kind: tmp_path / f'r.{kind}' for kind in kinds}
    plots = tmp_path / 'plots'
    run(*bags, *(word for kind in kinds for word in (f'--{kind}', paths[kind])), '--plots', plots)

    report = json.loads(paths['json'].read_text(), parse_constant=lambda text: pytest.fail(text))
    assert report['format'] == 'puppet-comparison/1' and report['within'] is False
    assert report['worst'] == {'topic': '/tracker/raw', 'field': 'messages'}
    topics = {topic['topic']: topic for topic in report['topics']}
    assert topics['/importance']['messages'] == {'a': N, 'b': N - 2}
    assert topics['/joint_states']['rate_hz']['a'] == pytest.approx(120.0)
    found = {field['field']: field for field in topics['/importance']['fields']}['importance']
    assert found['n'] == 4 * (N - 2) and found['n_beyond'] == 4 * 20
    assert found['max'] == pytest.approx(0.01) and found['allowed']['rms'] is None
    first = found['first']
    assert (first['frame_index'], first['stamp_ns']) == (10, 1_083_333_333)
    page = (Path(__file__).parents[3] / 'doc' / 'bags.md').read_text()
    for key in {*report, *topics['/importance'], *found, *first}:
        assert f'`{key}`' in page, f'{key} is not on the page'

    root = ElementTree.parse(paths['junit']).getroot()
    assert [suite.get('name') for suite in root] == list(topics)
    cases = root.findall('.//testcase')
    assert len(cases) == sum(len(t['fields']) for t in topics.values()) == int(root.get('tests'))
    failures = [case.find('failure') for case in cases if case.find('failure') is not None]
    assert len(failures) == 8 == int(root.get('failures'))
    assert any('/importance importance: 0.01 at' in failure.get('message') for failure in failures)

    text = paths['html'].read_text()
    assert not re.search(r'<(script|link|iframe|img)\b|\s(src|href)=', text)
    assert text.endswith('</html>\n') and text.count('<svg') == 1
    assert set(re.findall(r'url\(.', text)) <= {'url(#'}, 'links within the page alone'
    assert '/importance' in text and '2 missing, 0 extra' in text
    drawing = plots / '1_importance_importance.svg'
    assert list(plots.iterdir()) == [drawing]
    names = [group.get('id', '') for group in ElementTree.parse(drawing).iter(f'{SVG}g')]
    assert sum(name.startswith('axes_') for name in names) == 2
    assert sum(name.startswith('line2d_') for name in names) > 5


@pytest.mark.parametrize(
    'arguments',
    [
        ('A', '/nowhere'),
        ('A', 'A', '--tolerances', '/nowhere.yaml'),
        ('A', 'A', '--topics', '/x\x1b[31m'),
        ('A', 'A', '--tolerances', 'A'),
        ('A',),
        ('A', 'A', '--json', '/proc/none/r.json'),
        ('A', 'A', '--plots', 'A'),
        ('A', __file__),
        *(('A', 'B', option, 'B') for option in ('--json', '--junit', '--html', '--plots')),
    ],
)
def test_bad_input_is_reported_in_a_line_and_no_bag_is_replaced(bags, arguments, capsys):
    paths = dict(zip('AB', bags))
    before = bags[1].read_bytes()
    assert run(*(paths.get(word, word) for word in arguments)) == 2
    text = capsys.readouterr().err
    assert 'expected' in text or 'required' in text
    assert 'Traceback' not in text and '\x1b' not in text
    assert bags[1].read_bytes() == before


def test_topics_without_messages_are_no_comparison(tmp_path, capsys):
    with BagWriter(tmp_path / 'a.mcap') as writer:
        writer.add_topic('/x', 'std_msgs/msg/String')
        writer.add_topic('/y', 'sensor_msgs/msg/JointState')
    assert run(tmp_path / 'a.mcap', tmp_path / 'a.mcap') == 2
    told = capsys.readouterr()
    assert 'expected messages on /x, /y, got none' in told.err and 'within' not in told.out


def test_names_of_topics_do_not_command_the_terminal(tmp_path, capsys):
    for name, count in (('a', 1), ('b', 2)):
        with BagWriter(tmp_path / f'{name}.mcap') as writer:
            for i in range(count):
                writer.write('/x\x1b[31m', 'std_msgs/msg/String', i, TEXT)
    paths, report = (tmp_path / 'a.mcap', tmp_path / 'b.mcap'), tmp_path / 'r.xml'
    assert run(*paths, '--all', '--junit', report, '--html', tmp_path / 'r.html') == 1
    ElementTree.parse(report)
    told = capsys.readouterr().out
    assert '\x1b' not in told and '\\x1b[31m' in told
