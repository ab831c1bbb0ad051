"""One execution under one claim: replays its code, starts its calls, and writes how the claim ends.

One loop makes every write and every decision. Steps, messages and timers only note what happened
and wake the loop, so events reach the history, and results the code, in one order.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any, Coroutine, Mapping, Optional

from .calls import Call, ChildrenCall, Entry
from .claim import Claim, cancel_failure, rows_of
from .context import Context
from .errors import (
    ClaimLost,
    Drift,
    HoldfastError,
    StepFailed,
    UnreadableValue,
    failure_of,
    plain_text,
)
from .history import History, Settlement
from .inbox import Inbox
from .pipeline import Pipeline
from .protocol import Work, WriteRejected
from .session import Session

log = logging.getLogger("holdfast")

#: Shorter waits stay in this process.
PARK_AFTER_MS = 500
#: How long the code may take to make the call that the history has next.
DRIFT_GRACE = 2.0
CLAIMS_WITHOUT_PROGRESS_MAX = 5
ATTRIBUTES_MAX = 64
#: Turns of the loop in which the code reacts to a result before it gets the next.
_TURNS = 10
_DRIFT_FIX = (
    "The recorded steps stay. Deploy code that makes the same calls, then resume the execution."
)
_UNSUPPORTED = "Workers in Python do not support this. Start a worker in TypeScript."
_BUG_FIX = "Deploy fixed code and resume the execution, or cancel it."
#: Errors outside steps that show a bug in the code rather than a failure of the work.
_BUGS = (TypeError, NameError, AttributeError, ImportError, SyntaxError)


class Run(Claim):
    """The code of one execution, under one claim."""

    def __init__(
        self, work: Work, session: Session, pipeline: Pipeline, claim: Mapping[str, Any]
    ) -> None:
        super().__init__(work, session, claim)
        self.pipeline = pipeline
        self.calls: dict[str, Call] = {}
        #: The bodies of child-ended events with the decoded output, by call.
        self.ended_children: dict[str, Mapping[str, Any]] = {}
        self._history = History()
        self._settlements: list[Settlement] = []
        self._missing_open: set[str] = set()
        self._missing_waits: set[str] = set()
        self._deferred: list[Call] = []
        self._outbox: list[Entry] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._code: Optional[asyncio.Task[Any]] = None
        self._cancelled: Optional[str] = None
        self._trouble: Optional[BaseException] = None
        self._is_noticed = False
        self._is_stopping = False
        self._is_abandoned = False
        self._attributes: Optional[dict[str, Any]] = None
        self.inbox = Inbox(self, set())

    # What calls and the worker use.

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled is not None

    def enter(self, call: Call) -> asyncio.Future[Any]:
        """Takes a call of the code. It starts once the history is used up."""
        if self._is_over:
            raise ClaimLost("The execution has left this worker. Nothing was started.")
        self.calls[call.key] = call
        self._deferred.append(call)
        self._missing_open.discard(call.key)
        self._missing_waits.discard(call.key)
        call.entered()
        self._wake()
        return call.future

    def record(self, entry: Entry) -> None:
        """Writes the event with the next write, soon."""
        self._outbox.append(entry)
        self._wake()

    def append(self, entry: Entry) -> None:
        """Writes the event when the code is at rest, if possible with the parking."""
        self._appended.append(entry)
        self._wake()

    def beat(self, key: str, attempt: int, details: Optional[str], advanced: bool) -> None:
        """A step reports that it works. The first that advances makes the claim one with progress."""
        self.note_heartbeat(key, attempt, details)
        if advanced and not self._has_advanced:
            self._has_advanced = True
            body = {"log": f"{key} advanced in attempt {attempt}", "inside": True}
            self._appended.append(Entry("progressed", None, body, settles=False))
        self._wake()

    def is_patched(self, key: str) -> bool:
        """True if the history has the patch, or if no earlier claim came past this place."""
        patches = self._history.patches
        if key in patches:
            return True
        # Results of this claim have no seq.
        is_behind = bool(self._settlements) and self._settlements[0].seq > 0
        if is_behind or self._missing_open or self._missing_waits:
            return False
        patches.add(key)
        body = {"log": f"{key} taken", "inside": True, "patch": key}
        self._appended.append(Entry("progressed", None, body, settles=False))
        return True

    @property
    def attributes(self) -> dict[str, Any]:
        """The search attributes where the code is now."""
        if self._attributes is None:
            before = self._history.attributes_before
            stored = self.execution.get("attributes") or {}
            self._attributes = dict(stored if before is None else before)
        return self._attributes

    def change_attributes(self, key: str, changes: Mapping[str, Any]) -> None:
        before, recorded = self.attributes, self._history.attributes.get(key)
        change = changes if recorded is None else recorded
        after = {k: v for k, v in {**before, **change}.items() if v is not None}
        if recorded is None:
            if len(after) > ATTRIBUTES_MAX:
                message = f"At most {ATTRIBUTES_MAX} attributes are allowed; got {len(after)}."
                raise ValueError(message)
            is_first = self._history.attributes_before is None
            line = {"key": key, "set": dict(change), **({"before": before} if is_first else {})}
            self._history.note_attributes(line)
            body = {"log": f"attributes: {json.dumps(change)}", "inside": True, "attributes": line}
            entry = Entry("progressed", None, body, settles=False, attributes=after)
            self._appended.append(entry)
        self._attributes = after

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something that keeps the execution in this process."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._spawn_ended)

    def check_inbox(self) -> None:
        """A message may have arrived."""
        self._is_noticed = True
        self._wake()

    def stop(self, abandon: bool = False) -> None:
        """Starts nothing new, and gives the execution back: once its steps ended, or now."""
        self._is_stopping = True
        self._is_abandoned = self._is_abandoned or abandon
        self._wake()

    async def drive(self) -> None:
        """Runs the execution until it leaves this worker. Never raises an `Exception`."""
        try:
            await self._drive()
        except ClaimLost as error:
            log.info("%s left this worker: %s", self._label, error)
        except Drift as error:
            await self._last_try(f"{error} {_DRIFT_FIX}")
        except UnreadableValue as error:
            await self._last_try(f"A value cannot be read: {error}")
        except WriteRejected as error:
            await self._last_try(f"The coordinator rejected a write: {error}")
        except Exception as error:
            log.exception("%s could not be run", self._label)
            await self._last_try(f"The worker failed: {error!r}")
        finally:
            self._is_over = True
            for task in [*self._tasks, *([self._code] if self._code else [])]:
                task.cancel()

    # The loop.

    async def _drive(self) -> None:
        execution = self.execution
        if execution.get("claimsWithoutProgress", 0) >= CLAIMS_WITHOUT_PROGRESS_MAX:
            message = "Its last claims recorded nothing, and their workers were lost."
            await self._fail("quarantined", {"code": "poison", "message": message})
            return
        if self.previous != "none":
            events = await self.work.history(self.session, execution["id"])
            self._history = History.read(events)
            self._settlements = list(self._history.settlements)
            self._missing_open = set(self._history.openings)
            self._missing_waits = set(self._history.waiting)
            self.has_awaited = self._history.has_awaited
            self.inbox = Inbox(self, self._history.taken)
        await self._check_support()
        if self._is_over:
            return
        if self.inbox_count > self.inbox.seen:
            await self._read_inbox()
        if self.is_past_deadline:
            await self._fail_at_deadline()
            return
        given = await self.decode(json.loads(execution["input"]))
        self._code = asyncio.ensure_future(self.pipeline.run(Context(self), given))
        self._code.add_done_callback(lambda _: self._wake())
        while not await self._turn(self._code):
            pass

    async def _check_support(self) -> None:
        if self.execution.get("compensating"):
            if self.execution.get("compensable"):
                await self._block(f"Its steps must be undone. {_UNSUPPORTED}")
            else:
                message = "Nothing had to be undone."
                failure = {"category": "permanent", "code": "compensated", "message": message}
                await self._finish("compensated", {"failure": failure})
        elif self._history.has_checkpoint:
            await self._block(f"It has checkpoints. {_UNSUPPORTED}")

    async def _turn(self, code: asyncio.Task[Any]) -> bool:
        """Does the next thing. Returns True when the execution has left this worker."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self.session.require()
        if self._trouble is not None:
            raise self._trouble
        if self.is_past_deadline:
            await self._fail_at_deadline()
            return True
        if self._outbox or (self._beats_due is not None and self._beats_due <= self.store_now()):
            await self._flush()
        elif self._is_noticed or self.inbox_count > self.inbox.seen:
            await self._read_inbox()
        elif self._settlements:
            await self._replay(code)
        elif self._cancelled is not None:
            return await self._end_cancelled(code)
        elif code.done() and not self._tasks:
            await self._end(code)
            return True
        elif self._missing_open and (code.done() or self.calls):
            await self._await_call(code, next(iter(self._missing_open)))
        elif self._is_stopping or self.inbox.is_paused:
            return await self._leave_held()
        elif self._deferred:
            deferred, self._deferred = self._deferred, []
            for call in deferred:
                if self.calls.get(call.key) is call:
                    call.start(self._history.openings.get(call.key))
        elif not self._run_due():
            return await self._wait(code)
        return False

    async def _replay(self, code: asyncio.Task[Any]) -> None:
        """Gives the next result of the history to the code."""
        settlement = self._settlements[0]
        call = self.calls.get(settlement.key)
        if call is None and settlement.needs_call and self._cancelled is None:
            await self._await_call(code, settlement.key)
            return
        self._settlements.pop(0)
        if settlement.kind == "child-ended":
            value = await self.decode(settlement.body.get("out", {}))
            self.ended_children[settlement.key] = {**settlement.body, "value": value}
            for each in list(self.calls.values()):
                if isinstance(each, ChildrenCall):
                    each.check()
        elif settlement.kind == "cancel-requested":
            self._cancelled = str(settlement.body.get("reason") or "")
        elif call is not None:
            del self.calls[call.key]
            self._deferred = [each for each in self._deferred if each is not call]
            await call.settle(settlement)

    async def _await_call(self, code: asyncio.Task[Any], key: str) -> None:
        """Waits for a call that the history has. Raises `Drift` if the code makes another one."""
        made = next((each for each in self.calls if each not in self._history.openings), None)
        if code.done():
            error = None if code.cancelled() else code.exception()
            found = "its end" if error is None else f"its end (it raised {error!r})"
            raise Drift(f"History has {key}, but the code has {found} there.")
        if not await self._change(DRIFT_GRACE) and self.calls and key not in self.calls:
            raise Drift(f"History has {key}, but the code has {made or 'another call'} there.")

    def _run_due(self) -> bool:
        now = self.store_now()
        due = [call for call in self.calls.values() if call.due is not None and call.due <= now]
        for call in due:
            call.on_due()
        return bool(due)

    async def _wait(self, code: asyncio.Task[Any]) -> bool:
        """Parks, or waits in this process for the next thing."""
        calls = list(self.calls.values())
        dues = [*(call.due for call in calls), self._beats_due]
        times = [due for due in dues if due is not None]
        deadline = self.execution.get("deadlineAt")
        nearest = min([*times, *([deadline] if deadline is not None else [])], default=None)
        in_ms = None if nearest is None else max(0.0, nearest - self.store_now())
        is_resting = bool(calls) and not self._tasks and all(call.is_waiting for call in calls)
        if is_resting and not code.done() and (in_ms is None or in_ms > PARK_AFTER_MS):
            return await self._park(calls, in_ms)
        if self._appended and self._beats_due is None:
            await self._flush()
        else:
            await self._change(None if in_ms is None else in_ms / 1000)
        return False

    async def _change(self, seconds: Optional[float]) -> bool:
        """Waits until something happened. Returns False if the time was over first."""
        self._changed.clear()
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
            return True
        except asyncio.TimeoutError:
            return False

    def _wake(self) -> None:
        self._changed.set()

    def _spawn_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._trouble = self._trouble or task.exception()
        self._wake()

    async def _read_inbox(self) -> None:
        # A notice that comes during the read may be about a later message.
        self._is_noticed = False
        messages = await self.work.inbox(self.session, self.execution["id"], self.inbox.seen)
        for message in messages:
            self.inbox.take(message)
        self.inbox_count = self.inbox.seen

    # Writes.

    async def _flush(self) -> None:
        entries = [*self._appended, *self._outbox]
        self._appended, self._outbox = [], []
        at = await self._write("record", [each.event for each in entries], rows_of(entries))
        for entry in entries:
            if entry.on_stored is not None:
                entry.on_stored(at or self.store_now())
            if entry.settles:
                self._settlements.append(Settlement(entry.kind, entry.body, 0))

    async def _park(self, calls: list[Call], in_ms: Optional[float]) -> bool:
        missing = [call.missing for call in calls if call.missing is not None]
        wake = {} if in_ms is None else {"wakeInMs": max(0, int(in_ms) + 1)}
        kept = {"compensable": True} if self.execution.get("compensable") else {}
        more = {"wakeAfter": min(missing, default=0), "inboxSeen": self.inbox.seen, **wake, **kept}
        body = {"for": [call.key for call in calls][:10]}
        return await self._leave("park", "parked", body, more)

    async def _leave_held(self) -> bool:
        if self._tasks and not self._is_abandoned:
            await self._change(None)
            return False
        if self._is_stopping:
            abandoned = {"abandoned": True} if self._tasks else {}
            return await self._give_back("given-back", {"why": "stopping", **abandoned}, {})
        body = {"why": "paused", "taken": self.inbox.pauses}
        return await self._give_back("paused", body, {"paused": True, "inboxSeen": self.inbox.seen})

    async def _block(self, why: str) -> None:
        """Holds the execution for an operator, unless it was cancelled meanwhile."""
        log.warning("%s is blocked: %s", self._label, why)
        while True:
            more = {"blocked": True, "inboxSeen": self.inbox.seen}
            if await self._give_back("blocked", {"why": plain_text(why)}, more):
                return
            await self._read_inbox()
            cancels = [each for each in self._outbox if each.kind == "cancel-requested"]
            self._outbox = []
            if cancels:
                reason = str(cancels[0].body.get("reason") or "")
                await self._finish("cancelled", {"failure": cancel_failure(reason)})
                return

    async def _last_try(self, why: str) -> None:
        try:
            if not self._is_over:
                await self._block(why)
        except HoldfastError as error:
            log.warning("%s was dropped: %s", self._label, error)

    async def _end_cancelled(self, code: asyncio.Task[Any]) -> bool:
        if not code.done():
            code.cancel()
        for task in self._tasks:
            task.cancel()
        if self._tasks or not code.done():
            await self._change(None)
            return False
        failure = cancel_failure(self._cancelled or "")
        if self.execution.get("compensable"):
            body = {"status": "cancelled", "failure": failure}
            return await self._give_back("compensating", body, {"compensating": True})
        await self._finish("cancelled", {"failure": failure})
        return True

    async def _end(self, code: asyncio.Task[Any]) -> None:
        """The code has returned or raised."""
        if self._missing_open:
            await self._await_call(code, next(iter(self._missing_open)))
        error = asyncio.CancelledError() if code.cancelled() else code.exception()
        if error is None:
            try:
                out = await self.encode(code.result())
            except (TypeError, ValueError) as unfit:
                await self._fail("failed", failure_of(unfit))
                return
            await self._finish("completed", {"out": out})
        elif isinstance(error, (ClaimLost, Drift, UnreadableValue, WriteRejected)):
            raise error
        elif isinstance(error, _BUGS):
            why = f"The code raised outside a step, and this looks like a bug: {error!r}."
            await self._block(f"{why} {_BUG_FIX}")
        elif isinstance(error, StepFailed):
            await self._fail("failed", error.failure, step=error.key, attempts=error.attempts)
        else:
            await self._fail("failed", failure_of(error))

    async def _fail_at_deadline(self) -> None:
        message = "The deadline of the execution has passed."
        await self._fail("failed", {"code": "deadline-passed", "message": message})
