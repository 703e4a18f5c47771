"""Runs scenarios for the command line: a pytest process each, several labs at once, and what came of them."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import msgspec

from stormpool import outcome
from stormpool.board import Board
from stormpool.errors import MachineError, Misuse, StormpoolError, Unavailable
from stormpool.judge import told_of
from stormpool.pytest_plugin import LARGEST_SEED, PROGRESS
from stormpool.store import RunDirectory
from stormpool.verdict import Verdict

# Worst first: a breach that was seen is one, whatever else went wrong.
EXIT_CODES = {
    "invalid": 1,
    "misuse": Misuse.exit_code,
    "machine": MachineError.exit_code,
    "unknown": 2,
    "skipped": Unavailable.exit_code,  # what was never tried has not held
    "valid": 0,
}


class Result(msgspec.Struct, frozen=True):
    """What came of one run: what `--json` prints."""

    scenario: str
    versions: dict[str, str]
    seed: int
    outcome: str  # valid, invalid, unknown, skipped, misuse or machine
    verdicts: list[Verdict]
    timings: dict[str, float]  # seconds of each phase
    run: str  # its directory
    report: str
    replay: str
    error: str = ""
    operations: dict[str, str] = {}  # what the workload did, by name: how many times, and how many failed

    @classmethod
    def of(cls, directory: RunDirectory) -> Result:
        """Read it from a run's directory."""
        about, judged = directory.about(), directory.judged()
        if judged is None and not about.error:
            about.error = f"the run ended before anything was judged; see {directory.logs / 'pytest.log'}"
        return cls(
            scenario=about.scenario,
            versions=about.versions,
            seed=about.seed,
            outcome=outcome.of(about, judged),
            verdicts=judged.verdicts if judged else [],
            timings=about.timings,
            run=str(directory.path),
            report=str(directory.report),
            replay=about.replay,
            error=about.error,
            operations=about.operations,
        )

    @classmethod
    def without_a_run(cls, job: Job, error: StormpoolError) -> Result:
        """What came of one that made no run that could be read."""
        return cls(
            scenario=job.scenario,
            versions={"nomad": job.nomad},
            seed=job.seed,
            outcome=outcome.kind_of(error),
            verdicts=[],
            timings={},
            run="",
            report="",
            replay=f"stormpool run {job.scenario} --nomad {job.nomad} --seed {job.seed}",
            error=str(error),
        )


@dataclass(frozen=True)
class Batch:
    """What the command line was asked to run."""

    scenarios: Sequence[str]
    nomads: Sequence[str]
    seed: int | None
    repeat: int
    parallel: int
    out: Path
    provider: str


@dataclass(frozen=True)
class Job:
    """One pytest process."""

    scenario: str
    nomad: str
    seed: int
    out: Path
    provider: str

    def argv(self) -> list[str]:
        """The process; it ends with the thread that waits for it, whatever happens to this process."""
        options = [
            f"--nomad={self.nomad}",
            f"--seed={self.seed}",
            f"--out={self.out}",
            f"--provider={self.provider}",
        ]
        pytest = [sys.executable, "-m", "pytest", self.scenario, *options, "-q", "-p", "no:cacheprovider"]
        return ["setpriv", "--pdeathsig", "KILL", "--", *pytest]


def run(batch: Batch, tell: Callable[[Result], None], *, quiet: bool) -> list[Result]:
    """Run a batch, and `tell` of each run as it ends; with progress unless `quiet`.

    Ctrl-C ends every lab and then itself.
    """
    for scenario in batch.scenarios:
        path = scenario.partition("::")[0]
        if not Path(path).exists():
            raise Misuse(f"no scenario is at {path}", fix="give a file of scenarios, or FILE::TEST")
    first = random.SystemRandom().randrange(LARGEST_SEED) if batch.seed is None else batch.seed
    jobs = [
        Job(scenario, nomad, first + turn, batch.out, batch.provider)
        for turn in range(batch.repeat)
        for scenario in batch.scenarios
        for nomad in batch.nomads
    ]
    results: list[Result] = []
    board = Board(len(jobs), quiet=quiet)
    running: list[subprocess.Popen[bytes]] = []
    with board, ThreadPoolExecutor(batch.parallel, thread_name_prefix="run") as pool:
        waiting = [pool.submit(_results_of, job, board, running) for job in jobs]
        try:
            for done in as_completed(waiting):
                with board.aside():
                    for result in done.result():
                        tell(result)
                        results.append(result)
        except KeyboardInterrupt:
            for done in waiting:
                done.cancel()
            for process in list(running):
                process.send_signal(signal.SIGINT)
            raise
    return results


def exit_code(results: Sequence[Result]) -> int:
    """What a command that judged these ends with."""
    seen = {result.outcome for result in results}
    return next((code for name, code in EXIT_CODES.items() if name in seen), EXIT_CODES["unknown"])


def told(result: Result) -> str:
    """What came of a run, for people."""
    versions = " ".join(f"{name} {version}" for name, version in result.versions.items())
    lines = [f"{result.scenario}  {versions}  seed {result.seed}  {result.outcome.upper()}"]
    lines += [f"  {line}" for verdict in result.verdicts for line in told_of(verdict).splitlines()]
    if result.error:
        lines += [f"  {line}" for line in result.error.splitlines()]
    done = ", ".join(f"{name}: {count}" for name, count in result.operations.items())
    spent = sum(result.timings.values())
    lines += [
        f"  took {spent:.1f} s; {done}" if done else f"  took {spent:.1f} s",
        *([f"  report: {result.report}"] if result.report else []),
        f"  again:  {result.replay}",
    ]
    return "\n".join(lines)


def _results_of(job: Job, board: Board, running: list[subprocess.Popen[bytes]]) -> list[Result]:
    """What came of one job; what went wrong with it is told as well, and the others go on."""
    try:
        return _run_one(job, board, running)
    except StormpoolError as error:
        return [Result.without_a_run(job, error)]


def _run_one(job: Job, board: Board, running: list[subprocess.Popen[bytes]]) -> list[Result]:
    """Run one pytest process, and read what came of its runs."""
    reading, writing = os.pipe()
    environment = {**os.environ, PROGRESS: str(writing)}
    process = subprocess.Popen(
        job.argv(),
        env=environment,
        pass_fds=[writing],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # a Ctrl-C is passed on once, by us
    )
    running.append(process)
    os.close(writing)
    runs: dict[str, None] = {}
    listener = threading.Thread(target=_listen, args=(reading, job, board, runs), daemon=True)
    listener.start()
    said = process.communicate()[0].decode(errors="replace")
    listener.join()
    running.remove(process)
    board.finished(job)
    for path in runs:
        (Path(path) / "logs" / "pytest.log").write_text(said)
    if not runs:
        raise Misuse(
            f"{job.scenario} ran nothing:\n{said.strip()[-2000:]}", fix="mend what pytest complains about"
        )
    return [Result.of(RunDirectory.existing(Path(path))) for path in runs]


def _listen(reading: int, job: Job, board: Board, runs: dict[str, None]) -> None:
    with os.fdopen(reading) as lines:
        for line in lines:
            said = json.loads(line)
            if said["run"]:
                runs[said["run"]] = None
            name = Path(job.scenario).name
            board.told(job, f"{name}  nomad {job.nomad}  seed {job.seed}  {said['what']}")
