"""Ids that a worker makes."""

from __future__ import annotations

import hashlib
import os
import time


def new_execution_id() -> str:
    """A UUID of version 7: later ids sort later."""
    stamp = f"{time.time_ns() // 1_000_000:012x}"
    rest = os.urandom(10).hex()
    variant = "89ab"[int(rest[3], 16) % 4]
    return f"{stamp[:8]}-{stamp[8:]}-7{rest[:3]}-{variant}{rest[4:7]}-{rest[7:19]}"


def question_id(execution: str, call: str, item: int = 0) -> str:
    """The id of a question, which follows from execution, call and item."""
    digest = hashlib.sha256(f"{execution}/{call}/{item}".encode()).hexdigest()
    return f"{execution[:13]}-7{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"
