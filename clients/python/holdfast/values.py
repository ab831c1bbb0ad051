"""Stored values: JSON in an envelope, or a reference to bytes if the value is large."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Awaitable, Callable, Mapping

from .errors import UnreadableValue

Envelope = Mapping[str, Any]
PutBlob = Callable[[str, bytes], Awaitable[None]]
GetBlob = Callable[[str], Awaitable[bytes]]

INLINE_BYTES_MAX = 65_536


async def encode(value: Any, put_blob: PutBlob) -> dict[str, Any]:
    """Returns the envelope of a value. Puts a value above 64 KiB as a blob first.

    Raises `TypeError` or `ValueError` if the value is not JSON.
    """
    if value is None:
        return {"v": None}
    data = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    if len(data) <= INLINE_BYTES_MAX:
        return {"v": json.loads(data)}
    digest = hashlib.sha256(data).hexdigest()
    await put_blob(digest, data)
    return {"ref": digest, "size": len(data)}


async def decode(envelope: Envelope, get_blob: GetBlob) -> Any:
    """Returns the value of an envelope, or None if it has none."""
    for mark, why in (
        ("enc", "A codec sealed it"),
        ("by", "A codec sealed it"),
        ("tagged", "It has types of TypeScript, such as a Date"),
    ):
        if envelope.get(mark):
            raise UnreadableValue(f"A stored value cannot be read in Python. {why}. Send plain JSON.")
    if "ref" in envelope:
        return json.loads(await get_blob(str(envelope["ref"])))
    return envelope.get("v")


def text_of(envelope: Envelope) -> str:
    """An envelope as the text of a field such as `input`."""
    return json.dumps(envelope, separators=(",", ":"))
