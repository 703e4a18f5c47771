"""Every checker turns red on a plugin with a fault built in, and names it."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from stormpool import guarantees, workloads
from stormpool.lab import Lab
from stormpool.plugins import csi
from stormpool.runner import Asked, running
from stormpool.verdict import Guarantee, Outcome

pytestmark = pytest.mark.lab


@dataclass(frozen=True)
class Case:
    """A mutant, what must catch it, and words its witness must have."""

    mutant: str
    caught_by: Guarantee
    words: str
    volumes: int = 1
    clients: int = 1


CASES = [
    Case("uneven_capabilities", guarantees.lifecycle_order, "was not staged", clients=2),
    Case("stuck_detach", guarantees.claims_match_reality, "is claimed by allocation"),
    Case("leaky_unstage", guarantees.nothing_left_behind, "was still imported"),
    Case("wrong_volume", guarantees.one_writer_a_volume, "both held", volumes=3),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.mutant)
def test_a_mutant_is_caught(case: Case, tmp_path: Path) -> None:
    lab = Lab(servers=1, clients=case.clients, plugins=[csi.zfs(mutant=case.mutant)])
    asked = Asked(lab=lab, scenario=f"mutant {case.mutant}", out=tmp_path, seed=1)
    with running(asked) as cluster:
        volumes = cluster.create_volumes(case.volumes)
        history = cluster.run(
            workloads.attach_detach(volumes, per_volume=1, timeout=10, node="client1"), settle=5
        )
        verdict = case.caught_by(history)
    assert verdict.outcome is Outcome.INVALID, verdict
    assert case.words in verdict.why
