# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Retarget all clips of a folder to one character, and print a table of figures.

    python retarget_folder.py FOLDER OUTPUT [CHARACTER]

It prints a line for each .bvh file: its frames, how far planted feet slide, and goal errors.
"""

from pathlib import Path
import sys

import puppet


def main(folder: str, output: str, character: str = 'sally') -> None:
    clips = sorted(Path(folder).glob('*.bvh'))
    if not clips:
        sys.exit(f'{folder}: expected .bvh files, found none')
    Path(output).mkdir(parents=True, exist_ok=True)
    print(f'{"clip":20} {"frames":>6} {"slide [mm/s]":>12} {"error p99 [mm]":>14}')
    for path in clips:
        try:
            found = puppet.retarget(puppet.load_clip(path), character)
        except puppet.PuppetError as error:  # a bad file does not stop the others
            print(f'{path.stem:20} {error}')
            continue
        found.save(Path(output) / path.name)
        figures = found.report()
        slide = figures['planted_foot_slide_mm_s']['puppet'] or 0.0  # None: no foot stands
        error_mm = figures['goal_error_mm']['p99'] or 0.0
        print(f'{path.stem:20} {figures["frames"]:6} {slide:12.1f} {error_mm:14.2f}')


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit('usage: python retarget_folder.py FOLDER OUTPUT [CHARACTER]')
    main(*sys.argv[1:4])
