# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a functional calibration found, judged: findings, and the table that people read."""

from dataclasses import dataclass

from puppet_core.skeleton import SEGMENTS

SWAPPED, SLIPPED, RANGE, RESIDUAL, POSE, UNIT = (
    'swapped', 'slipped', 'range', 'residual', 'pose', 'unit'
)  # fmt: skip
KINDS = (SWAPPED, SLIPPED, RANGE, RESIDUAL, POSE, UNIT)


@dataclass(frozen=True, slots=True)
class JointReport:
    """One joint of a calibration."""

    segment: int
    """The joint's child segment."""

    residual_m: float
    """RMS movement of the centre between its two sensors [m]."""

    sd_m: float
    """Standard deviation of the centre in its worst direction [m]."""

    range_deg: tuple[float, float, float]
    """What it was moved through about its three main axes, falling [deg]."""


@dataclass(frozen=True, slots=True)
class LengthReport:
    """One limb segment of a calibration."""

    segment: int
    """Which."""

    length_m: float
    """Distance of the joint centres at its ends [m]."""

    sd_m: float
    """Standard deviation [m]."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a recording."""

    kind: str
    """One of KINDS."""

    names: tuple[str, ...]
    """Sensors or joints that it is about."""

    text: str
    """What was found and what to do, one line."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a calibration can be used, and why not."""

    joints: tuple[JointReport, ...] = ()
    """In the order of SEGMENTS."""

    lengths: tuple[LengthReport, ...] = ()
    """In the order of SEGMENTS."""

    findings: tuple[Finding, ...] = ()
    """The gravest first; none if all is well."""

    @property
    def usable(self) -> bool:
        """Whether the calibration should be used."""
        return not self.findings

    def of_kind(self, kind: str) -> tuple[Finding, ...]:
        """Return the findings of one kind."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def table(self) -> str:
        """Return the verdict for people, several lines."""
        lines = ['joint              residual  uncertain   range about three axes']
        lines += [
            f'{SEGMENTS[j.segment]:<17}{1e3 * j.residual_m:7.1f} mm{1e3 * j.sd_m:8.1f} mm   '
            + ' x '.join(f'{angle:.0f}' for angle in j.range_deg) + ' deg'
            for j in self.joints
        ]  # fmt: skip
        lines.append('segment              length  uncertain')
        lines += [
            f'{SEGMENTS[s.segment]:<17}{1e3 * s.length_m:7.1f} mm{1e3 * s.sd_m:8.1f} mm'
            for s in self.lengths
        ]
        lines += [f'{finding.kind}: {finding.text}' for finding in self.findings]
        lines.append('verdict: ' + ('good to use' if self.usable else 'should not be used'))
        return '\n'.join(lines)
