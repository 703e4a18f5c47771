"""`stormpool conform`: its commands and their options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from stormpool.conform import judging, results
from stormpool.conform.csi import command as csi
from stormpool.conform.external import command as external
from stormpool.options import JSON, PROVIDER, Seconds


@click.group()
def conform() -> None:
    """Hold a plugin to the rules of its specification, without a cluster."""


# The options of all three.
COMMON = (
    click.option(
        "--rule", "rules", multiple=True, help="Judge this one or this family; several for several. [all]"
    ),
    click.option("--except", "without", multiple=True, help="Leave this one or this family out."),
    click.option(
        "--list", "listed", is_flag=True, help="Print the rules with their sources, and judge none."
    ),
    click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML there."),
    click.option(
        "--logs", type=click.Path(path_type=Path), metavar="DIR", help="Keep what the plugin says there."
    ),
    PROVIDER,
    JSON,
)
# The options of what holds a plugin of Nomad's agent to its rules, whatever kind it is of.
EXTERNAL = (
    click.option("--plugin", default="", metavar="ARGV", help="The plugin's command line."),
    click.option(
        "--config",
        default="{}",
        metavar="JSON|@FILE",
        help="Its own configuration, as an agent's file has it.",
    ),
    click.option(
        "--env", multiple=True, metavar="KEY=VALUE", help="For its environment; several for several."
    ),
    click.option(
        "--before",
        multiple=True,
        metavar="COMMAND",
        help="Run on the node before the plugin is started, by a shell; several for several.",
    ),
    *COMMON,
)


def given(options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Give a command these options."""

    def to(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return to


@conform.command(name="csi")
@click.option(
    "--plugin",
    default="",
    metavar="ARGV",
    help="The plugin's command line; {endpoint} and {node} stand for its socket's URL and its node.",
)
@click.option(
    "--parameters", multiple=True, metavar="KEY=VALUE", help="For CreateVolume; several for several."
)
@click.option("--secrets", type=click.Path(path_type=Path), help="A JSON object, given with every call.")
@click.option(
    "--size", type=click.IntRange(1), default=64 << 20, show_default=True, help="Bytes of a volume."
)
@click.option(
    "--patience", type=Seconds(), default="10s", show_default=True, help="For how long a call is repeated."
)
@given(COMMON)
def conform_csi(listed: bool, as_json: bool, **said: Any) -> None:
    """Hold a CSI plugin to its specification: csi-sanity's cases, and calls that are repeated, at once, out
    of order, or cut short by SIGKILL.

    Ends with 0 when nothing is broken, 1 when something is, 2 when something could not be judged. What the
    plugin does not offer is told apart.
    """
    _judge(csi.Wanted(**said), listed=listed, as_json=as_json)


@conform.command(name="device")
@given(EXTERNAL)
def conform_device(listed: bool, as_json: bool, **said: Any) -> None:
    """Hold a device plugin of Nomad's agent to what agents take for granted of it: how it begins and ends,
    what devices it tells of, what it reserves, when it is killed at any of it.

    Ends with 0 when nothing is broken, 1 when something is, 2 when something could not be judged. What the
    plugin does not offer is told apart.
    """
    _judge(external.WantedDevice(**said), listed=listed, as_json=as_json)


@conform.command(name="driver")
@given(EXTERNAL)
@click.option(
    "--task-config",
    default='{"command": "{command}", "args": "{args}"}',
    show_default=True,
    metavar="JSON|@FILE",
    help="The config block of a task that runs a command; {script} is that of the shell alone.",
)
@click.option(
    "--shell",
    default="/bin/busybox sh",
    show_default=True,
    metavar="ARGV",
    help="What runs -c SCRIPT in a task; scripts take sleep and cat from it.",
)
@click.option("--user", default="", help="Whose tasks can be run as well. [none's]")
def conform_driver(listed: bool, as_json: bool, **said: Any) -> None:
    """Hold a task driver of Nomad's agent to what agents take for granted of it: tasks that live, end, are
    stopped and cannot be started, and are found again when the driver is killed at any of it.

    Ends with 0 when nothing is broken, 1 when something is, 2 when something could not be judged. What the
    driver does not offer is told apart.
    """
    _judge(external.WantedDriver(**said), listed=listed, as_json=as_json)


def _judge(wanted: judging.Wanted, *, listed: bool, as_json: bool) -> None:
    """List the rules, or judge them and end."""
    if listed:
        click.echo(judging.listed(wanted), nl=False)
        return

    def tell(result: results.Result) -> None:
        click.echo(results.json_line(result) if as_json else results.told(result))

    found = judging.run(wanted, tell)
    if not as_json:
        click.echo(results.counted(found))
    sys.exit(results.exit_code(found))
