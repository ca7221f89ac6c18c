# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""ROS domains: each context and process has its own."""

import subprocess
import sys

from puppet_ros.process import free_domain, HIGHEST_DOMAIN
from puppet_ros.testing import isolated_context
import pytest
from rclpy.node import Node

pytestmark = pytest.mark.ros


def test_contexts_with_nodes_are_on_domains_of_their_own():
    with isolated_context() as one:
        Node('one', context=one)
        with isolated_context() as two:
            domains = {one.get_domain_id(), two.get_domain_id(), free_domain()}
            assert len(domains) == 2 and 1 <= min(domains) <= max(domains) <= HIGHEST_DOMAIN
            Node('two', context=two)
            assert free_domain() not in {one.get_domain_id(), two.get_domain_id()}


def test_no_two_processes_are_given_a_domain():
    """Not even before anyone listens on it."""
    text = """
import os, sys
from puppet_ros.process import free_domain
os.getpid = lambda: 7  # all begin to look at the same one
print(free_domain(), flush=True)
sys.stdin.read()"""
    runs = [
        subprocess.Popen(
            [sys.executable, '-c', text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    domains = [run.stdout.readline() for run in runs if run.stdout is not None]
    for run in runs:
        run.communicate('')
    assert len(set(domains)) == len(runs) and all(domain.strip() for domain in domains)
