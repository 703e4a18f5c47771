"""Calls out of order, or for what is not there: each is refused with the status the specification names."""

from __future__ import annotations

from typing import Any

from stormpool.conform.csi import life
from stormpool.conform.csi.bench import Bench
from stormpool.conform.csi.plugin import Refused
from stormpool.conform.csi.volume import Volume
from stormpool.conform.rule import Broken, Rule, rule

TEXT = "written to the volume"


def for_a_deleted_volume(method: str) -> Rule[Bench]:
    """A call that needs a volume that is gone. Its id is one of the plugin's own, and well formed."""

    @rule(source=f"{method} Errors: Volume does not exist, NOT_FOUND (MUST)", of=method)
    def a_deleted_volume(bench: Bench) -> None:
        """A call for a volume that was deleted is answered NOT_FOUND."""
        bench.needs(method)
        volume = bench.deleted_volume()
        _must_be_refused(bench, volume, method, "NOT_FOUND")

    return a_deleted_volume


def without_an_access_type(method: str) -> Rule[Bench]:
    """A call whose capability does not say how the volume is to be used."""

    @rule(
        source=f"{method}: volume capability, access_type; Error Scheme: INVALID_ARGUMENT (MUST)", of=method
    )
    def no_access_type(bench: Bench) -> None:
        """A capability that says neither file system nor block device is answered INVALID_ARGUMENT."""
        bench.needs(method)
        volume = bench.volume()
        volume.to(life.before(method, bench.up))
        whole = bench.capability
        half = type(whole)(access_mode=whole.access_mode)
        said = {"volume_capabilities": [half]} if method == "CreateVolume" else {"volume_capability": half}
        _must_be_refused(bench, volume, method, "INVALID_ARGUMENT", **said)
        volume.fall(f"{method} was refused")

    return no_access_type


@rule(source="NodePublishVolume Errors: Staging target path not set, FAILED_PRECONDITION (MUST)")
def no_staging_path(bench: Bench) -> None:
    """A volume that is published without its staging path, by a plugin that stages, is refused."""
    bench.needs("NodeStageVolume", "NodePublishVolume")
    volume = bench.volume()
    volume.to(life.before("NodePublishVolume", bench.up))
    _must_be_refused(bench, volume, "NodePublishVolume", "FAILED_PRECONDITION", staging_target_path="")
    volume.fall("NodePublishVolume was refused")


@rule(
    source="NodePublishVolume: the mounted volume at target_path (SHALL); reference counting: staged before"
)
def not_staged(bench: Bench) -> str:
    """A volume that is not staged is not published; or it is, and is that volume, not an empty directory."""
    bench.needs("NodeStageVolume", "NodePublishVolume")
    bench.needs_files()
    volume = bench.volume()
    volume.up()
    volume.write(TEXT)
    volume.to(life.before("NodeStageVolume", bench.up))
    try:
        bench.plugin.call("NodePublishVolume", volume.request("NodePublishVolume"))
    except Refused as refused:
        told = f"refused with {refused.code}"
    else:
        volume.must_hold(TEXT, "published with OK though it was not staged")
        bench.plugin.call("NodeUnpublishVolume", volume.request("NodeUnpublishVolume"))
        told = "published all the same, with its files"
    volume.fall("published before it was staged")
    return told


@rule(source="DeleteVolume Errors: Volume in use, FAILED_PRECONDITION (MUST)")
def deleted_while_published(bench: Bench) -> None:
    """A volume that is published is not deleted: FAILED_PRECONDITION, and its file is there."""
    bench.needs("NodePublishVolume")
    volume = bench.volume()
    volume.up()
    if bench.keeps_files:
        volume.write(TEXT)
    _must_be_refused(bench, volume, "DeleteVolume", "FAILED_PRECONDITION")
    if bench.keeps_files:
        volume.must_hold(TEXT, "deletion was refused")
    volume.fall("deletion was refused")


@rule(source="NodePublishVolume Errors: Volume published but is incompatible, ALREADY_EXISTS (MUST)")
def published_otherwise(bench: Bench) -> None:
    """A volume that is published to be written to is not published to be read only at the same path."""
    bench.needs("NodePublishVolume")
    volume = bench.volume()
    volume.up()
    _must_be_refused(bench, volume, "NodePublishVolume", "ALREADY_EXISTS", readonly=True)
    volume.fall("publication was refused")


def _must_be_refused(bench: Bench, volume: Volume, method: str, code: str, **otherwise: Any) -> None:
    """Raise `Broken` unless a call is answered with a status."""
    try:
        answer = bench.plugin.call(method, volume.request(method, **otherwise))
    except Refused as refused:
        if refused.code != code:
            raise Broken(f"{refused}; to be answered is {code}") from refused
    else:
        if method in life.UP:
            volume.take(method, answer)  # to be undone
        raise Broken(f"{method} answered OK; to be answered is {code}")


RULES = (
    *map(for_a_deleted_volume, ("NodeStageVolume", "NodePublishVolume")),
    *map(without_an_access_type, life.UP),
    no_staging_path,
    not_staged,
    deleted_while_published,
    published_otherwise,
)
