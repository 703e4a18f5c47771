"""Tells Allure of a run, while pytest still has its test open: what the report groups it by, steps, files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from allure_commons.model2 import Label, Parameter, Status, TestStepResult

from stormpool.report.result import Result, Step

KINDS = {".html": "text/html", ".json": "application/json", ".jsonl": "application/x-ndjson"}


def tell(config: pytest.Config, result: Result, files: Sequence[Path]) -> None:
    """Add what a run came to, and its files, to the test that is going on."""
    listener: Any = config.pluginmanager.get_plugin("allure_listener")
    logger = listener.allure_logger
    test = logger.get_test(None)
    test.labels += [Label("suite", result.suite), Label("severity", result.severity.value)]
    # A seed is another each time: it must not make the test another one in Allure's history.
    test.parameters += [
        Parameter(name, value, excluded=name == "seed" or None) for name, value in result.parameters
    ]
    test.steps.extend(_step(each) for each in result.steps)
    for path in files:
        kind = KINDS.get(path.suffix, "text/plain")
        # To the test itself: what is attached while a fixture ends would else go to the fixture.
        logger.attach_file(
            str(uuid4()), str(path), path.name, kind, path.suffix.removeprefix("."), parent_uuid=test.uuid
        )


def _step(step: Step) -> TestStepResult:
    """With the times the phase had: Allure's own steps take the clock of when they are told."""
    status = Status.PASSED if step.well else Status.BROKEN
    return TestStepResult(name=step.name, status=status, start=step.start, stop=step.stop)
