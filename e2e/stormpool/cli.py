"""The command line. `run`, `explore` and `check` end with 0 when all held, 1 when something broke, 2 when
something could not be judged or was skipped; `replay` with 0 when the run showed the same at least once, 2
when it never did. Every command ends with 64 for misuse, with 70 when the machine failed or we did, and with
130 on Ctrl-C; `--json` prints one object a run."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from stormpool import board, doctor, guarantees, hand, leak_table, scenarios, track_record
from stormpool.again import bundle, replay
from stormpool.agents import build
from stormpool.conform.cli import conform
from stormpool.errors import Misuse, StormpoolError
from stormpool.explore import console, exploration
from stormpool.judge import judge, told_of
from stormpool.leaks import table as leaks_table
from stormpool.ledger import labs
from stormpool.options import JSON, NOMAD, OUT, PARALLEL, PROVIDER, YES, Seconds
from stormpool.runner import DEFAULT_NOMAD, ending_on_sigterm, finish
from stormpool.scenarios import Result
from stormpool.store import RunDirectory


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="stormpool")
def cli() -> None:
    """Run real orchestrator agents with real storage plugins on real ZFS pools, break them on purpose, and
    say which guarantee broke.

    \b
    stormpool doctor                     what this machine can run
    stormpool run SCENARIO --nomad 1.6.0 run a scenario and judge it
    stormpool explore SCENARIO           break something at every call of it
    stormpool replay RUN                 run it again, call by call
    stormpool shrink RUN                 find the least that still breaks
    stormpool bundle RUN                 one file for a bug report
    stormpool check RUN                  judge a saved run again
    stormpool conform csi --plugin ARGV  hold a plugin to its specification; also device, driver
    stormpool leaks RUN...               what designs of datasets leak and lose, as a table
    stormpool up                         a lab to play with by hand

    `run`, `explore` and `check` end with 0 when all held, 1 when something broke, 2 when something was not
    judged: skipped, or unknown. 64 is misuse, 70 that the machine failed, 130 Ctrl-C.
    """


@cli.command()
@click.argument("scenario", nargs=-1, required=True)
@click.option(
    "--nomad",
    multiple=True,
    metavar="VERSION|PATH",
    help=f"Nomad to run; several for several. [{DEFAULT_NOMAD}]",
)
@click.option("--seed", type=int, help="Seed of what is left to chance. [chosen and printed]")
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Runs of each, with seeds counted up.",
)
@PARALLEL
@OUT
@PROVIDER
@JSON
def run(
    scenario: tuple[str, ...],
    nomad: tuple[str, ...],
    seed: int | None,
    repeat: int,
    parallel: int,
    out: Path,
    provider: str,
    as_json: bool,
) -> None:
    """Run scenarios, judge them, and say where the report is and how to run each again.

    A SCENARIO is a file of them, or one test in it (FILE::TEST), as pytest names them.
    """
    batch = scenarios.Batch(scenario, nomad or (DEFAULT_NOMAD,), seed, repeat, parallel, out, provider)

    def tell(result: Result) -> None:
        click.echo(msgspec.json.encode(result).decode() if as_json else scenarios.told(result))

    results = scenarios.run(batch, tell, quiet=as_json)
    sys.exit(scenarios.exit_code(results))


@cli.command(name="explore")
@click.argument("scenario", default="")
@NOMAD
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    type=click.Choice(list(exploration.BREAKING)),
    default=exploration.USUAL,
    show_default=True,
    help="Try this one; several for several.",
)
@click.option("--pairs", is_flag=True, help="Go on to two faults at once.")
@PROVIDER
@OUT
@click.option("--budget", type=Seconds(), help="Begin no run after so long: 90s, 30m, 2h. [none]")
@PARALLEL
@click.option("--keep", is_flag=True, help="Keep the runs in which all held as well.")
@click.option(
    "--resume", type=click.Path(path_type=Path), metavar="DIR", help="Go on with one that was begun."
)
@JSON
@click.pass_context
def explore_(context: click.Context, /, out: Path, resume: Path | None, as_json: bool, **said: Any) -> None:
    """Break something at every call of a scenario's first `cluster.run` that changes anything.

    One run with no other faults than the scenario's own tells which calls there are; each --fault before,
    during and after each of them is then a run of its own, on labs that are used again as long as they are as
    good as new. A table at the end says what held, what broke and what was not reached.
    """
    subject = msgspec.convert(said, exploration.Subject)
    wanted = msgspec.convert(said, exploration.Wanted)
    if resume is not None:
        _nothing_else(context, (*exploration.Subject.__struct_fields__, "out"))
        exploring = exploration.Exploration.resume(resume)
    elif not subject.scenario:
        raise Misuse("nothing to explore", fix="give a scenario, or --resume DIR")
    else:
        exploring = exploration.Exploration.begin(out, subject)
    console.run(exploring, wanted, as_json=as_json)
    sys.exit(console.exit_code(exploring))


def _nothing_else(context: click.Context, decided: Iterable[str]) -> None:
    """Refuse what was said of things that were decided when the exploration was begun."""
    for name in decided:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            option = next(each for each in context.command.params if each.name == name)
            raise Misuse(
                f"{option.opts[0]} does not go with --resume", fix="leave it out: it is as it was begun with"
            )


@cli.command("replay")
@click.argument("run", type=click.Path(path_type=Path, exists=True), metavar="RUN|BUNDLE")
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@PARALLEL
@OUT
@YES
@JSON
def replay_(run: Path, repeat: int, parallel: int, out: Path, yes: bool, as_json: bool) -> None:
    """Run a run again, each time on a new lab, and say how often it shows the same.

    Faults happen at the calls at which they happened, not at the times. Ends with 0 when at least one run
    showed the same, with 2 when none did, and with 70 when not one could be run.
    """
    replayed = replay.replay(run, repeat, replay.How(parallel, out, yes, as_json))
    click.echo(msgspec.json.encode(replayed).decode() if as_json else replay.told_of(replayed))
    sys.exit(replay.exit_code(replayed))


@cli.command()
@click.argument("run", type=click.Path(path_type=Path, exists=True), metavar="RUN|BUNDLE")
@click.option(
    "--tries", type=click.IntRange(1), default=3, show_default=True, help="Runs of each smaller one."
)
@PARALLEL
@OUT
@YES
@JSON
def shrink(run: Path, tries: int, parallel: int, out: Path, yes: bool, as_json: bool) -> None:
    """Leave out faults, workload and nodes of a run for as long as it breaks the same."""
    made = replay.make_smaller(run, tries, replay.How(parallel, out, yes, as_json))
    click.echo(msgspec.json.encode(made).decode() if as_json else replay.told_of_smaller(made))


@cli.command(name="bundle")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--to", type=click.Path(path_type=Path), help="The file to write. [RUN.stormpool.zip here]")
def bundle_(run: Path, to: Path | None) -> None:
    """Put a run into one file, with its scenario, to attach to a bug report."""
    made = bundle.pack(RunDirectory.existing(run), to)
    click.echo(f"{made} ({made.stat().st_size / 1e6:.1f} MB); again: stormpool replay {made}")


@cli.command()
@click.argument("directory", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--guarantee", "names", multiple=True, help="Judge this one; several for several. [those of the run]"
)
@JSON
def check(directory: Path, names: tuple[str, ...], as_json: bool) -> None:
    """Judge a saved run again, offline, and write its report anew."""
    saved = RunDirectory.existing(directory)
    about = saved.about()
    wanted = names or about.guarantees or [each.name for each in guarantees.ALL]
    judged = judge(saved, saved.read_history(), [guarantees.by_name(name) for name in wanted])
    finish(saved, about)
    result = Result.of(saved)
    if as_json:
        click.echo(msgspec.json.encode(result).decode())
    else:
        for verdict in judged.verdicts:
            click.echo(told_of(verdict))
        click.echo(f"report: {saved.report}")
    sys.exit(scenarios.exit_code([result]))


cli.add_command(conform)


@cli.command()
@JSON
def agents(as_json: bool) -> None:
    """List the agents that can be run by version, and whether each is built already."""
    for version, recipe in build.recipes().items():
        there = recipe.cached.exists()
        if as_json:
            said = {
                "version": version,
                "license": recipe.license,
                "path": str(recipe.cached),
                "built": there,
            }
            click.echo(msgspec.json.encode(said).decode())
        else:
            state = str(recipe.cached) if there else "not built yet: built when first asked for"
            click.echo(f"nomad {version:8} {recipe.license:9} {state}")


@cli.command(name="build")
@click.argument("version", nargs=-1, required=True)
def build_(version: tuple[str, ...]) -> None:
    """Build agents ahead of their first run."""
    for wanted in version:
        with board.spinner(f"Nomad {wanted}") as told:
            agent = build.resolve(wanted, told)
        click.echo(f"nomad {agent.version} {agent.path}")


@cli.command(name="track-record")
@click.argument("file", type=click.Path(path_type=Path), default=Path("scenarios/track-record.toml"))
@JSON
def track_record_(file: Path, as_json: bool) -> None:
    """Print what agents are known to break, as a table."""
    record = track_record.read(file)
    click.echo(msgspec.json.encode(record).decode() if as_json else track_record.table(record), nl=False)


@cli.command(name="leaks")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@JSON
@click.option("--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="Write a page, too.")
def leaks_(runs: tuple[Path, ...], page: Path | None, as_json: bool) -> None:
    """Print what became of datasets in runs of a storm, as a table: event by event, design by design."""
    found = leak_table.read(runs, partial(click.echo, err=True))
    if page is not None:
        page.write_text(leak_table.page(found), encoding="utf-8")
    click.echo(msgspec.json.encode(found).decode() if as_json else leaks_table.markdown(found), nl=as_json)


@cli.command(name="doctor")
@JSON
def doctor_(as_json: bool) -> None:
    """Say what this machine can run, what is missing, and the command that mends it."""
    checks = doctor.all_checks()
    for each in checks:
        click.echo(msgspec.json.encode(each).decode() if as_json else doctor.told(each))
    sys.exit(0 if all(each.well or not each.needed for each in checks) else Misuse.exit_code)


@cli.command()
@click.option("--servers", type=int, default=1, show_default=True)
@click.option("--clients", type=int, default=1, show_default=True)
@NOMAD
@click.option("--csi/--no-csi", default=True, help="Run the reference CSI plugin on it. [yes]")
@PROVIDER
@OUT
@JSON
def up(servers: int, clients: int, nomad: str, csi: bool, provider: str, out: Path, as_json: bool) -> None:
    """Bring a lab up to play with by hand; it stays until `stormpool down`."""
    lab = hand.up(hand.Wanted(servers, clients, nomad, csi, provider, out), quiet=as_json)
    click.echo(msgspec.json.encode(lab).decode() if as_json else hand.told(lab))


@cli.command()
@JSON
def status(as_json: bool) -> None:
    """List the labs that are up, with their nodes."""
    found = labs()
    for lab in found:
        click.echo(msgspec.json.encode(lab).decode() if as_json else hand.told(lab))
    if not found and not as_json:
        click.echo("no lab is up")


@cli.command(name="exec", context_settings={"ignore_unknown_options": True})
@click.argument("node")
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--lab", help="Which lab, when several are up.")
def exec_(node: str, argv: tuple[str, ...], lab: str | None) -> None:
    """Run a command on a NODE of a lab that is up: stormpool exec client1 -- zpool status"""
    hand.execute(hand.chosen(lab), node, argv)


@cli.command()
@click.argument("node")
@click.option("--lab", help="Which lab, when several are up.")
@click.option("-f", "--follow", is_flag=True, help="Go on as it grows.")
def logs(node: str, lab: str | None, follow: bool) -> None:
    """Print the log of a NODE's agent."""
    hand.logs(hand.chosen(lab), node, follow=follow)


@cli.command()
@click.argument("lab", required=False)
@click.option(
    "--all", "everything", is_flag=True, help="Every lab, and what dead harnesses left written down."
)
def down(lab: str | None, everything: bool) -> None:
    """End a lab that is up, and undo all it made."""
    for each in labs() if everything else [hand.chosen(lab)]:
        click.echo(hand.down(each))


def main() -> None:
    """Run the command line; our own errors end it with one message and their exit code, our slips with 70."""
    try:
        with ending_on_sigterm():
            cli(standalone_mode=False)
    except StormpoolError as error:
        click.echo(f"stormpool: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(Misuse.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stormpool: interrupted; nothing is left running", err=True)
        sys.exit(130)
    except Exception as error:  # nothing is known of what was judged: that is no breach
        traceback.print_exc()
        click.echo(f"stormpool: unforeseen: {type(error).__name__}: {error}", err=True)
        sys.exit(StormpoolError.exit_code)
