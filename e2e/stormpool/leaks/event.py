"""What happened to a run's designs: the name of its scenario says it."""

from __future__ import annotations


def event_of(scenario: str) -> str:
    """A scenario's name, FILE::test_WHAT_HAPPENS, as words."""
    _, _, test = scenario.partition("::")
    return (test or scenario).removeprefix("test_").replace("_", " ")
