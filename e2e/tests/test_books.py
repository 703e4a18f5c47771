"""What the servers say of allocations, and of the volumes that these use by their jobs."""

from typing import Any, cast

from stormpool.agents.api import Api
from stormpool.agents.books import allocations
from stormpool.checkers.nothing_left_behind import nothing_left_behind
from stormpool.events import Books, Observed, Volume
from stormpool.history import History
from stormpool.verdict import Outcome


class Servers:
    """Answers as agents do: a list of allocations without their jobs, and each with its job."""

    def __init__(self, stubs: list[dict[str, Any]], jobs: dict[str, dict[str, Any]]) -> None:
        self.stubs = stubs
        self.jobs = jobs
        self.asked: list[str] = []

    def get(self, path: str, **query: str) -> Any:
        self.asked.append(path)
        return {"allocations": self.stubs}[path]

    def find(self, path: str) -> Any:
        self.asked.append(path)
        return self.jobs.get(path.removeprefix("allocation/"))


def stub(id: str, job: str = "writers", *, index: int = 0, version: int = 1, now: str = "running") -> Any:
    return {
        "ID": id,
        "Name": f"{job}.group[{index}]",
        "JobID": job,
        "JobVersion": version,
        "TaskGroup": "group",
        "NodeName": "client1",
        "DesiredStatus": "run",
        "ClientStatus": now,
    }


def allocation(*volumes: dict[str, Any]) -> dict[str, Any]:
    group = {"Name": "group", "Volumes": {str(at): each for at, each in enumerate(volumes)}}
    return {"Job": {"TaskGroups": [{"Name": "other", "Volumes": None}, group]}}


def csi(source: str, *, each: bool = False) -> dict[str, Any]:
    return {"Type": "csi", "Source": source, "PerAlloc": each}


def used(servers: Servers) -> dict[str, list[str]]:
    return {alloc.id: alloc.volumes for alloc in allocations(cast(Api, servers))}


def test_live_allocations_use_the_volumes_of_their_jobs_and_a_job_is_asked_once() -> None:
    jobs = {"a": allocation(csi("shared"), csi("own", each=True), {"Type": "host", "Source": "data"})}
    servers = Servers([stub("a"), stub("b", index=11)], jobs)
    assert used(servers) == {"a": ["own[0]", "shared"], "b": ["own[11]", "shared"]}
    assert servers.asked == ["allocations", "allocation/a"]


def test_each_is_told_by_the_version_of_its_job_that_it_is_of() -> None:
    servers = Servers(
        [stub("a"), stub("b", version=2)], {"a": allocation(csi("one")), "b": allocation(csi("two"))}
    )
    assert used(servers) == {"a": ["one"], "b": ["two"]}


def test_of_what_is_over_or_has_not_begun_or_is_a_plugins_nothing_is_asked() -> None:
    over = [stub("a", now="complete"), stub("b", now="lost"), stub("c", now="pending")]
    servers = Servers([*over, stub("d", "plugin-zfs-node")], {"c": allocation(csi("vol1"))})
    assert used(servers) == {"a": [], "b": [], "c": [], "d": []}
    assert servers.asked == ["allocations"]


def test_of_a_job_that_is_asked_only_those_that_have_started_use_volumes() -> None:
    jobs = {"a": allocation(csi("shared"), csi("own", each=True))}
    seen = used(Servers([stub("a"), stub("b", index=1, now="pending"), stub("c", now="failed")], jobs))
    assert seen == {"a": ["own[0]", "shared"], "b": [], "c": []}


def test_what_has_gone_meanwhile_and_what_has_no_volumes_uses_none() -> None:
    assert used(Servers([stub("a"), stub("b", "bare")], {"b": allocation()})) == {"a": [], "b": []}


def test_a_pool_whose_allocation_lost_its_claim_is_used_as_long_as_that_lives() -> None:
    def judged(now: str) -> Outcome:
        allocs = allocations(cast(Api, Servers([stub("a", now=now)], {"a": allocation(csi("vol1"))})))
        books = Books(10, {"vol1": []}, allocs)
        look = Observed(20, "client1", settled=True, pools=["vol1"])
        return nothing_left_behind(History([Volume(0, "vol1", "zfs"), books, look])).outcome

    assert judged("running") is Outcome.VALID
    assert judged("unknown") is Outcome.VALID  # on a client that no server hears, where it may run
    assert judged("pending") is Outcome.INVALID
    assert judged("complete") is Outcome.INVALID
