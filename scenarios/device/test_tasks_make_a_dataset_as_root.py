"""Tasks before and after the one that uses a dataset make and destroy it, as root on the node.

It works, and whoever may submit such a job is root on every node.
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.workloads import dataset_jobs

LAB = Lab(servers=1, clients=1)
MARK = "/srv/written-by-a-job"
# As many lines as the file has, which only root can read; not the lines.
TAKE = f"id -u >{MARK} && wc -l </etc/shadow >>{MARK}"


def test_tasks_make_a_dataset_as_root(cluster: Cluster) -> None:
    """A job that keeps to its dataset; then one of the same shape that does not."""
    (client,) = cluster.clients()
    history = cluster.run(workloads.use_dataset("tasks", turns=2, timeout=25), settle=25)
    history.must_satisfy(guarantees.every_job_runs, guarantees.nothing_left_behind, guarantees.progress)
    left = client.run(["zfs", "list", "-H", "-o", "name", "-r", "tank/allocs"]).stdout.split()
    assert left == ["tank/allocs"]
    job = dataset_jobs.by_tasks("dataset-tasks-takes", cluster.task_driver, prestart=dataset_jobs.MAKE + TAKE)
    cluster.submit(job)
    cluster.api().until(
        f"job/{job['ID']}/allocations",
        lambda seen: any(stub["ClientStatus"] == "running" for stub in seen),
        timeout=25,
        missing=[],
    )
    who, lines = client.read(MARK).split()
    assert who == "0"
    assert int(lines) > 0
