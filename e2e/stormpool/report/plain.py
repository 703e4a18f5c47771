"""Untrusted text made plain: nothing in it can act, hide, turn the line around or fill the page."""

from __future__ import annotations

import re

LONGEST = 400  # characters kept of a name or a sentence

# Controls, bidirectional marks and overrides, what has no width, separators of lines, tags, half characters.
ACTS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
BLANK = re.compile("[\t\r\n]+")


def plain(text: str, longest: int = LONGEST) -> str:
    """A text as one line; what could act is shown by its number, what is too long is cut and says so."""
    if len(text) > longest:
        text = f"{text[:longest]}… ({len(text)} characters)"
    if text.isascii() and text.isprintable():
        return text
    return ACTS.sub(lambda found: f"⟨{ord(found[0]):04X}⟩", BLANK.sub(" ⏎ ", text.strip("\n")))
