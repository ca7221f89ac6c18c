# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Hook of mkdocs.yml: sources to which pages link are part of the site."""

from pathlib import Path
import re
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = re.compile(r'\]\(\.\./((?:src|benchmarks)/[^)#\s]+)')


def on_files(files: Any, config: Any) -> None:
    from mkdocs.structure.files import File

    texts = [page.content_string for page in files.documentation_pages()]
    for path in sorted({path for text in texts for path in SOURCE.findall(text)}):
        content = (ROOT / path).read_text()
        files.append(File.generated(config, f'files/{path}.txt', content=content))


def on_page_markdown(markdown: str, **_: Any) -> str:
    return SOURCE.sub(r'](files/\1.txt', markdown)
