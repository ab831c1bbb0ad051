"""The calls that pipeline code makes. Each is settled from the history, or started."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Mapping, Optional, Sequence

from .errors import AttemptOver, ClaimLost, Drift, Refused, StepError, StepFailed, failure_of
from .functions import invoke
from .history import Opening, Settlement
from .ids import new_execution_id, question_id
from .pipeline import Retry

if TYPE_CHECKING:
    from .run import Run


#: The details of a heartbeat are a position, not a result.
DETAILS_BYTES_MAX = 16_384


class Attempt:
    """One attempt of a step, with its heartbeats. Steps on threads use it from there."""

    def __init__(self, call: StepCall, number: int, details: Any, resumes: bool) -> None:
        self.number = number
        self.beat_at = time.monotonic()
        self._call = call
        self._details = details
        self._resumes = resumes
        self._has_read = False
        self._loop = asyncio.get_running_loop()

    def read_details(self) -> Any:
        self._has_read = True
        return self._details

    def beat(self, details: Any) -> None:
        if self._call.current is not self:
            message = f"Attempt {self.number} of {self._call.key} has ended. Nothing was written."
            raise AttemptOver(message)
        text = None if details is None else json.dumps({"v": details}, allow_nan=False)
        if text is not None and len(text.encode()) > DETAILS_BYTES_MAX:
            message = f"Heartbeat details must fit {DETAILS_BYTES_MAX} bytes. Pass a position."
            raise ValueError(message)
        self.beat_at = time.monotonic()
        # Code that did not read the details began again, so other details prove nothing.
        is_other = text is not None and text != json.dumps({"v": self._details})
        advanced = text is not None and (not self._resumes or (self._has_read and is_other))
        self._loop.call_soon_threadsafe(self._note, text, advanced)

    def _note(self, text: Optional[str], advanced: bool) -> None:
        if self._call.current is self:
            self._call.run.beat(self._call.key, self.number, text, advanced)

    async def within(self, work: Coroutine[Any, Any, Any], limit: Optional[float]) -> Any:
        """Waits for the work, and gives it up after a silence."""
        task = asyncio.ensure_future(work)
        try:
            while True:
                left = None if limit is None else self.beat_at + limit - time.monotonic()
                if left is not None and left <= 0:
                    message = f"No heartbeat for {limit} s. It may still have its effect."
                    raise StepError(message, category="unknown", code="step-silent")
                done, _ = await asyncio.wait({task}, timeout=left)
                if done:
                    return task.result()
        finally:
            task.cancel()


@dataclass(frozen=True)
class StepContext:
    """What a step knows of its attempt."""

    #: The number of this attempt, from 1.
    attempt: int
    #: The same for every attempt. Pass it to the service that you call.
    idempotency_key: str
    #: The fence of the claim. A later owner has a higher one.
    fence: int
    _attempt: Optional[Attempt] = field(default=None, repr=False, compare=False)

    @property
    def heartbeat_details(self) -> Any:
        """The last details that an earlier attempt gave, on any worker. `None` without any."""
        return None if self._attempt is None else self._attempt.read_details()

    def heartbeat(self, details: Any = None) -> None:
        """Reports that the step works, and how far it is. Without details, the last ones stay.

        `details` must be JSON of at most 16,384 bytes. Raises `AttemptOver` once the attempt has
        ended. The worker sends heartbeats at most once a second.
        """
        if self._attempt is not None:
            self._attempt.beat(details)


@dataclass
class Answer:
    """The outcome of a question: `answered`, `timed-out` or `cancelled`."""

    status: str
    value: Any = None
    actor: Optional[str] = None


@dataclass
class Entry:
    """An event to write, and what follows once it is stored."""

    kind: str
    name: Optional[str]
    body: Mapping[str, Any]
    #: The event settles its call.
    settles: bool = True
    children: Sequence[Mapping[str, Any]] = ()
    awaits: Sequence[Mapping[str, Any]] = ()
    attachments: Sequence[Mapping[str, Any]] = ()
    #: All search attributes of the execution, from this event on.
    attributes: Optional[Mapping[str, Any]] = None
    on_stored: Optional[Callable[[float], None]] = None

    @property
    def event(self) -> dict[str, Any]:
        body = json.dumps(self.body, allow_nan=False)
        return {"kind": self.kind, **({"name": self.name} if self.name else {}), "body": body}


class Call:
    """One call. The code waits for `future`."""

    #: The store time at which `on_due` runs, in milliseconds.
    due: Optional[float] = None
    #: True while only time or a message can continue it, so that the execution may park.
    is_waiting = False
    #: How many children are missing, if the call waits for children.
    missing: Optional[int] = None

    def __init__(self, run: Run, key: str, name: str) -> None:
        self.run = run
        self.key = key
        self.name = name
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def entered(self) -> None:
        """The code has made the call."""

    def start(self, opening: Optional[Opening]) -> None:
        raise NotImplementedError

    async def settle(self, settlement: Settlement) -> None:
        raise NotImplementedError

    def on_due(self) -> None:
        raise NotImplementedError

    def resolve(self, value: Any) -> None:
        if not self.future.done():
            self.future.set_result(value)

    def reject(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    async def resolve_with(self, envelope: Mapping[str, Any]) -> None:
        self.resolve(await self.run.decode(envelope))


class StepCall(Call):
    """Runs a function until it succeeds or its retry gives up, and records each attempt's end."""

    def __init__(
        self,
        run: Run,
        key: str,
        name: str,
        function: Callable[[StepContext], Any],
        retry: Retry,
        timeout: Optional[float],
        heartbeat_timeout: Optional[float],
    ) -> None:
        super().__init__(run, key, name)
        #: The attempt that runs now. Nothing of an earlier one counts any more.
        self.current: Optional[Attempt] = None
        self._heartbeat_timeout = heartbeat_timeout
        self._function = function
        self._retry = retry
        self._timeout = timeout
        self._failed = 0
        self._denied = 0

    def start(self, opening: Optional[Opening]) -> None:
        if opening is not None:
            self._failed, self._denied = opening.failed, opening.denied
            if opening.due is not None and opening.due > self.run.store_now():
                self.due, self.is_waiting = opening.due, True
                return
        self.on_due()

    def on_due(self) -> None:
        self.due, self.is_waiting = None, False
        self.run.spawn(self._attempt())

    async def settle(self, settlement: Settlement) -> None:
        body = settlement.body
        if settlement.kind == "step-failed":
            attempts = int(body.get("attempt", 1))
            self.reject(StepFailed(self.name, body["failure"], self.key, attempts))
        else:
            await self.resolve_with(body.get("out", {}))

    async def _attempt(self) -> None:
        await self.run.session.authority()
        stored = self.run.heartbeats.get(self.key, {}).get("details")
        details = None if stored is None else await self.run.decode(json.loads(stored))
        attempt = Attempt(self, self._failed + 1, details, resumes=stored is not None)
        about = StepContext(
            attempt=attempt.number,
            idempotency_key=f"{self.run.execution['lineage']}/0/{self.key}",
            fence=self.run.fence,
            _attempt=attempt,
        )
        self.current = attempt
        try:
            work = attempt.within(invoke(self._function, about), self._heartbeat_timeout)
            output = await asyncio.wait_for(work, self._timeout)
            self.current = None
            out = await self.run.encode(output)
        except ClaimLost:
            raise
        except Exception as error:
            self.current = None
            self._note_failure(error)
            return
        self.run.end_heartbeat(self.key)
        body = {"key": self.key, "out": out, "attempt": self._failed + self._denied + 1}
        self.run.record(Entry("step-completed", self.name, body))

    def _note_failure(self, raised: Exception) -> None:
        # Before Python 3.11, the timeout of asyncio is another class.
        is_timeout = isinstance(raised, asyncio.TimeoutError) and self._timeout is not None
        error = TimeoutError(f"No end within {self._timeout} s.") if is_timeout else raised
        failure = failure_of(error, self.key)
        is_denied = failure["category"] == "denied"
        if is_denied:
            self._denied += 1
        else:
            self._failed += 1
        body: dict[str, Any] = {
            "key": self.key,
            "failure": failure,
            "attempt": self._failed + self._denied,
            **({"denied": True} if is_denied else {}),
        }
        delay = self._retry.delay_after(self._failed, self._denied, error)
        if delay is None or self.run.is_cancelled:
            self.run.end_heartbeat(self.key)
            self.run.record(Entry("step-failed", self.name, body))
            return
        body["retryInMs"] = round(delay * 1000)

        def stored(at: float) -> None:
            self.due, self.is_waiting = at + body["retryInMs"], True

        self.run.record(Entry("step-failed", self.name, body, settles=False, on_stored=stored))


class SleepCall(Call):
    """Ends at a time that the first worker fixes."""

    def __init__(self, run: Run, key: str, name: str, span: Optional[Mapping[str, int]]) -> None:
        super().__init__(run, key, name)
        self._span = span

    def start(self, opening: Optional[Opening]) -> None:
        self.is_waiting = True
        if self._span is None:
            return
        if opening is not None:
            self.due = opening.due
            return
        until = self._span.get("until")
        self.due = until if until is not None else self.run.store_now() + self._span["ms"]
        entry = Entry("timer-set", self.name, {"key": self.key, **self._span}, settles=False)
        self.run.append(entry)

    async def settle(self, settlement: Settlement) -> None:
        self.resolve(None)

    def on_due(self) -> None:
        self.due, self.is_waiting = None, False
        self.run.record(Entry("timer-fired", self.name, {"key": self.key}))


class ReceiveCall(SleepCall):
    """Gets the next signal of a name, within a time limit if there is one."""

    def start(self, opening: Optional[Opening]) -> None:
        super().start(opening)
        self.run.inbox.offer(self)

    async def settle(self, settlement: Settlement) -> None:
        if settlement.kind == "timer-fired":
            self.reject(TimeoutError(f'No signal "{self.name}" arrived in time.'))
        else:
            await self.resolve_with(settlement.body.get("out", {}))

    def on_due(self) -> None:
        if not self.run.inbox.offer(self):
            super().on_due()


class ReceiveUpdateCall(ReceiveCall):
    """Gets the next update of a name: its value, and the token of its reply."""

    async def resolve_with(self, envelope: Mapping[str, Any]) -> None:
        self.resolve((await self.run.decode(envelope), self._token))

    async def settle(self, settlement: Settlement) -> None:
        self._token = str(settlement.body.get("update", ""))
        await super().settle(settlement)


class PublishCall(Call):
    """Stores a value that others read: a published value, or the reply to an update."""

    def __init__(self, run: Run, key: str, name: str, content: Mapping[str, Any]) -> None:
        super().__init__(run, key, name)
        self._content = content

    def start(self, opening: Optional[Opening]) -> None:
        text = base64.b64encode(json.dumps(self._content, allow_nan=False).encode()).decode()
        row = {"name": self.name, "type": "application/json", "bytes": text}
        self.run.record(Entry("attached", self.name, {"key": self.key}, attachments=[row]))

    async def settle(self, settlement: Settlement) -> None:
        self.resolve(None)


class AskCall(Call):
    """Asks a question and waits for its answer."""

    def __init__(
        self, run: Run, key: str, name: str, request: Any, options: Mapping[str, Any]
    ) -> None:
        super().__init__(run, key, name)
        self._request = request
        timeout = options["timeout"]
        self._timeout_ms = None if timeout is None else round(timeout * 1000)
        self._labels = options["labels"]
        self._concurrency = options["concurrency"]

    def start(self, opening: Optional[Opening]) -> None:
        if opening is None:
            self.run.spawn(self._open())
            return
        self.is_waiting, self.due = True, opening.due
        self.run.inbox.offer(self)

    async def _open(self) -> None:
        request = json.dumps(await self.run.encode(self._request))
        id = question_id(self.run.execution["id"], self.key)
        item = {"id": id, "request": request, **self._labels}
        timeout = {} if self._timeout_ms is None else {"timeoutMs": self._timeout_ms}
        slots = {} if self._concurrency is None else {"concurrency": dict(self._concurrency)}
        row = {
            "call": self.key,
            "name": self.name,
            "needed": 1,
            "items": [item],
            "reminders": [],
            "signed": False,
            "checked": False,
            **timeout,
            **slots,
        }
        span = {} if self._timeout_ms is None else {"ms": self._timeout_ms}
        body = {"key": self.key, "items": 1, "needed": 1, **span}
        self.run.has_awaited = True
        self.is_waiting = True
        if self._timeout_ms is not None:
            self.due = self.run.store_now() + self._timeout_ms
        self.run.append(Entry("await-opened", self.name, body, settles=False, awaits=[row]))
        self.run.inbox.offer(self)

    async def settle(self, settlement: Settlement) -> None:
        body = settlement.body
        if "clash" in body:
            detail = f'Another question of an open execution has the correlation "{body["clash"]}".'
            self.reject(Refused(409, "correlation-taken", f"{detail} Nothing was asked."))
            return
        status = str(body.get("status", "cancelled"))
        if status != "answered":
            self.resolve(Answer(status))
            return
        answers = body.get("answers") or []
        if answers:
            value = await self.run.decode(answers[0].get("out", {}))
            self.resolve(Answer(status, value, answers[0].get("by")))
        else:
            self.resolve(Answer(status, await self.run.decode(body.get("default", {}))))

    def on_due(self) -> None:
        # The store decides whether the time is over. If an operator extended it, the coordinator
        # settles the question later, and its message wakes the execution.
        self.due = None
        self.run.spawn(self._expire())

    async def _expire(self) -> None:
        await self.run.work.expire_awaits(self.run.session, self.run.execution["id"])
        self.run.check_inbox()


class SpawnCall(Call):
    """Starts children, in one write."""

    def __init__(
        self, run: Run, key: str, name: str, pipeline: str, inputs: Sequence[Any], options: Mapping[str, Any]
    ) -> None:
        super().__init__(run, key, name)
        self._pipeline = pipeline
        self._inputs = inputs
        self._options = options

    def start(self, opening: Optional[Opening]) -> None:
        self.run.spawn(self._spawn())

    async def settle(self, settlement: Settlement) -> None:
        of, ids = settlement.body.get("of", self._pipeline), settlement.body.get("ids", [])
        if of != self._pipeline or len(ids) != len(self._inputs):
            raise Drift(
                f"History has {self.key} ({len(ids)} of {of}), but the code has "
                f"{self.key} ({len(self._inputs)} of {self._pipeline}) there."
            )
        self.resolve(list(ids))

    async def _spawn(self) -> None:
        execution = self.run.execution
        children = []
        for index, given in enumerate(self._inputs):
            id, call = new_execution_id(), f"{self.key}[{index}]"
            children.append(
                {
                    "id": id,
                    "project": execution["project"],
                    "pipeline": self._pipeline,
                    "lane": execution["lane"],
                    "input": json.dumps(await self.run.encode(given)),
                    "lineage": id,
                    "parent": {"id": execution["id"], "call": call},
                    "intent": call,
                    "tags": [],
                    "attributes": {},
                    **self._options,
                }
            )
        ids = [child["id"] for child in children]
        body = {"key": self.key, "of": self._pipeline, "ids": ids, "last": True}
        self.run.record(Entry("child-spawned", self.name, body, children=children))


class ChildrenCall(Call):
    """Waits until all children of one call have ended. It has no event of its own."""

    def __init__(self, run: Run, key: str, spawned: str, count: int) -> None:
        super().__init__(run, key, key)
        self._keys = [f"{spawned}[{index}]" for index in range(count)]

    def entered(self) -> None:
        self.check()

    def start(self, opening: Optional[Opening]) -> None:
        self.is_waiting = True

    def check(self) -> None:
        """Settles the call if every child has ended."""
        self.missing = sum(key not in self.run.ended_children for key in self._keys)
        if self.missing == 0:
            self.run.calls.pop(self.key, None)
            self.resolve([self.run.ended_children[key] for key in self._keys])
