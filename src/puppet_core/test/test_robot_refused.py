# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What is refused as a robot: broken files, what is no humanoid, sections that do not fit."""

import re

from puppet_core.body.character import load_character, save_character
from puppet_core.io import InputFileError
import pytest
from urdf_walk import HUMANOID

TEXT = HUMANOID.read_text()


BAD = [
    ('<robot name', '<!DOCTYPE robot [<!ENTITY a "b">]><robot name', 'expected no DOCTYPE'),
    ('<robot name', '<!DOCTYPE robot SYSTEM "x.dtd"><robot name', 'expected no DOCTYPE'),
    ('</robot>', '', 'expected valid XML'),
    ('<robot name="tin">', '<model name="tin">', 'expected valid XML'),
    ('<child link="torso"/>', '<child link="tors"/>', "a link of this file, got 'tors'"),
    ('<child link="torso"/>', '<child link="base"/>', 'expected one tree'),
    ('<child link="head"/>', '<child link="torso"/>', 'one joint above the link torso'),
    ('type="revolute"', 'type="hinge"', "got 'hinge'"),
    ('lower="-1.5" upper="1.5"', 'lower="1.5" upper="-1.5"', 'expected lower <= upper'),
    ('lower="-1.5" upper="1.5"', 'lower="x" upper="1.5"', "1 finite number as lower, got 'x'"),
    ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>', 'an axis with a direction'),
    ('xyz="0 0 0.09"', 'xyz="0 0 nan"', "3 finite numbers as xyz, got '0 0 nan'"),
    ('<link name="neck"/>', '<link name="neck"/><link name="neck"/>', 'each link once'),
    ('<link name="neck"/>', '<xacro:macro name="neck"/>', 'run xacro on it first'),
    ('radius="0.09"', 'radius="-0.09"', 'a size > 0'),
    ('radius="0.09"', 'radius="nan"', "head: expected 1 finite number as radius, got 'nan'"),
    ('<sphere radius="0.09"/>', '<mesh/>', 'head: expected the attribute filename'),
    ('<sphere radius="0.09"/>', '<blob/>', 'head: expected a solid, one of box, cylinder'),
    ('<parent link="left_shank"/>', '<parent link="left_ankle"/>', 'expected one tree below'),
    ('<child link="left_ankle"/>', '<child link="left_thigh"/>', 'joint above the link left_th'),
    ('<axis xyz="0 0 -1"/>', '<mimic joint="no"/>', 'left_hip_pitch: expected to mimic a joint'),
    ('<axis xyz="0 0 -1"/>', '<mimic joint="left_hip_pitch"/>', 'that mimics none'),
    ('<axis xyz="0 0 -1"/>', '<mimic joint="left_knee" offset="inf"/>', '1 finite number as offs'),
    ('<link name="neck"/>', '<link/>', '<link>: expected the attribute name'),
]


@pytest.mark.parametrize('old, new, words', BAD, ids=[row[2] + row[1][:12] for row in BAD])
def test_a_bad_urdf_is_told_with_file_and_line(made, old, new, words):
    assert old in TEXT
    with pytest.raises(InputFileError, match=r'robot\.urdf:\d+: ') as caught:
        made(TEXT.replace(old, new, 1))
    assert words in str(caught.value)


def retyped(names, kind):
    """Return the robot with joints of a name pattern made another type."""
    return re.sub(rf'({names})" type="revolute"', rf'\1" type="{kind}"', TEXT)


@pytest.mark.parametrize(
    'text, words',
    [
        ('<robot name="a"/>', 'expected links'),
        ('<robot name="a"><link name="b"/></robot>', 'expected two legs'),
        (re.sub(r'type="revolute"', 'type="prismatic"', TEXT), 'expected two legs'),
        (retyped(r'_shoulder_\w+|_elbow', 'fixed'), 'expected two arms'),
        (retyped(r'_knee', 'fixed'), 'left_leg: hip and knee'),
        (retyped(r'_knee', 'prismatic'), 'hip and knee with'),
        (TEXT.replace('xyz="0 -0.36 0"', 'xyz="0 0 0"'), 'left_leg: hip and knee with two parts'),
        (
            re.sub(
                r'(="(left|right)_knee.*?)(<axis)',
                r'\1<mimic joint="\2_hip_pitch"/>\3',
                TEXT,
                flags=re.S,
            ),
            'left_leg: hip and knee',
        ),
        (retyped(r'left_hip_\w+', 'fixed'), 'expected two legs'),
        (re.sub(r'origin xyz="[^"]*"', 'origin xyz="0 0 0"', TEXT), 'expected two legs'),
    ],
)
def test_what_is_no_humanoid_is_refused_with_a_hint(made, text, words):
    with pytest.raises(InputFileError, match=words):
        made(text)


def test_lengths_in_millimetres_are_refused_with_a_hint(made):
    def longer(match):
        return f'origin xyz="{" ".join(str(1e3 * float(x)) for x in match[1].split())}"'

    with pytest.raises(InputFileError, match='up to 10 m apart, got .* m;? .*not millimetres'):
        made(re.sub(r'origin xyz="([^"]*)"', longer, TEXT))


@pytest.mark.parametrize(
    'old, new, words',
    [
        ('joint: left_knee', 'joint: left_nee', "the URDF, got 'left_nee'"),
        ('left_knee\n    segment: left_shank', 'left_knee\n    segment: calf', 'one of spine'),
        ('joint: left_knee', 'joint: right_knee', 'each joint once, got right_knee'),
        ('axis: [0.0, 0.0, 1.0]', 'axis: [0.0, 0.0, 2.0]', '3 numbers of length 1'),
        ('lower_rad: -1.5', 'lower_rad: 2.5', 'a number in 2.5 .. inf'),
        ('urdf: ', 'urdf: no_', 'a readable file'),
    ],
)
def test_a_bad_section_is_told_with_file_and_key(made, tmp_path, old, new, words):
    path = tmp_path / 'tin.yaml'
    save_character(made(TEXT).character, path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputFileError) as caught:
        load_character(path)
    assert words in str(caught.value)
