"""A call as a command line that repeats it, with the key left to the environment.

Bytes that a terminal would act upon, or that no text holds, are written as escapes (`$'…'`, which bash, zsh
and ksh read), so that what is copied from a page is what was sent and nothing else.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from trigger_mock.control.masking import Mask
from trigger_mock.journal import Call

#: Bytes of a body that a command line holds; a longer one is told to come from a file.
MOST_BYTES = 20_000
#: Headers that are sent again: what the answer depends on.
_KEPT = frozenset({"content-type", "x-request-id", "x-trigger-mock-fault"})
_ODD = re.compile(rb"[^ -~\n]")


def curl(call: Call, host_url: str, mask: Mask) -> str:
    """The command: a line a part."""
    path = quote(mask(call.path.encode("latin-1", "replace").decode("utf-8", "replace")), safe="/")
    method = call.method if re.fullmatch(r"[A-Za-z]{1,20}", call.method) else "POST"
    parts = [f"curl -sS -i -X {method} {_quoted(host_url.rstrip('/') + path)}"]
    parts.append('-H "x-api-key: $TRIGGER_API_KEY"')
    parts += [f"-H {_quoted(f'{name}: {mask(value)}')}" for name, value in call.headers if name in _KEPT]
    if len(call.request) > MOST_BYTES:
        parts.append("--data-binary @body.json")
    elif call.request:
        parts.append(f"--data-binary {_quoted(_masked(call.request, mask))}")
    return " \\\n  ".join(parts)


def _masked(raw: bytes, mask: Mask) -> bytes:
    """The bytes with keys masked; bytes that are no text go with what they are written as."""
    try:
        return mask(raw.decode()).encode()
    except UnicodeDecodeError:
        return mask(raw.decode("latin-1")).encode("latin-1", "replace")


def _quoted(text: str | bytes) -> str:
    """A word for a shell."""
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if _is_plain(raw):
        return "'" + raw.decode().replace("'", "'\\''") + "'"
    escaped = raw.replace(b"\\", rb"\\").replace(b"'", rb"\'")
    return "$'" + _ODD.sub(lambda found: b"\\x%02x" % found[0][0], escaped).decode() + "'"


def _is_plain(raw: bytes) -> bool:
    """Whether it is text that shows all that it holds."""
    try:
        return raw.decode().replace("\n", " ").isprintable()
    except UnicodeDecodeError:
        return False
