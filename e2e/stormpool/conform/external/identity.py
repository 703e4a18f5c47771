"""What a plugin says of itself before it is configured."""

from __future__ import annotations

import re
from typing import Any

from stormpool.conform.external.asking import asked
from stormpool.conform.external.bench import Bench
from stormpool.conform.external.specification import refused
from stormpool.conform.rule import Broken, Rule, rule
from stormpool.goplugin.handshake import API
from stormpool.goplugin.protos import base

LOADER = "nomad helper/pluginutils/loader/init.go"
# hashicorp/go-version, version.go, VersionRegexpRaw: what `NewVersion` reads.
VERSION = re.compile(
    r"v?[0-9]+(\.[0-9]+)*"
    r"(-[0-9]+[0-9A-Za-z~-]*(\.[0-9A-Za-z~-]+)*|-?[A-Za-z~-]+[0-9A-Za-z~-]*(\.[0-9A-Za-z~-]+)*)?"
    r"(\+[0-9A-Za-z~-]+(\.[0-9A-Za-z~-]+)*)?"
)


@rule(source="go-plugin grpc_server.go: health service; nomad client/logmon/plugin.go: Ping on reattaching")
def it_serves(bench: Bench[Any]) -> None:
    """gRPC's health service says of "plugin" that it is serving."""
    with asked("Health/Check"):
        if not bench.main.plugin.serving():
            raise Broken("it says that it is not serving")


@rule(source=f"{LOADER} fingerprintPlugin, selectApiVersion: else the agent does not start")
def it_says_what_it_is(bench: Bench[Any]) -> str:
    """A name, the kind it is driven as, a version that can be parsed, and API v0.1.0 among those it knows."""
    info = bench.ask.info()
    kind = base.PluginType.Name(bench.kind)
    wrong = {
        "no name": not info.name,
        f"its kind is {info.kind}, not {kind}": info.kind != kind,
        f"version {info.version!r} cannot be parsed": not VERSION.fullmatch(info.version),
        f"it knows API {list(info.apis)}, and not {API}": API not in info.apis,
    }
    if any(wrong.values()):
        raise Broken("; ".join(what for what, is_so in wrong.items() if is_so))
    return f"{info.kind} {info.name} {info.version}"


@rule(
    source="nomad helper/pluginutils/hclspecutils/dec.go decodeSpecBlock; loader/init.go validatePluginConfig"
)
def what_can_be_configured(bench: Bench[Any]) -> None:
    """The schema of its configuration says of each of its parts what it is, its type and name."""
    must_be_whole(bench.ask.config_spec(), "its configuration")


def must_be_whole(spec: Any, where: str) -> None:
    """Raise `Broken` for a specification (`hclspec.Spec`) that agents refuse."""
    for path, wrong in refused(spec, where):
        raise Broken(f"{path} {wrong}")


RULES: tuple[Rule[Any], ...] = (it_serves, it_says_what_it_is, what_can_be_configured)
