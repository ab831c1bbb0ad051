"""The history of an execution, arranged for a replay.

Settlements are the points at which the code continued, in order. Openings are calls that began and
did not settle.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Optional

#: Events that settle a call of the code.
SETTLING = frozenset(
    (
        "step-completed",
        "timer-fired",
        "signal-received",
        "await-settled",
        "attached",
        "child-spawned",
        # This package has no blocks under a lease, so code never makes this call: it is drift.
        "lease-ended",
    )
)
#: Events that reach the code without a call of their own.
WITHOUT_CALL = frozenset(("child-ended", "cancel-requested"))


@dataclass(frozen=True)
class Settlement:
    """A recorded result."""

    kind: str
    body: Mapping[str, Any]
    seq: int

    @property
    def key(self) -> str:
        return str(self.body.get("key", ""))

    def failed(self, key: str) -> bool:
        """True for the end of a step that failed for good."""
        return self.kind == "step-failed" and self.key == key

    @property
    def needs_call(self) -> bool:
        return self.kind not in WITHOUT_CALL


@dataclass
class Opening:
    """A call that began. `due` is the store time of its next attempt or its end, in milliseconds."""

    seq: int
    failed: int = 0
    denied: int = 0
    due: Optional[float] = None


@dataclass
class History:
    settlements: list[Settlement] = field(default_factory=list)
    openings: dict[str, Opening] = field(default_factory=dict)
    #: The numbers of the inbox messages that the history has.
    taken: set[int] = field(default_factory=set)
    #: The calls that the execution waited for when it was last parked.
    waiting: set[str] = field(default_factory=set)
    #: The patches that the code took.
    patches: set[str] = field(default_factory=set)
    #: The changes of attributes that the code made, by call.
    attributes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    #: The attributes before the first of them.
    attributes_before: Optional[Mapping[str, Any]] = None
    has_awaited: bool = False
    has_checkpoint: bool = False

    @staticmethod
    def read(events: Iterable[Mapping[str, Any]]) -> History:
        history = History()
        for event in events:
            history.add(event)
        return history

    def add(self, event: Mapping[str, Any]) -> None:
        kind, seq, at = str(event["kind"]), int(event["seq"]), float(event.get("at", 0))
        body = json.loads(event.get("body") or "{}")
        key = str(body.get("key", ""))
        if isinstance(body.get("n"), int):
            self.taken.add(body["n"])
        self.taken.update(body.get("taken") or [])
        if kind == "checkpointed":
            self.has_checkpoint = True
        elif kind == "given-back" and "redo" in body:
            # The execution was retried, and this step begins anew.
            self.settlements = [each for each in self.settlements if not each.failed(body["redo"])]
        elif kind == "progressed" and "patch" in body:
            self.patches.add(body["patch"])
        elif kind == "progressed" and "attributes" in body:
            self.note_attributes(body["attributes"])
        elif kind == "parked":
            self.waiting = set(body.get("for") or [])
        elif kind == "step-failed" and "retryInMs" in body:
            opening = self.openings.setdefault(key, Opening(seq))
            if body.get("denied"):
                opening.denied += 1
            else:
                opening.failed += 1
            opening.due = at + float(body["retryInMs"])
        elif kind in ("timer-set", "await-opened"):
            self.has_awaited = self.has_awaited or kind == "await-opened"
            self.openings[key] = Opening(seq, due=_end_of(body, at))
        elif kind in SETTLING or kind in WITHOUT_CALL or kind == "step-failed":
            self.openings.pop(key, None)
            self.waiting.discard(key)
            self.settlements.append(Settlement(kind, body, seq))

    def note_attributes(self, change: Mapping[str, Any]) -> None:
        self.attributes[change["key"]] = change["set"]
        if self.attributes_before is None:
            self.attributes_before = change.get("before")


def _end_of(body: Mapping[str, Any], at: float) -> Optional[float]:
    if "until" in body:
        return float(body["until"])
    return at + float(body["ms"]) if "ms" in body else None
