"""A node under audit: what is asked of it, once, and what is held against it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from typing import Any

import pytest
from testinfra.host import Host

from stormpool.audit import look, processes, remains
from stormpool.audit.look import Look
from stormpool.audit.mounts import Mount, unescaped
from stormpool.audit.pools import Pool, listed
from stormpool.audit.remains import Dataset
from stormpool.wait import wait_until

# Seconds for which something must be there to be held against a node: what comes and goes is no fault. An
# agent ends a task's executor, and a plugin removes its socket, within one.
LASTING = 5.0
ANSWER = 30  # seconds that ZFS may take to answer
POOLS = "zpool list -H -o name,health,capacity"

Judge = Callable[[Look], Iterable[str]]


class Node:
    """One host of testinfra's. It is looked at once, and where that shows a fault a second time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._seen_at = 0.0  # when the first look was over

    def __str__(self) -> str:
        return str(self._host.backend.get_pytest_id())

    @cached_property
    def now(self) -> Look:
        """What it shows."""
        seen = self._look()
        self._seen_at = time.monotonic()
        return seen

    @cached_property
    def later(self) -> Look:
        """What it shows `LASTING` seconds later, or more."""
        _ = self.now
        wait_until(
            "what comes and goes is gone",
            lambda: time.monotonic() - self._seen_at,
            lambda passed: passed >= LASTING,
            timeout=2 * LASTING,
        )
        return self._look()

    def must_show_none(self, judge: Judge, *, mend: str) -> None:
        """Fail where there is something that a judge finds, now and later; `mend`: what to do then."""
        found = set(judge(self.now))
        self.clear(found and found.intersection(judge(self.later)), mend=mend)

    def clear(self, found: Iterable[str], *, mend: str) -> None:
        """Fail where anything was found."""
        told = [f"{self}: {each}" for each in sorted(found)]
        if told:
            pytest.fail("\n".join([*told, f"  to do: {mend}"]), pytrace=False)

    @cached_property
    def pools(self) -> list[Pool]:
        """Its pools. Skips where there are none."""
        self.must_have_zfs()
        found = listed(self._zfs(POOLS))
        return found or pytest.skip(f"{self} has no pool imported")

    @cached_property
    def status(self) -> dict[str, Any] | None:
        """The status of its pools and their devices; None where ZFS does not tell as JSON, before 2.3.

        Skips where there are no pools.
        """
        _ = self.pools
        command = "zpool status -j -p --json-int"
        said = self._ask(command)
        if said.rc and b"invalid option" in said.stderr_bytes:
            return None
        found: dict[str, Any] = json.loads(self._well(command, said))
        return found

    @property
    def troubles(self) -> str:
        """The pools that are not well, in words for people."""
        return self._zfs("zpool status -x")

    def datasets(self, look: Look) -> list[Dataset]:
        """The file systems and volumes of its pools at the time of a look, none where nothing serves ZFS.

        Skips a node with a suspended pool: `zfs list` leaves out what is in it, and ends with 0.
        """
        return self._datasets_now if look is self.now else self._datasets_later

    @cached_property
    def _datasets_now(self) -> list[Dataset]:
        return self._list_datasets()

    @cached_property
    def _datasets_later(self) -> list[Dataset]:
        return self._list_datasets()

    def _list_datasets(self) -> list[Dataset]:
        if not self.now.has_zfs:
            return []
        for pool in listed(self._zfs(POOLS)):
            if pool.health == "SUSPENDED":
                pytest.skip(f"{self}: pool {pool.name} is suspended, its datasets are not to be seen")
        return remains.datasets(self._zfs(f"zfs list -H -t filesystem,volume -o {remains.COLUMNS}"))

    def must_have_zfs(self) -> None:
        """Skip a node that has no ZFS: nothing of it was judged."""
        if not self.now.has_zfs:
            pytest.skip(f"{self} has no ZFS: no zpool and zfs, or nothing that serves them")

    def _look(self) -> Look:
        kernel = look.sections(self._said(look.KERNEL))
        mounted: Any = self._host.mount_point
        found = [
            Mount(unescaped(each.device), unescaped(each.path), each.filesystem)
            for each in mounted.get_mountpoints()
        ]
        asked = look.files(processes.parsed(kernel).values(), found)
        seen = look.parsed(kernel, look.sections(self._said(asked)), found)
        if not seen.by_root:
            pytest.fail(f"{self}: only root sees all processes; log in as root, or add --sudo", pytrace=False)
        return seen

    def _zfs(self, command: str) -> str:
        return self._well(command, self._ask(command))

    def _ask(self, command: str) -> Any:
        return self._run(f"LC_ALL=C timeout {ANSWER} {command}")

    def _well(self, command: str, said: Any) -> str:
        if said.rc:
            why = "did not answer" if said.rc == 124 else said.stderr_bytes.decode(errors="replace").strip()
            pytest.fail(f"{self}: `{command}` ended with {said.rc}: {why}", pytrace=False)
        return str(said.stdout_bytes.decode(errors="replace"))

    def _said(self, script: str) -> str:
        said = self._run(script)
        if said.rc:
            why = said.stderr_bytes.decode(errors="replace").strip()
            pytest.fail(f"{self}: it cannot be looked at ({said.rc}): {why}", pytrace=False)
        return str(said.stdout_bytes.decode(errors="replace"))

    def _run(self, script: str) -> Any:
        return self._host.run("sh -c %s", f"PATH=$PATH:/usr/sbin:/sbin\n{script}")


@cache
def of(host: Host) -> Node:
    """The node that a host is; the same for all audits of a run."""
    return Node(host)
