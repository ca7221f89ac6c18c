# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Files of the suite: YAML read with line numbers, validated parameters, atomic writes, errors."""

from puppet_core.io.command import (
    CommandParser,
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    EXIT_OK,
    note,
    progress,
    run_command,
    SetLevel,
    stop_on_signals,
)
from puppet_core.io.errors import (
    brief,
    CalibrationError,
    ConfigError,
    cut,
    how_to_install,
    InputFileError,
    printable,
    PuppetError,
    SolverError,
)
from puppet_core.io.files import (
    check_name,
    check_writable,
    replacing,
    require_file,
    run_folder,
    write_bytes,
    write_text,
)
from puppet_core.io.parameter_rows import (
    build_config,
    check_values,
    defaults,
    parse_parameters,
    read_parameter_file,
    Row,
    rows_of,
    setting,
)
from puppet_core.io.xml_file import read_xml, XmlElement
from puppet_core.io.yaml_file import (
    dump_yaml,
    load_plain_yaml,
    load_yaml,
    parse_yaml,
    read_utf8,
    Section,
)
