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
# A directory of its own for each case: it refuses one that a plugin has not removed after the last.
FRESH = '#!/bin/sh\nexec mktemp -d "$1.XXXXXX"\n'
# How it says that what failed was its own preparing or clearing up, and not what the case is about.
NOT_THE_CASE = ("resource cleanup failed", "failed to create target directory", "failed to create staging")
OUTCOMES = {
    "passed": Outcome.PASSED,
    "failed": Outcome.BROKEN,
    "skipped": Outcome.NOT_OFFERED,
    "pending": Outcome.NOT_OFFERED,
}


def judged(bench: Bench) -> Sequence[Result]:
    """The cases of kubernetes-csi's own test of plugins, each told as a rule."""
    bench.needs("NodePublishVolume")  # it asks one endpoint for both services
    program = programs.ensure(programs.recipe(FIXTURES / "tools" / NAME))
    report = f"{WHERE}/junit.xml"
    bench.node.write(f"{WHERE}/parameters", json.dumps(dict(bench.asked.plugin.parameters)))  # JSON is YAML
    secrets = {f"{call}Secret": dict(bench.asked.secrets) for call in SECRETS}
    bench.node.write(f"{WHERE}/secrets", json.dumps(secrets))
    bench.node.write(f"{WHERE}/fresh", FRESH)
    bench.node.run(["chmod", "+x", f"{WHERE}/fresh"])
    options = {
        "csi.endpoint": bench.plugin.endpoint,
        "csi.mountdir": f"{WHERE}/mount",
        "csi.stagingdir": f"{WHERE}/staging",
        "csi.createmountpathcmd": f"{WHERE}/fresh",
        "csi.createstagingpathcmd": f"{WHERE}/fresh",
        "csi.testvolumeparameters": f"{WHERE}/parameters",
        "csi.testvolumesize": bench.asked.size,
        "csi.testvolumeexpandsize": 2 * bench.asked.size,
        "ginkgo.junit-report": report,
        "ginkgo.no-color": "true",
    }
    if bench.asked.secrets:
        options["csi.secrets"] = f"{WHERE}/secrets"
    argv = [str(program), *(f"--{name}={value}" for name, value in options.items())]
    done = bench.node.run(argv, timeout=WITHIN, check=False)
    try:
        return cases(bench.node.read(report))
    except (OSError, ET.ParseError) as error:
        raise MachineError(f"{NAME} ended with {done.code} and no report: {done.stdout[-400:]}") from error


def cases(junit: str) -> list[Result]:
    """The cases in its report; those of its own set-up only where they failed."""
    found = ET.fromstring(junit).iter("testcase")
    told = [(each.get("name", ""), _case(each)) for each in found]
    return [case for name, case in told if "[It]" in name or case.outcome is Outcome.NOT_JUDGED]


def _case(case: ET.Element) -> Result:
    name = case.get("name", "")
    outcome = OUTCOMES.get(case.get("status", ""), Outcome.NOT_JUDGED)
    told = case.find("failure") if outcome is Outcome.BROKEN else case.find("skipped")
    words = "" if told is None else " ".join(told.get("message", "").split())
    if outcome is Outcome.BROKEN and ("[It]" not in name or words.startswith(NOT_THE_CASE)):
        outcome = Outcome.NOT_JUDGED
    seconds = round(float(case.get("time", "0")), 3)
    return Result(f"{NAME}: {name.removeprefix('[It] ')}", "", SOURCE, outcome, seconds, words)


RULES = (Cases(NAME, SOURCE, judged),)
