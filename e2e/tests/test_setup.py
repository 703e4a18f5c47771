"""What `stormpool doctor` finds missing, `ci/setup` installs."""

import re
from pathlib import Path

from stormpool.providers import checks
from stormpool.providers.vagrant import checks as machines

SETUP = Path(__file__).parents[2] / "ci" / "setup"
ESSENTIAL = {"util-linux"}  # a part of every Debian


def test_packages_that_are_missed_are_installed() -> None:
    found = re.findall(r'\[[\w-]+\]=(?:"([^"]+)"|([\w-]+))', SETUP.read_text())
    installed = {package for quoted, bare in found for package in (quoted or bare).split()}
    wanted = {*checks.COMMANDS.values(), *machines.COMMANDS.values(), *machines.BUILD.values()}
    assert {package for each in wanted for package in each.split()} - installed == ESSENTIAL
