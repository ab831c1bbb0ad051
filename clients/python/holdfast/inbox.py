"""The messages to a running execution. Each enters the history before the code gets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Mapping, Optional

from .calls import AskCall, Call, Entry, ReceiveCall

if TYPE_CHECKING:
    from .run import Run


class Inbox:
    def __init__(self, run: Run, taken: set[int]) -> None:
        self._run = run
        self._taken = taken
        #: The number of the last message that was read.
        self.seen = 0
        while self.seen + 1 in taken:
            self.seen += 1
        #: The numbers of the messages that pause and resume, and whether the newest one pauses.
        self.pauses: list[int] = []
        self.is_paused = False
        self._signals: list[Mapping[str, Any]] = []
        self._settled: dict[str, Mapping[str, Any]] = {}

    def take(self, message: Mapping[str, Any]) -> None:
        n, kind = int(message["n"]), message["kind"]
        self.seen = max(self.seen, n)
        if n in self._taken:
            return
        self._taken.add(n)
        name = message.get("name")
        if kind == "child-ended":
            self._record("child-ended", name, message, {"key": name})
        elif kind == "cancel":
            self._record("cancel-requested", None, message, {"key": ""})
        elif kind in ("pause", "resume"):
            self.pauses.append(n)
            self.is_paused = kind == "pause"
        elif kind == "await-settled":
            self._settled[str(name)] = message
            self._offer_to(self._run.calls.get(str(name)))
        elif kind == "signal":
            self._signals.append(message)
            for call in list(self._run.calls.values()):
                self._offer_to(call)

    def offer(self, call: Call) -> bool:
        """Gives the call its message, if there is one."""
        if not call.is_waiting or call.future.done():
            return False
        if isinstance(call, ReceiveCall):
            found = next((each for each in self._signals if each.get("name") == call.name), None)
            if found is None:
                return False
            self._signals.remove(found)
            self._record("signal-received", call.name, found, {"key": call.key})
        else:
            message = self._settled.pop(call.key, None)
            if message is None:
                return False
            about = {"key": call.key, "items": 1, "settledAt": message["at"]}
            self._record("await-settled", call.name, message, about)
        call.is_waiting, call.due = False, None
        return True

    def _offer_to(self, call: Optional[Call]) -> None:
        if isinstance(call, (ReceiveCall, AskCall)):
            self.offer(call)

    def _record(
        self, kind: str, name: Optional[str], message: Mapping[str, Any], own: Mapping[str, Any]
    ) -> None:
        content = json.loads(message.get("body") or "{}")
        self._run.record(Entry(kind, name, {**content, **own, "n": message["n"]}))
