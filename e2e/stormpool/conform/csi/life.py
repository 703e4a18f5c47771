"""The calls of a volume's life, and what a plugin must say to be asked them (CSI spec, Volume Lifecycle)."""

from __future__ import annotations

# What brings a volume up, in order, each with the capability it takes; none for what every node plugin has.
CAPABILITY = {
    "CreateVolume": "CREATE_DELETE_VOLUME",
    "ControllerPublishVolume": "PUBLISH_UNPUBLISH_VOLUME",
    "NodeStageVolume": "STAGE_UNSTAGE_VOLUME",
    "NodePublishVolume": "",
}
UNDONE_BY = {
    "CreateVolume": "DeleteVolume",
    "ControllerPublishVolume": "ControllerUnpublishVolume",
    "NodeStageVolume": "NodeUnstageVolume",
    "NodePublishVolume": "NodeUnpublishVolume",
}
UNDOES = {undo: done for done, undo in UNDONE_BY.items()}
UP = tuple(UNDONE_BY)
DOWN = tuple(reversed(UNDOES))
ALL = UP + DOWN


def done_by(method: str) -> str:
    """The call that brings about what a call brings about or undoes."""
    return UNDOES.get(method, method)


def before(method: str, up: tuple[str, ...]) -> int:
    """How many of the calls of `up` a volume has behind it when a call is due."""
    return up.index(done_by(method)) + (method in UNDOES)


def after(method: str, up: tuple[str, ...]) -> int:
    """How many of the calls of `up` a volume has behind it once a call is done."""
    return up.index(done_by(method)) + (method not in UNDOES)
