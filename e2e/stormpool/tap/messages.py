"""What CSI's messages say, as short texts for a history. Secrets never leave here."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message

LONGEST = 400  # characters kept of a field; lists of volumes can be long
# What checkers read out of and compare: never cut. A context is 4 KiB at most (csi.proto).
WHOLE = frozenset({"capabilities", "publish_context", "volume_context", "volume"})

CUT = "…"  # ends what was cut

SECRET = "secret"  # every field of CSI that carries secrets has it in its name (csi.proto, `csi_secret`)


def describe(protocol: ModuleType, kind: str, body: bytes) -> dict[str, str]:
    """The fields of a message of type `kind` that are set, by name.

    An unknown type or a body that does not parse is told as such, for a tap is no judge.
    """
    made: type[Message] | None = getattr(protocol, kind, None)
    if made is None:
        return {"unparsed": f"{kind} is no message of this protocol"}
    message = made()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        return {"unparsed": str(error)}
    shown = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return {name: _text(name, value) for name, value in shown.items() if SECRET not in name}


def _text(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
    return text if name in WHOLE or len(text) <= LONGEST else text[:LONGEST] + CUT
