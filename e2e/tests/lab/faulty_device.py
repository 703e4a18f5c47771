"""A device plugin that keeps every rule, and has a fault where `FAULT` says which."""

import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

import faulty_protocol
from faulty_protocol import faulty
from stormpool.goplugin import device as messages
from stormpool.goplugin import device_service
from stormpool.goplugin.attributes import Attribute, Quantity, attribute_to
from stormpool.goplugin.device import Group, Instance, Mount, Reservation, Special, Statistics
from stormpool.goplugin.serve import serve_device

ATTRIBUTES: dict[str, Attribute] = {
    "size": Quantity(64, "MiB"),
    "rate": Quantity(2.5, "GB/s"),
    "fast": True,
    "kind": "directory",
}
ROOT = Path("/srv/conform")
KEPT = Path("/srv/conform-kept")


class Config(msgspec.Struct):
    count: int = 3


class Directories:
    name = "directories"
    version = "one" if faulty("no_version") else "0.1.0"
    config = Config

    def __init__(self) -> None:
        self._config = Config()
        self._seen = not faulty("needs_fingerprint")
        self._reserved: set[str] = set()
        self._busy = threading.Lock()
        self._own = secrets.token_hex(2) if faulty("fickle") else ""
        if faulty("takes_back"):
            shutil.rmtree(ROOT, ignore_errors=True)

    def configure(self, config: Config) -> None:
        self._config = config

    @property
    def _ids(self) -> list[str]:
        ids = [f"d{number}{self._own}" for number in range(self._config.count)]
        hidden = [path.name for path in KEPT.iterdir()] if faulty("hides") and KEPT.exists() else []
        return [id for id in ids if id not in hidden]

    @property
    def _ill(self) -> list[str]:
        if faulty("one_ill") or faulty("falls_ill"):
            return self._ids[:1]
        return self._ids if faulty("all_ill") else []

    def fingerprint(self, over: threading.Event) -> Iterator[Sequence[Group]]:
        self._seen = True
        if faulty("late"):
            over.wait()
        vendor = "" if faulty("nameless") else "acme"
        if faulty("falls_ill"):
            yield [Group(vendor, "directory", "plain", tuple(Instance(id) for id in self._ids))]
        told = tuple(Instance(id, id not in self._ill, "worn") for id in self._ids)
        groups = [Group(vendor, "directory", "plain", told, ATTRIBUTES)]
        yield [*groups, Group("acme", "other", "plain", groups[0].instances)] if faulty("twins") else groups
        while not over.wait(0.1) and not faulty("ends"):
            if faulty("repeats"):
                yield groups

    def reserve(self, ids: Sequence[str]) -> Reservation:
        self._refuse(ids)
        if not self._busy.acquire(blocking=not faulty("unlocked")):
            raise RuntimeError("busy")
        try:
            time.sleep(0.02)
            return self._reserve(ids)
        finally:
            self._busy.release()

    def _refuse(self, ids: Sequence[str]) -> None:
        if not ids and faulty("dies_of_none"):
            os._exit(3)
        wrong = [id for id in ids if id not in self._ids] if not faulty("accepts_all") else []
        wrong += [id for id in ids if id in self._ill]
        if wrong or not self._seen or faulty("reserves_none"):
            raise LookupError(f"no {wrong}")
        if len(ids) > 1 and faulty("one_at_a_time"):
            raise ValueError("one at a time")
        if self._reserved & set(ids) and faulty("once_only"):
            raise ValueError("reserved")

    def _reserve(self, ids: Sequence[str]) -> Reservation:
        self._reserved.update(ids)
        lock = KEPT / "lock"
        if faulty("half_done"):
            if lock.exists():
                raise RuntimeError(f"{lock} is there")
            KEPT.mkdir(exist_ok=True)
            lock.touch()
            time.sleep(0.2)
            lock.unlink()
        if faulty("hides"):
            KEPT.mkdir(exist_ok=True)
            (KEPT / ids[0]).touch()
        for id in ids:
            (ROOT / id).mkdir(parents=True, exist_ok=True)
        if faulty("shares_output"):
            faulty_protocol.leave_a_process(output=None)
        host = "/nowhere" if faulty("no_mount") else str(ROOT)
        special = "/etc/passwd" if faulty("no_special") else "/dev/null"
        return Reservation(
            {"" if faulty("no_name") else "DIRECTORIES": ",".join(ids)},
            tuple(Mount(f"/directories/{id}", f"{host}/{id}") for id in ids),
            (Special("/dev/none", special, "rw"),),
        )

    def stats(self, every: float, over: threading.Event) -> Iterator[Statistics]:
        id = "other" if faulty("others_statistics") else self._ids[0]
        while not over.is_set():
            yield {("acme", "directory", "plain"): {id: {"used": 1}}}
            while faulty("leaky_streams"):
                time.sleep(1)
            over.wait(10 * every if faulty("slow_statistics") else every)


def wrong_attribute(value: Attribute) -> Any:
    """A value as a message that no agent takes."""
    said = attribute_to(value)
    if faulty("strange_unit") and said.unit == "MiB":
        said.unit = "B"
    if faulty("unit_of_text") and said.WhichOneof("value") == "string_val":
        said.unit = "W"
    if faulty("no_value") and said.WhichOneof("value") == "bool_val":
        said.ClearField("value")
    return said


def timeless(told: Statistics) -> object:
    said = messages.statistics_to(told)
    for group in said.groups:
        for each in group.instance_stats.values():
            each.ClearField("timestamp")
    return said


if __name__ == "__main__":
    faulty_protocol.apply()
    if faulty("strange_unit") or faulty("unit_of_text") or faulty("no_value"):
        messages.attribute_to = wrong_attribute  # type: ignore[attr-defined]
    if faulty("timeless"):
        device_service.statistics_to = timeless  # type: ignore[attr-defined]
    serve_device(Directories())
