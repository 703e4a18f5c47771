"""The nodes of labs that are up, as hosts of testinfra: `stormpool://LAB/NODE`.

`stormpool://LAB` stands for all nodes of a lab, `stormpool://` for those of the only lab that is up.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import Any
from urllib.parse import unquote

import testinfra.backend
from testinfra.backend.base import BaseBackend, CommandResult

from stormpool import hand

NAME = "stormpool"
ONE_NODE = re.compile(rf"({NAME}://[^/,?]*)/")


def registered(hosts: str) -> str:
    """Make labs known to testinfra; return its `--hosts` as it takes them.

    Of a URL testinfra hands on no more than what stands before the first slash (`parse_hostspec`), so the
    slash between a lab and its node is escaped. Raises `Misuse` where there is no such lab or node.
    """
    testinfra.backend.BACKENDS[NAME] = f"{__name__}.{LabBackend.__name__}"
    escaped = ONE_NODE.sub(r"\1%2F", hosts)
    for each in escaped.split(","):
        scheme, _, host = each.partition("://")
        if scheme == NAME:
            LabBackend.get_hosts(host)
    return escaped


class LabBackend(BaseBackend):
    """One node; commands go the way that `stormpool exec` goes."""

    NAME = NAME

    def __init__(self, hostname: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(hostname, *args, **kwargs)
        lab, _, self._node = hostname.partition("/")
        self._lab = hand.chosen(lab)

    @classmethod
    def get_hosts(cls, host: str, **kwargs: Any) -> list[str]:
        """The nodes that a host stands for, as LAB/NODE. Raises `Misuse` where there is none."""
        del kwargs  # of other backends
        name, _, node = unquote(host or "").partition("/")
        lab = hand.chosen(name or None)
        if node:
            hand.entering(lab, node, ())
        return [f"{lab.lab_id}/{each}" for each in ([node] if node else lab.nodes)]

    def run(self, command: str, *args: str, **kwargs: Any) -> CommandResult:
        """Run a command line on the node."""
        del kwargs
        line = self.get_command(command, *args)
        argv = hand.entering(self._lab, self._node, ["sh", "-c", line])
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return self.result(done.returncode, shlex.join(argv).encode(), done.stdout, done.stderr)
