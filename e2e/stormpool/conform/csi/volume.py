"""One volume on the bench: the requests about it, and how far its life has come."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from stormpool.conform.csi import life
from stormpool.conform.csi.plugin import Refused
from stormpool.conform.rule import Broken
from stormpool.errors import CommandFailed, TimedOut
from stormpool.wait import wait_until

if TYPE_CHECKING:
    from stormpool.conform.csi.bench import Bench

FULL = "RESOURCE_EXHAUSTED"  # what there is too little of says nothing of the plugin
TAKES_SECRETS = frozenset({*life.ALL} - {"NodeUnpublishVolume", "NodeUnstageVolume"})


class Volume:
    """A volume, from before it is made to after it is gone."""

    def __init__(self, bench: Bench) -> None:
        self.name = f"conform-{secrets.token_hex(4)}"
        self.done = 0  # how many of the calls that bring a volume up it has behind it
        self.id = ""
        self._bench = bench
        self._context: dict[str, str] = {}
        self._publish_context: dict[str, str] = {}
        self.directory = f"{bench.directory}/{self.name}"
        self.staging = f"{self.directory}/staging"
        self.target = f"{self.directory}/targets/target"
        bench.node.run(["mkdir", "-p", self.staging, f"{self.directory}/targets"])

    def request(self, method: str, **otherwise: Any) -> Any:
        """The request of a call as the volume stands; `otherwise`: fields that are to be other ones."""
        kind = getattr(self._bench.plugin.pb, f"{method}Request")
        said = {"secrets": self._bench.secrets} if method in TAKES_SECRETS else {}
        return kind(**{**self._fields(method), **said, **otherwise})

    def go(self, method: str) -> Any:
        """Call once, and take in the answer. Raises `Refused`."""
        answer = self._bench.plugin.call(method, self.request(method))
        self.take(method, answer)
        return answer

    def send(self, method: str, request: Any) -> Any:
        """Send a call and return its future at once."""
        return self._bench.plugin.send(method, request)

    def persist(self, method: str, why: str) -> Any:
        """Call until the answer is OK. Raises `Broken` when it does not come; `why`: what came before."""
        last: Refused | None = None

        def answered() -> Any:
            nonlocal last
            try:
                return self.go(method)
            except Refused as refused:
                last = refused
                return None

        try:
            return wait_until(
                f"{method} is OK",
                answered,
                lambda answer: answer is not None,
                timeout=self._bench.patience,
                every=0.1,
            )
        except TimedOut:
            if last is not None and last.code == FULL:
                raise last from None
            raise Broken(f"{why}, and {self._bench.patience:g} s later still {last}") from None

    def take(self, method: str, answer: Any) -> None:
        """Take in the answer of a call."""
        self.done = life.after(method, self._bench.up)
        if method == "CreateVolume":
            self.id, self._context = answer.volume.volume_id, dict(answer.volume.volume_context)
        elif method == "ControllerPublishVolume":
            self._publish_context = dict(answer.publish_context)

    def to(self, done: int) -> None:
        """Bring the volume up or down to where it has so many calls behind it."""
        while self.done < done:
            self.go(self._bench.up[self.done])
        while self.done > done:
            self.go(life.UNDONE_BY[self._bench.up[self.done - 1]])

    def up(self) -> None:
        """Bring it up to where a task could use it."""
        self.to(len(self._bench.up))

    def persist_to(self, done: int, why: str) -> None:
        """The same, repeating each call until it is OK. Raises `Broken` when it does not come to that."""
        while self.done < done:
            self.persist(self._bench.up[self.done], why)
        while self.done > done:
            self.persist(life.UNDONE_BY[self._bench.up[self.done - 1]], why)

    def rise(self, why: str) -> None:
        """Bring it up, repeating each call until it is OK."""
        self.persist_to(len(self._bench.up), why)

    def fall(self, why: str) -> None:
        """Bring it down until it is gone, repeating each call until it is OK."""
        self.persist_to(0, why)

    def write(self, text: str) -> None:
        """Write the file of the published volume. Raises `Broken` where that cannot be done."""
        try:
            self._bench.node.run(["sh", "-c", 'printf %s "$2" >"$1"', "sh", f"{self.target}/file", text])
        except CommandFailed as failed:
            said = failed.stderr.strip()
            raise Broken(f"published with OK, and nothing can be written there: {said}") from failed

    def must_hold(self, text: str, why: str) -> None:
        """Raise `Broken` unless the file of the published volume says so."""
        found = self._bench.node.run(["cat", f"{self.target}/file"], check=False)
        if found.code != 0 or found.stdout != text:
            seen = f"it says {found.stdout[:40]!r}" if found.code == 0 else found.stderr.strip()[-160:]
            raise Broken(f"{why}, the file written to the volume is not there as it was: {seen}")

    def must_keep_files(self, text: str) -> None:
        """Go through its life with nothing going wrong. Raises `Broken` where the file gets lost."""
        self.up()
        self.write(text)
        self.must_hold(text, "once it was written")
        self.to(1)
        self.up()
        self.must_hold(text, "brought down and up again")
        self.to(0)

    def mounts(self) -> list[str]:
        """What is mounted at its paths, as any volume's would be called."""
        mounted = [each for each in self._bench.mounts() if each.startswith(f"{self.directory}/")]
        return sorted(each.removeprefix(self.directory) for each in mounted)

    def _fields(self, method: str) -> dict[str, Any]:
        bench = self._bench
        if method == "CreateVolume":
            return {
                "name": self.name,
                "volume_capabilities": [bench.capability],
                "capacity_range": bench.plugin.pb.CapacityRange(required_bytes=bench.size),
                "parameters": bench.parameters,
            }
        if method == "DeleteVolume":
            return {"volume_id": self.id}
        if method.startswith("Controller"):
            said = {"volume_id": self.id, "node_id": bench.node_id}
        else:
            said = {"volume_id": self.id, **self._paths(method)}
        return said if method in life.UNDOES else {**said, **self._use(method)}

    def _paths(self, method: str) -> dict[str, str]:
        staged = {"staging_target_path": self.staging} if "NodeStageVolume" in self._bench.up else {}
        return {
            "NodeStageVolume": staged,
            "NodeUnstageVolume": staged,
            "NodePublishVolume": {"target_path": self.target, **staged},
            "NodeUnpublishVolume": {"target_path": self.target},
        }[method]

    def _use(self, method: str) -> dict[str, Any]:
        """How the volume is to be used, and what the controller said for its nodes to know."""
        said = {"volume_capability": self._bench.capability, "volume_context": self._context}
        return said if method.startswith("Controller") else {**said, "publish_context": self._publish_context}
