"""A task whose start fails, at whichever step, leaves no executor, no mount and no dataset behind.

The forgotten `pluginClient.Kill()` on an error path (seed 004) is what leaves a copy of the driver's program
for each failed start.
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import driver
from stormpool.workloads import Kind, Tasks

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs()])
# Every step of the reference driver's start (`zfs_driver.steps`).
STEPS = ("config", "dataset", "launch", "connect", "namespace", "output", "root", "command", "record")
JUDGED = (
    guarantees.no_orphaned_executor,
    guarantees.one_plugin_process,
    guarantees.nothing_left_behind,
)


def fails(name: str, **config: object) -> Tasks:
    """A task that cannot be started."""
    return workloads.tasks(1, Kind(config=config, lasting=False, name=name), goes_on=1, timeout=8)


def test_a_start_that_fails_leaves_nothing(cluster: Cluster) -> None:
    """Each step fails once, as its task asks for: a task a step, all at once."""
    each = [fails(f"fails-at-{step}-", fail_at=step, dataset={"use": "work"}) for step in STEPS]
    cluster.run(*each, settle=15).must_satisfy(*JUDGED)


def test_what_cannot_be_started_leaves_nothing(cluster: Cluster) -> None:
    """A command that is not there, and a dataset that is refused."""
    history = cluster.run(
        fails("no-command-", command="/bin/none"),
        fails("no-dataset-", dataset={"use": "work", "quota": "a lot"}),
        settle=15,
    )
    history.must_satisfy(*JUDGED)
