# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What a replay is set up with: the parameters of the nodes, from the same files in the same way.

First the installed file of each node, then a parameter file of the user's, then single values,
NODE.PARAMETER=VALUE, each over the one before.

"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from puppet_core.io import (
    build_config,
    check_values,
    ConfigError,
    load_plain_yaml,
    read_parameter_file,
    Row,
)
from puppet_filter.parameters import load_tuning, Tuning
from puppet_filter.parameters import ROWS as FILTER_ROWS
from puppet_performer.parameters import PERFORMER_ROWS, PerformerConfig
from puppet_retarget.parameters import (
    importance_node_config,
    IMPORTANCE_ROWS,
    ImportanceNodeConfig,
    retarget_config,
    RETARGET_ROWS,
    RetargetConfig,
)
from puppet_ros import share
import yaml

ROWS: Mapping[str, Sequence[Row]] = {
    'pose_filter': FILTER_ROWS,
    'performer': PERFORMER_ROWS,
    'importance': IMPORTANCE_ROWS,
    'retarget': RETARGET_ROWS,
}

# what an option of the command sets, as the arguments of `puppet_up` do
SHORT: Mapping[str, tuple[str, ...]] = {
    'character': ('retarget.character',),
    'solver': ('retarget.solver',),
    'environment': ('importance.environment', 'retarget.environment'),
    'performer': ('performer.performer',),
    'layout': ('performer.layout',),
    'calibration': ('performer.calibration_file',),
}


class Settings(NamedTuple):
    """The configs of all nodes."""

    pose_filter: Tuning
    performer: PerformerConfig
    importance: ImportanceNodeConfig
    retarget: RetargetConfig


def read_settings(
    params: Path | None = None, values: Sequence[str] = (), short: Mapping[str, str] | None = None
) -> Settings:
    """
    Return the configs of all nodes.

    `params` is a ROS parameter file; `values` are words like retarget.root_softness=0.2, with
    the value as YAML; `short` has values by the names in SHORT, of which empty ones are left.

    Raises
    ------
    ConfigError, InputFileError : naming the parameter or the file.

    """
    given: dict[str, dict[str, Any]] = {}
    for node in ROWS:
        given[node] = read_parameter_file(share.config_dir() / f'{node}.yaml', node)
        if params is not None:
            given[node].update(read_parameter_file(params, node))
    for name, text in (short or {}).items():
        if text:
            for target in SHORT[name]:
                node, _, parameter = target.partition('.')
                given[node][parameter] = text
    for word in values:
        node, parameter, value = _assignment(word)
        given[node][parameter] = value
    checked = {node: _checked(node, given[node]) for node in ROWS}
    return Settings(
        load_tuning(checked['pose_filter']),
        build_config(PerformerConfig, checked['performer']),
        importance_node_config(checked['importance']),
        retarget_config(checked['retarget']),
    )


def _assignment(word: str) -> tuple[str, str, Any]:
    name, mark, text = word.partition('=')
    node, dot, parameter = name.partition('.')
    if not mark or not dot or node not in ROWS:
        raise ConfigError(
            f'set: expected NODE.PARAMETER=VALUE, NODE one of {", ".join(ROWS)}, got {word!r}'
        )
    try:
        return node, parameter, load_plain_yaml(text) if text else ''
    except (yaml.YAMLError, RecursionError):
        raise ConfigError(f'set: expected a YAML value for {name}, got {text[:40]!r}') from None


def _checked(node: str, given: Mapping[str, Any]) -> dict[str, Any]:
    plain = {k: v for k, v in given.items() if k != 'use_sim_time'}
    try:
        return check_values(ROWS[node], plain)
    except ConfigError as err:
        raise ConfigError(f'{node}: {err}') from err
