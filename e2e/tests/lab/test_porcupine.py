"""The check of linearizability and porcupine give the same answers on the same histories of claims."""

from collections import Counter
from random import Random

import pytest
from claim_histories import Shape, mutated, seen

from porcupine import Asked, ours, porcupines
from stormpool.verdict import Outcome

pytestmark = pytest.mark.lab

HISTORIES = 6_000
PLENTY = 10_000_000


def generated(seed: int) -> Asked:
    """One to three volumes, answered and unanswered operations; changed up to three times, or not at all."""
    chance = Random(seed)
    single = chance.random() < 0.8
    shape = Shape(chance.randrange(6, 50), chance.randrange(1, 6), chance.choice((0, 0.1, 0.3)), single)
    volumes = {f"vol{number}": seen(chance, shape) for number in range(chance.randrange(1, 4))}
    for _ in range(chance.choice((0, 0, 1, 2, 3))):
        name = chance.choice(sorted(volumes))
        volumes[name] = mutated(chance, volumes[name])
    return Asked(volumes, single)


def test_porcupine_says_the_same_of_thousands_of_histories() -> None:
    histories = [generated(seed) for seed in range(HISTORIES)]
    theirs = [said.outcome for said in porcupines(histories)]
    mine = [ours(history, PLENTY) for history in histories]
    differing = [seed for seed, (one, other) in enumerate(zip(mine, theirs, strict=True)) if one is not other]
    assert not differing
    counts = Counter(mine)
    assert counts[Outcome.VALID] > HISTORIES // 4
    assert counts[Outcome.INVALID] > HISTORIES // 5
