"""Ids that a worker makes."""

from __future__ import annotations

import hashlib
import itertools
import os
import time

_counter = itertools.count()


def new_execution_id() -> str:
    """A UUID of version 7: later ids sort later, also within a millisecond.

    Executions of one millisecond queue in the order of their ids. The last 48 bits are random.
    """
    stamp = f"{time.time_ns() // 1_000_000:012x}"
    count = f"{next(_counter) % 0x1000000:06x}"
    return f"{stamp[:8]}-{stamp[8:]}-7{count[:3]}-8{count[3:]}-{os.urandom(6).hex()}"


def question_id(execution: str, call: str, item: int = 0) -> str:
    """The id of a question, which follows from execution, call and item."""
    digest = hashlib.sha256(f"{execution}/{call}/{item}".encode()).hexdigest()
    return f"{execution[:13]}-7{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"
