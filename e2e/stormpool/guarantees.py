"""The guarantees a scenario can name, one checker a file under `stormpool.checkers`."""

from __future__ import annotations

from stormpool.checkers.acknowledged_writes import no_acknowledged_write_is_lost
from stormpool.checkers.claims_are_linearizable import claims_are_linearizable
from stormpool.checkers.claims_match_reality import claims_match_reality
from stormpool.checkers.dataset_lives_as_long import dataset_lives_as_long
from stormpool.checkers.device_constraints import device_constraints
from stormpool.checkers.device_news import device_news
from stormpool.checkers.every_job_runs import every_job_runs
from stormpool.checkers.exit_status import exit_status
from stormpool.checkers.healthy_controllers import healthy_controllers
from stormpool.checkers.keys_are_unloaded import keys_are_unloaded
from stormpool.checkers.lifecycle_order import lifecycle_order
from stormpool.checkers.lowest_healthy_controller import lowest_healthy_controller
from stormpool.checkers.no_orphaned_executor import no_orphaned_executor
from stormpool.checkers.nothing_left_behind import nothing_left_behind
from stormpool.checkers.one_leader_a_term import one_leader_a_term
from stormpool.checkers.one_plugin_process import one_plugin_process
from stormpool.checkers.one_pool_a_volume import one_pool_a_volume
from stormpool.checkers.one_task_a_device import one_task_a_device
from stormpool.checkers.one_writer_a_volume import one_writer_a_volume
from stormpool.checkers.plugins_are_independent import plugins_are_independent
from stormpool.checkers.progress import progress
from stormpool.checkers.published_is_unpublished import published_is_unpublished
from stormpool.checkers.recovered_task_is_the_same import recovered_task_is_the_same
from stormpool.checkers.room_is_there import room_is_there
from stormpool.checkers.serialized_controller_calls import serialized_controller_calls
from stormpool.errors import Misuse
from stormpool.verdict import Guarantee

ALL: tuple[Guarantee, ...] = (
    serialized_controller_calls,
    plugins_are_independent,
    lowest_healthy_controller,
    healthy_controllers,
    lifecycle_order,
    published_is_unpublished,
    claims_match_reality,
    claims_are_linearizable,
    one_writer_a_volume,
    one_pool_a_volume,
    no_acknowledged_write_is_lost,
    room_is_there,
    progress,
    every_job_runs,
    nothing_left_behind,
    keys_are_unloaded,
    one_leader_a_term,
    one_task_a_device,
    device_constraints,
    device_news,
    dataset_lives_as_long,
    no_orphaned_executor,
    one_plugin_process,
    recovered_task_is_the_same,
    exit_status,
)

# What a task driver that makes datasets is held to, whatever happens to it.
DRIVERS: tuple[Guarantee, ...] = (
    no_orphaned_executor,
    one_plugin_process,
    exit_status,
    dataset_lives_as_long,
    nothing_left_behind,
    progress,
)


def by_name(name: str) -> Guarantee:
    """The guarantee of that name. Raises `Misuse` when there is none."""
    for each in ALL:
        if each.name == name:
            return each
    raise Misuse(f"no guarantee is named {name!r}", fix="name one of: " + ", ".join(one.name for one in ALL))


__all__ = [
    "ALL",
    "DRIVERS",
    "by_name",
    "claims_are_linearizable",
    "claims_match_reality",
    "dataset_lives_as_long",
    "device_constraints",
    "device_news",
    "every_job_runs",
    "exit_status",
    "healthy_controllers",
    "keys_are_unloaded",
    "lifecycle_order",
    "lowest_healthy_controller",
    "no_acknowledged_write_is_lost",
    "no_orphaned_executor",
    "nothing_left_behind",
    "one_leader_a_term",
    "one_plugin_process",
    "one_pool_a_volume",
    "one_task_a_device",
    "one_writer_a_volume",
    "plugins_are_independent",
    "progress",
    "published_is_unpublished",
    "recovered_task_is_the_same",
    "room_is_there",
    "serialized_controller_calls",
]
