"""What a run's directory says of it, for tests that need one."""

from stormpool.lab import Lab
from stormpool.run import About


def about(*, scenario: str = "saved", guarantees: tuple[str, ...] = (), error: str = "") -> About:
    """A run of a small lab on Nomad 1.6.0."""
    return About(
        id="1",
        scenario=scenario,
        guarantees=list(guarantees),
        versions={"nomad": "1.6.0"},
        seed=7,
        lab=Lab(),
        provider="netns",
        started="2026-01-01",
        replay="stormpool run saved --seed 7",
        error=error,
    )
