# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where things are: the checkout, and the folder `.puppet` in it that the set-up owns."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Checkout:
    """Paths of one checkout, for one source of ROS."""

    root: Path
    """The repository's top folder."""

    flavour: str
    """Folder name of this source of ROS: each has an environment and a build of its own."""

    @property
    def state(self) -> Path:
        """Return the folder of everything that the set-up writes."""
        return self.root / '.puppet'

    @property
    def home(self) -> Path:
        """Return the folder of what it writes for this source of ROS."""
        return self.state / self.flavour

    @property
    def venv(self) -> Path:
        """Return the Python environment."""
        return self.home / 'venv'

    @property
    def build(self) -> Path:
        """Return the build folder of colcon."""
        return self.home / 'build'

    @property
    def install(self) -> Path:
        """Return the merged install folder of colcon."""
        return self.home / 'install'

    @property
    def logs(self) -> Path:
        """Return the folder for output of pip, colcon and the nodes."""
        return self.home / 'log'

    @property
    def source(self) -> Path:
        """Return the folder of the packages."""
        return self.root / 'src'

    @property
    def pins(self) -> Path:
        """Return the folder of the lists of exact package versions."""
        return self.root / 'tools' / 'pins'

    def package_folders(self) -> list[Path]:
        """Return the folders of the packages, by name."""
        return sorted(path.parent for path in self.source.glob('*/package.xml'))


def python_site(prefix: Path, version: tuple[int, int]) -> Path:
    """Return where a prefix holds the modules of this Python version."""
    return prefix / 'lib' / f'python{version[0]}.{version[1]}' / 'site-packages'
