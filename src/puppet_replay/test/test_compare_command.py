# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What `./puppet compare` prints, writes and returns."""

import json
from pathlib import Path
import re
from xml.etree import ElementTree

from graph_messages import moments, write_bag
import numpy as np
from puppet_replay.compare import command, compare_bags
from puppet_replay.compare.tolerances import Tolerances
from puppet_ros.bags import BagWriter
import pytest

pytestmark = pytest.mark.slow

N = 30
TEXT = bytes([0, 1, 0, 0, 2, 0, 0, 0, 97, 0])
SVG = '{http://www.w3.org/2000/svg}'


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    folder = tmp_path_factory.mktemp('bags')

    def changed(moment):
        rows = moment.rows + 0.01 * (moment.index > 9) * np.eye(8)[0]
        return None if moment.index in (4, 5) else moment._replace(rows=rows)

    frames = moments(N)
    return write_bag(folder / 'a.mcap', frames), write_bag(folder / 'b.mcap', frames, changed)


def run(*arguments):
    return command.main([str(argument) for argument in arguments])


def test_worst_difference_is_printed_first(bags, capsys):
    assert run(*bags) == 1
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r'differs: 8 of \d+ fields of 8 topics', lines[0])
    assert lines[1] == (
        'worst: /tracker/raw messages: 2 missing, 0 extra at frame 4, stamp 1.033333333'
    )
    assert lines[2] == 'begins: /tracker/raw'
    assert lines[4].split() == ['topic', 'field', 'max', 'p99', 'rms', 'allowed', 'first', 'worst']
    assert len(lines) == 5 + 8
    row = next(line for line in lines if ' importance ' in line)
    assert '0.01' in row and '0.083 s #10' in row
    assert max(map(len, lines)) < 180


def test_equal_bags_are_one_line(bags, capsys):
    assert run(bags[0], bags[0], '--exact') == 0
    assert re.fullmatch(
        r'within tolerance: \d+ fields of 8 topics; all equal\n', capsys.readouterr().out
    )
    assert run(bags[0], bags[0], '--all') == 0
    assert capsys.readouterr().out.count('/puppet/posture') > 8


def test_tolerances_and_topics_decide(bags, tmp_path, capsys):
    rules = tmp_path / 't.yaml'
    rules.write_text(
        'format: puppet-tolerances/1\nrules:\n  - {missing_messages: 2}\n'
        '  - {field: importance, max_ratio: 0.02}\n  - {topic: /x, max_mm: 1.0}\n'
    )
    assert run(*bags, '--tolerances', rules) == 0
    told = capsys.readouterr()
    assert f'warning: {rules}:5: fits nothing: topic /x' in told.err
    assert run(*bags, '--topics', '/robot_*') == 0
    assert run(*bags, '--topics', '/imp*') == 1


def test_json_has_what_its_page_says(bags, tmp_path):
    path = tmp_path / 'r.json'
    run(*bags, '--json', path)
    report = json.loads(path.read_text(), parse_constant=lambda text: pytest.fail(text))
    assert report['format'] == 'puppet-comparison/1' and report['within'] is False
    assert report['worst'] == {'topic': '/tracker/raw', 'field': 'messages'}
    topics = {topic['topic']: topic for topic in report['topics']}
    assert topics['/importance']['messages'] == {'a': N, 'b': N - 2}
    assert topics['/joint_states']['rate_hz']['a'] == pytest.approx(120.0)
    fields = {field['field']: field for field in topics['/importance']['fields']}
    found = fields['importance']
    assert found['n'] == 4 * (N - 2) and found['n_beyond'] == 4 * 20
    assert found['max'] == pytest.approx(0.01)
    assert found['first']['frame_index'] == 10
    assert found['first']['stamp_ns'] == 1_083_333_333
    assert found['allowed']['rms'] is None
    page = (Path(__file__).parents[3] / 'doc' / 'bags.md').read_text()
    for key in {*report, *topics['/importance'], *found, *found['first']}:
        assert f'`{key}`' in page, f'{key} is not on the page'


def test_junit_has_a_case_for_each_field(bags, tmp_path):
    path = tmp_path / 'r.xml'
    run(*bags, '--junit', path)
    root = ElementTree.parse(path).getroot()
    comparison = compare_bags(*bags, Tolerances())
    assert [s.get('name') for s in root] == [topic.topic for topic in comparison.topics]
    cases = root.findall('.//testcase')
    assert len(cases) == len(comparison.fields()) == int(root.get('tests'))
    failed = [case for case in cases if case.find('failure') is not None]
    assert len(failed) == 8 == int(root.get('failures'))
    messages = [case.find('failure').get('message') for case in failed]
    assert any('/importance importance: 0.01 at' in text for text in messages)


def test_page_is_whole_and_loads_nothing(bags, tmp_path):
    path = tmp_path / 'r.html'
    run(*bags, '--html', path, '--plots', tmp_path / 'plots')
    text = path.read_text()
    assert not re.search(r'<(script|link|iframe|img)\b|\s(src|href)=', text)
    assert text.endswith('</html>\n')
    assert set(re.findall(r'url\(.', text)) <= {'url(#'}, 'links within the page alone'
    assert '/importance' in text and '2 missing, 0 extra' in text
    plots = sorted((tmp_path / 'plots').iterdir())
    assert [plot.name for plot in plots] == ['1_importance_importance.svg']
    assert text.count('<svg') == 1
    drawing = ElementTree.parse(plots[0]).getroot()
    names = [group.get('id', '') for group in drawing.iter(f'{SVG}g')]
    assert sum(name.startswith('axes_') for name in names) == 2
    assert sum(name.startswith('line2d_') for name in names) > 5


@pytest.mark.parametrize(
    'arguments',
    [
        ('A', '/nowhere'),
        ('A', 'A', '--tolerances', '/nowhere.yaml'),
        ('A', 'A', '--topics', '/x'),
        ('A', 'A', '--tolerances', 'A'),
        ('A',),
        ('A', 'A', '--json', '/proc/none/r.json'),
        ('A', 'A', '--plots', 'A'),
        ('A', __file__),
    ],
)
def test_bad_input_is_reported_in_a_line(bags, arguments, capsys):
    assert run(*(bags[0] if word == 'A' else word for word in arguments)) == 2
    text = capsys.readouterr().err
    assert 'expected' in text or 'required' in text
    assert 'Traceback' not in text


def test_topics_without_messages_are_no_comparison(tmp_path, capsys):
    for name in 'ab':
        with BagWriter(tmp_path / f'{name}.mcap') as writer:
            writer.add_topic('/x', 'std_msgs/msg/String')
            writer.add_topic('/y', 'sensor_msgs/msg/JointState')
    assert run(tmp_path / 'a.mcap', tmp_path / 'b.mcap') == 2
    told = capsys.readouterr()
    assert 'expected messages on /x, /y, got none' in told.err and 'within' not in told.out


def test_names_of_topics_do_not_command_the_terminal(tmp_path, capsys):
    for name, count in (('a', 1), ('b', 2)):
        with BagWriter(tmp_path / f'{name}.mcap') as writer:
            for i in range(count):
                writer.write('/x\x1b[31m', 'std_msgs/msg/String', i, TEXT)
    paths = tmp_path / 'a.mcap', tmp_path / 'b.mcap'
    reports = [
        word
        for kind in ('junit', 'html', 'json')
        for word in (f'--{kind}', tmp_path / f'r.{kind}')
    ]
    assert run(*paths, '--all', *reports) == 1
    ElementTree.parse(tmp_path / 'r.junit')
    assert run(*paths, '--topics', '/y\x1b[31m') == 2
    told = capsys.readouterr()
    for text in told:
        assert '\x1b' not in text and '\\x1b[31m' in text
