"""Which allocation a workload goes by, of a job whose name had been used before."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from stormpool.errors import TimedOut
from stormpool.wait import wait_until
from stormpool.workloads.attaching import attach, placed

STATUSES = {"running", "complete"}


def stub(created: int, status: str) -> dict[str, object]:
    return {
        "ID": f"alloc{created}",
        "JobID": "consumer-vol1-holds",
        "NodeName": "client1",
        "DesiredStatus": "run",
        "ClientStatus": status,
        "CreateIndex": created,
    }


class Servers:
    """What servers say of a job's allocations, a while after each other."""

    def __init__(self, *said: list[dict[str, object]]) -> None:
        self._said = list(said)
        self.told: list[Any] = []
        self.recorder = SimpleNamespace(now=lambda: 1, write=self.told.append)

    def api(self) -> "Servers":
        return self

    def submit(self, job: dict[str, Any]) -> int:
        return 20

    def get(self, path: str) -> Any:
        return [] if "evaluations" in path else self._said[0]

    def until(self, path: str, holds: Any, *, timeout: float, missing: Any) -> Any:
        def said() -> Any:
            return self._said.pop(0) if len(self._said) > 1 else self._said[0]

        return wait_until(path, said, holds, timeout=timeout, every=0.001)


BEFORE = stub(11, "complete")


def test_what_ran_before_the_job_was_registered_anew_is_not_its_own() -> None:
    servers: Any = Servers([BEFORE], [BEFORE, stub(21, "pending")], [BEFORE, stub(21, "running")])
    assert placed(servers, "consumer-vol1-holds", 20, STATUSES, 5).id == "alloc21"
    servers = Servers([BEFORE], [stub(21, "running"), BEFORE])
    assert attach(cast(Any, servers), {"ID": "consumer-vol1-holds"}, "vol1", 5).error == ""
    (told,) = servers.told
    assert (told.alloc, told.node) == ("alloc21", "client1")


def test_a_job_of_which_nothing_is_placed_has_none_of_another_s() -> None:
    servers: Any = Servers([BEFORE])
    with pytest.raises(TimedOut):
        placed(servers, "consumer-vol1-holds", 20, STATUSES, 0.01)
    told = attach(servers, {"ID": "consumer-vol1-holds"}, "vol1", 0.01)
    assert told.alloc == ""
    assert told.error.startswith("job/consumer-vol1-holds/allocations: not within")
