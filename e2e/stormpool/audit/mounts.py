"""What is mounted on a node, and what must not be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stormpool.audit import allocations

if TYPE_CHECKING:
    from stormpool.audit.look import Look

ESCAPE = re.compile(r"\\([0-7]{3})")
# A plugin may mount a volume below the directory that it was given.
USE = re.compile(
    r"(?P<plugin>/client/csi/[^/]+/.+)/(?:staging|per-alloc)/.*?"
    r"(?P<use>[^/]+/r[wo]-(?:file-system|block-device)-[^/]+)(?:/|$)"
)


@dataclass(frozen=True)
class Mount:
    """One mount, as in /proc/mounts."""

    source: str
    point: str
    kind: str

    def __str__(self) -> str:
        return f"{self.source} is mounted at {self.point}"

    @property
    def is_zfs(self) -> bool:
        """Whether it is a ZFS file system, of the kernel's or of zfs-fuse's."""
        return self.kind in ("zfs", "fuse.zfs")

    @property
    def is_staged(self) -> bool:
        """Whether an agent had a plugin stage it."""
        asked = allocations.ASKED.match(self.point)
        return asked is not None and asked["kind"] == "staging"

    @property
    def use(self) -> tuple[str, str] | None:
        """The plugin, and the volume with how it is used, that an agent had this mounted for.

        The agent names the directories: staging/[NAMESPACE/]VOLUME/USE and per-alloc/ALLOC/VOLUME/USE (nomad,
        client/pluginmanager/csimanager/volume.go).
        """
        found = USE.search(self.point)
        return (found["plugin"], found["use"]) if found else None


def unescaped(word: str) -> str:
    """A word of /proc/mounts as it was before the kernel wrote its blanks as \\040 (fstab(5))."""
    return ESCAPE.sub(lambda found: chr(int(found[1], 8)), word)


def of_nobody(look: Look) -> Iterator[str]:
    """What is mounted for an allocation that is no more, or staged for none."""
    published = {mount.use for mount in look.mounts if look.knows(allocations.of(mount.point))}
    for mount in look.mounts:
        alloc = allocations.of(mount.point)
        if alloc and not look.knows(alloc):
            yield f"{mount}: of allocation {alloc[:8]}, {look.why_unknown}"
        elif mount.is_staged and not look.clients:
            yield f"{mount}: staged, and no client runs here"
        elif mount.is_staged and mount.use not in published:
            yield f"{mount}: staged, and published for no allocation"


def without_dataset(look: Look, datasets: Collection[str]) -> Iterator[str]:
    """ZFS file systems that are mounted, and that are in no pool."""
    for mount in look.mounts:
        if mount.is_zfs and mount.source.partition("@")[0] not in datasets:
            yield f"{mount}: no pool that is imported has it"


def stacked(look: Look) -> Iterator[str]:
    """Mount points of agents, plugins and ZFS at which more than one thing is mounted."""
    counted = Counter(
        mount.point
        for mount in look.mounts
        if mount.is_zfs or allocations.of(mount.point) or allocations.ASKED.match(mount.point)
    )
    for point, times in counted.items():
        if times > 1:
            yield f"{times} file systems are mounted over one another at {point}"
