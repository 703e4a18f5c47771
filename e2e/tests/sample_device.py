"""A device plugin as its author would write it with the library: what the library's own tests serve."""

import sys
import threading
from collections.abc import Iterator, Sequence

import msgspec

from stormpool.goplugin.attributes import Quantity
from stormpool.goplugin.device import Group, Instance, Mount, Reservation, Statistics
from stormpool.goplugin.serve import serve_device


class Config(msgspec.Struct):
    count: int = 2
    names: list[str] = []
    fail: bool = False


class Disks:
    name = "disks"
    version = "1.2.3"
    config = Config

    def __init__(self) -> None:
        self._config = Config()
        self._changed = threading.Event()
        self._taken: set[str] = set()

    def configure(self, config: Config) -> None:
        if config.count < 0:
            raise ValueError("a negative number of disks")
        self._config = config

    def fingerprint(self, over: threading.Event) -> Iterator[Sequence[Group]]:
        while not over.is_set():
            self._changed.clear()
            ids = self._config.names or [f"disk{number}" for number in range(self._config.count)]
            told = tuple(Instance(id, healthy=id not in self._taken, why="as seen") for id in ids)
            size = Quantity(64, "MiB")
            yield [Group("acme", "disk", "small", told, {"size": size, "fast": True, "layout": "mirror"})]
            if self._config.fail:
                raise OSError("the disks cannot be seen any more")
            while not over.is_set() and not self._changed.wait(0.05):
                pass

    def reserve(self, ids: Sequence[str]) -> Reservation:
        print(f"reserved {', '.join(ids)}", flush=True)
        if "none" in ids:
            raise LookupError("no disk is named none")
        self._taken.update(ids)
        self._changed.set()
        return Reservation({"DISKS": ",".join(ids)}, tuple(Mount(f"/disks/{id}", f"/srv/{id}") for id in ids))

    def stats(self, every: float, over: threading.Event) -> Iterator[Statistics]:
        while not over.is_set():
            yield {("acme", "disk", "small"): {"disk0": {"used": Quantity(3, "MiB"), "state": "idle"}}}
            over.wait(every)


if __name__ == "__main__":
    print("disks: serving", file=sys.stderr)
    serve_device(Disks())
