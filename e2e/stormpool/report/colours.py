"""Which colour a kind of span has: a name that the page's style gives a value, light and dark."""

from __future__ import annotations

from collections.abc import Iterable

NAMES = {
    "ControllerPublishVolume": "attach-call",
    "ControllerUnpublishVolume": "detach-call",
    "CreateVolume": "create-call",
    "DeleteVolume": "delete-call",
    "NodeStageVolume": "stage-call",
    "NodePublishVolume": "publish-call",
    "NodeUnpublishVolume": "unpublish-call",
    "NodeUnstageVolume": "unstage-call",
    "task": "task",
    "claim": "claim",
    "attach": "attach",
    "detach": "detach",
    "leader": "leader",
    "fault": "fault",
    "ready": "ready",
    "down": "down",
    "healthy": "ready",
    "unhealthy": "down",
}
OTHERS = 4  # colours that kinds without one of their own share


def colours(kinds: Iterable[str]) -> dict[str, str]:
    """The name of each kind's colour."""
    unknown = sorted(set(kinds) - NAMES.keys())
    return NAMES | {kind: f"other-{number % OTHERS}" for number, kind in enumerate(unknown)}
