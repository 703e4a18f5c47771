"""Device instances by names of their own: two groups of a node may call theirs alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def name_of(group: Mapping[str, Any], id: str) -> str:
    """An instance by its group, as Nomad's API has that, and its id: vendor/type/name[id]."""
    return f"{group['Vendor']}/{group['Type']}/{group['Name']}[{id}]"


def id_of(instance: str) -> str:
    """The id of an instance that is so named: how its plugin calls it, and a job's constraint.

    Earlier histories have ids alone.
    """
    _, named, id = instance.partition("[")
    return id.removesuffix("]") if named else instance
