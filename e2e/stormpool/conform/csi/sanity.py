"""kubernetes-csi's csi-sanity, run on the bench's plugin; its cases are told as rules."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from stormpool import programs
from stormpool.conform.csi.bench import Bench
from stormpool.conform.results import Outcome, Result
from stormpool.conform.rule import Cases
from stormpool.errors import MachineError
from stormpool.programs import FIXTURES

NAME = "csi-sanity"
SOURCE = "csi-test v5.5.0"
WITHIN = 600.0  # seconds for all cases; under 20 for a plugin of files
WHERE = "/run/csi-sanity"  # its files and volumes, on the node
# Which of its calls take secrets (csi-test, pkg/sanity/sanity.go); all are given the same.
SECRETS = (
    "CreateVolume",
    "DeleteVolume",
    "ControllerPublishVolume",
    "ControllerUnpublishVolume",
    "ControllerValidateVolumeCapabilities",
    "NodeStageVolume",
    "NodePublishVolume",
    "CreateSnapshot",
    "DeleteSnapshot",
    "ControllerExpandVolume",
    "ControllerModifyVolume",
    "ListSnapshots",
    "GetSnapshot",
)
OUTCOMES = {
    "passed": Outcome.PASSED,
    "failed": Outcome.BROKEN,
    "skipped": Outcome.NOT_OFFERED,
    "pending": Outcome.NOT_OFFERED,
}


def judged(bench: Bench) -> Sequence[Result]:
    """The cases of kubernetes-csi's own test of plugins, each told as a rule."""
    program = programs.ensure(programs.recipe(FIXTURES / "tools" / NAME))
    report = f"{WHERE}/junit.xml"
    bench.node.write(f"{WHERE}/parameters", json.dumps(dict(bench.parameters)))  # JSON is YAML
    secrets = {f"{call}Secret": dict(bench.secrets) for call in SECRETS}
    bench.node.write(f"{WHERE}/secrets", json.dumps(secrets))
    options = {
        "csi.endpoint": bench.plugin.endpoint,
        "csi.mountdir": f"{WHERE}/mount",
        "csi.stagingdir": f"{WHERE}/staging",
        "csi.testvolumeparameters": f"{WHERE}/parameters",
        "csi.testvolumesize": bench.size,
        "csi.testvolumeexpandsize": 2 * bench.size,
        "ginkgo.junit-report": report,
        "ginkgo.no-color": "true",
    }
    if bench.secrets:
        options["csi.secrets"] = f"{WHERE}/secrets"
    argv = [str(program), *(f"--{name}={value}" for name, value in options.items())]
    done = bench.node.run(argv, timeout=WITHIN, check=False)
    try:
        return cases(bench.node.read(report))
    except (OSError, ET.ParseError) as error:
        raise MachineError(f"{NAME} ended with {done.code} and no report: {done.stdout[-400:]}") from error


def cases(junit: str) -> list[Result]:
    """The cases in its report; those of its own set-up only where they failed."""
    found = (_case(each) for each in ET.fromstring(junit).iter("testcase"))
    return [case for case in found if "[It]" in case.rule or case.outcome is Outcome.NOT_JUDGED]


def _case(case: ET.Element) -> Result:
    name = case.get("name", "")
    outcome = OUTCOMES.get(case.get("status", ""), Outcome.NOT_JUDGED)
    if "[It]" not in name and outcome is not Outcome.PASSED:
        outcome = Outcome.NOT_JUDGED
    told = next(iter(case), None)
    words = "" if told is None or outcome is Outcome.PASSED else told.get("message", "")
    seconds = round(float(case.get("time", "0")), 3)
    return Result(f"{NAME}: {name}", "", SOURCE, outcome, seconds, " ".join(words.split()))


RULES = (Cases(NAME, SOURCE, judged),)
