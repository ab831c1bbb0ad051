"""A claim: the right to write to one execution, and the ways in which it ends."""

from __future__ import annotations

import json
import logging
import time
from typing import Any, Mapping, Optional, Sequence

from .calls import Entry
from .errors import ClaimLost, plain_text
from .protocol import Work
from .session import Session

log = logging.getLogger("holdfast")

#: Heartbeats wait this long for another write.
BEAT_MS = 1000
#: The coordinator keeps the heartbeats of so many steps of an execution.
STEPS_MAX = 100


class Claim:
    """Numbers the events of one owner, and sends its writes."""

    def __init__(self, work: Work, session: Session, claim: Mapping[str, Any]) -> None:
        self.work = work
        self.session = session
        self.execution: Mapping[str, Any] = claim["execution"]
        self.fence: int = claim["fence"]
        #: How the claim before ended.
        self.previous: str = claim["previous"]
        #: How many messages the inbox has had, as far as this worker knows.
        self.inbox_count: int = self.execution["inboxCount"]
        self.has_awaited = False
        #: Events that wait for the next write, if possible for the one that parks.
        self._appended: list[Entry] = []
        #: The last heartbeats of steps that have not ended, by call.
        self.heartbeats: dict[str, Mapping[str, Any]] = {
            each["key"]: each for each in self.execution.get("heartbeats", ())
        }
        #: The store time at which they must be written, if the store does not have them.
        self._beats_due: Optional[float] = None
        self._has_advanced = False
        self._is_over = False
        self._seq: int = self.execution["seq"] + 1
        self._clock = (float(claim["claimedAt"]), time.monotonic())

    def store_now(self) -> float:
        """The time of the store, in milliseconds since 1970."""
        at, since = self._clock
        return at + (time.monotonic() - since) * 1000

    @property
    def is_past_deadline(self) -> bool:
        deadline = self.execution.get("deadlineAt")
        return deadline is not None and self.store_now() >= deadline

    async def encode(self, value: Any) -> dict[str, Any]:
        return await self.work.encode(self.session, value)

    async def decode(self, envelope: Mapping[str, Any]) -> Any:
        return await self.work.decode(self.session, envelope)

    async def _write(
        self, verb: str, events: list[dict[str, Any]], more: Mapping[str, Any]
    ) -> Optional[float]:
        """Returns the time of the write, or None if it was refused because of unread messages."""
        due, self._beats_due = self._beats_due, None
        if due is not None and self.work.accepts_heartbeats:
            more = {**more, "heartbeats": list(self.heartbeats.values())[-STEPS_MAX:]}
        if not self.work.accepts_attributes:
            more = {name: value for name, value in more.items() if name != "attributes"}
        write = {
            "verb": verb,
            "id": self.execution["id"],
            "fence": self.fence,
            "session": self.session.id,
            "seq": self._seq,
            "events": events,
            **more,
        }
        result = await self.work.write(self.session, write)
        if result["kind"] == "refused":
            if result.get("why") != "unread-messages":
                raise ClaimLost(f"A write was refused as {result.get('why')}.")
            self.inbox_count += 1
            self._beats_due = due
            return None
        self._seq += len(events)
        self.inbox_count = max(self.inbox_count, int(result.get("inboxCount") or 0))
        if "at" in result:
            self._clock = (float(result["at"]), time.monotonic())
        return self.store_now()

    def note_heartbeat(self, key: str, attempt: int, details: Optional[str]) -> None:
        last = self.heartbeats.pop(key, {}).get("details")
        text = last if details is None else details
        beat = {"key": key, "attempt": attempt, "at": int(self.store_now())}
        self.heartbeats[key] = beat if text is None else {**beat, "details": text}
        if self._beats_due is None and self.work.accepts_heartbeats:
            self._beats_due = self.store_now() + BEAT_MS

    def end_heartbeat(self, key: str) -> None:
        """Call this just before the end of the step is recorded."""
        if self.heartbeats.pop(key, None) is not None:
            self._beats_due = self.store_now()

    async def _leave(
        self, verb: str, kind: str, body: Mapping[str, Any], more: Mapping[str, Any]
    ) -> bool:
        """Writes the end of the claim. Returns False if messages must be read first."""
        # The last write of an execution has no timers or questions any more.
        is_last = verb == "finish"
        entries = [each for each in self._appended if not is_last or each.attributes is not None]
        last = Entry(kind, None, body, settles=False)
        rows = {**rows_of(entries), **more}
        if await self._write(verb, [each.event for each in [*entries, last]], rows) is None:
            return False
        self._is_over = True
        return True

    async def _give_back(self, kind: str, body: Mapping[str, Any], more: Mapping[str, Any]) -> bool:
        kept = {"compensable": True} if self.execution.get("compensable") else {}
        return await self._leave("giveBack", kind, body, {**more, **kept})

    async def _fail(
        self, status: str, failure: Mapping[str, Any], step: Optional[str] = None, attempts: int = 1
    ) -> None:
        whole = {"category": "permanent", **failure}
        letter = {
            "category": whole["category"],
            "code": whole["code"],
            "reason": whole["message"],
            "attempts": max(1, attempts),
            **({} if step is None else {"step": step}),
        }
        log.warning("%s %s: %s", self._label, status, whole["message"])
        await self._finish(status, {"failure": whole}, {"deadLetter": letter})

    async def _finish(
        self, status: str, end: Mapping[str, Any], more: Mapping[str, Any] = {}
    ) -> None:
        outcome = json.dumps({"id": self.execution["id"], "status": status, **end})
        awaited = {"leavesAwaits": True} if self.has_awaited else {}
        about: dict[str, Any] = {"status": status, "outcome": outcome, **awaited, **more}
        await self._leave("finish", status, end, about)

    @property
    def _label(self) -> str:
        """Pipeline and id, for logs."""
        return f"{self.execution['pipeline']} {self.execution['id']}"


def cancel_failure(reason: str) -> dict[str, Any]:
    text = f": {reason}" if reason else ""
    message = plain_text(f"The execution was cancelled{text}.")
    return {"category": "permanent", "code": "execution-cancelled", "message": message}


def rows_of(entries: Sequence[Entry]) -> dict[str, Any]:
    children = [child for each in entries for child in each.children]
    awaits = [row for each in entries for row in each.awaits]
    attachments = [row for each in entries for row in each.attachments]
    given = {"children": children, "awaits": awaits, "attachments": attachments}
    changes = [each.attributes for each in entries if each.attributes is not None]
    changed = {"attributes": changes[-1]} if changes else {}
    return {**{name: rows for name, rows in given.items() if rows}, **changed}
