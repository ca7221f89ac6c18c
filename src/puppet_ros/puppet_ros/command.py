# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The grammar of a command that talks to nodes, and how it ends: one line and an exit code."""

import argparse
from collections.abc import Callable
import sys

from puppet_core.io import CalibrationError, printable, PuppetError
from puppet_ros.node import EXIT_BAD_INPUT, EXIT_OK
import rclpy

EXIT_FAILED, EXIT_INTERRUPTED = 1, 130


def command_parser(name: str, description: str, examples: str) -> argparse.ArgumentParser:
    """Return a parser that prints description and examples as they are written."""
    raw = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(
        prog=name, description=description, epilog=examples, formatter_class=raw
    )


def run_command(name: str, command: Callable[[], int], interrupted: str) -> int:
    """
    Run a command and return its exit code; ROS is shut down whatever happens.

    `name` begins the line of an error, `interrupted` says what is so after Ctrl-C. The code is the
    command's; 1 for a failed run, 2 for bad input, 130 for Ctrl-C.
    """
    try:
        return command()
    except KeyboardInterrupt:
        print(f'{name}: interrupted; {interrupted}', file=sys.stderr)
        return EXIT_INTERRUPTED
    except SystemExit as err:
        return EXIT_OK if err.code == 0 else EXIT_BAD_INPUT
    except (CalibrationError, OSError, RuntimeError) as err:
        print(f'{name}: {printable(str(err))}', file=sys.stderr)
        return EXIT_FAILED
    except PuppetError as err:
        print(f'{name}: {printable(str(err))}', file=sys.stderr)
        return EXIT_BAD_INPUT
    finally:
        rclpy.try_shutdown()
