"""What pipeline code can do. Every call is recorded, and a replay returns the recorded result."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from datetime import datetime, timezone
from math import isfinite
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Mapping, Optional, Sequence, TypeVar, Union
from uuid import NAMESPACE_OID, uuid5

from .calls import (
    Answer,
    AskCall,
    ChildrenCall,
    PublishCall,
    ReceiveCall,
    ReceiveUpdateCall,
    SleepCall,
    SpawnCall,
    StepCall,
    StepContext,
)
from .errors import ChildFailed, ClaimLost, StepFailed
from .functions import invoke
from .pipeline import Pipeline, Retry, name_of

if TYPE_CHECKING:
    from .run import Run

ATTRIBUTE_BYTES_MAX = 256

T = TypeVar("T")
CHILDREN_MAX = 1000


@dataclass(frozen=True)
class Update:
    """An update: a signal whose sender waits for a reply. Reply or reject, once."""

    value: Any
    _context: Context = field(repr=False, compare=False)
    _key: str = field(repr=False)
    _token: str = field(repr=False)

    async def reply(self, value: Any = None) -> None:
        """Stores the reply, which the sender gets."""
        run, name = self._context._run, f"holdfast.reply/{self._token}"
        await self._context._publish("reply", self._key, name, {"out": await run.encode(value)})

    async def reject(self, reason: str) -> None:
        """Rejects the update. The sender gets `reason`."""
        name = f"holdfast.reply/{self._token}"
        await self._context._publish("reply", self._key, name, {"rejected": reason})


class Child:
    """A child that an execution started."""

    def __init__(self, context: Context, key: str, id: str) -> None:
        self._context = context
        self._key = key
        #: The id of the child's execution.
        self.id = id

    async def result(self) -> Any:
        """Waits for the child and returns its output. Raises `ChildFailed` unless it completed."""
        [outcome] = await self._context._outcomes(self._key, 1)
        return _output_of(outcome)

    async def signal(self, name: str, value: Any = None) -> bool:
        """Sends the child a signal, once. Returns false if the child has ended."""
        run = self._context._run

        async def send(step: StepContext) -> bool:
            key = str(uuid5(NAMESPACE_OID, step.idempotency_key))
            out = json.dumps(await run.encode(value))
            return await self._send({"kind": "signal", "name": name, "key": key, "out": out})

        return await self._context._own_step("child-signal", name, send)

    async def cancel(self, reason: Optional[str] = None) -> bool:
        """Cancels the child, and does not wait for its end. Returns false if it has ended."""
        given = {} if reason is None else {"reason": reason}

        async def send(step: StepContext) -> bool:
            return await self._send({"kind": "cancel", **given})

        return await self._context._own_step("child-cancel", self.id, send)

    async def _send(self, message: Mapping[str, Any]) -> bool:
        run = self._context._run
        claim = {"id": run.execution["id"], "fence": run.fence, "session": run.session.id}
        reply = await run.work.message_child(run.session, self.id, {**claim, "message": message})
        if reply.get("why") == "claim-ended":
            raise ClaimLost("Another worker has this execution. Nothing was sent.")
        return bool(reply["kind"] != "refused")


class Context:
    """The first argument of a pipeline. Times are in seconds.

    Make calls only from the pipeline's own code, not inside steps. Code between calls must do the
    same in every run, so use no clock, no random numbers and no network there.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._counts: dict[str, int] = {}

    @property
    def execution_id(self) -> str:
        return str(self._run.execution["id"])

    def step(
        self,
        name: str,
        function: Callable[[StepContext], Union[T, Awaitable[T]]],
        *,
        retry: Optional[Retry] = None,
        timeout: Optional[float] = None,
        heartbeat_timeout: Optional[float] = None,
    ) -> asyncio.Future[T]:
        """Runs a function and records its result, which must be JSON.

        The function gets a `StepContext`. It may be async; other functions run on a thread. Raises
        `StepFailed` when the attempts are used up. `timeout` limits one attempt, and
        `heartbeat_timeout` the time between two calls of `heartbeat` in it.
        """
        policy = retry or self._run.pipeline.retry
        key = self._key("step", name)
        call = StepCall(self._run, key, name, function, policy, timeout, heartbeat_timeout)
        return self._run.enter(call)

    def sleep(self, seconds: float, name: str = "sleep") -> asyncio.Future[None]:
        """Waits, without a worker if the time is long."""
        span = {"ms": max(0, round(seconds * 1000))}
        return self._run.enter(SleepCall(self._run, self._key("sleep", name), name, span))

    def sleep_until(self, time: datetime, name: str = "sleep") -> asyncio.Future[None]:
        """Waits until a time. A time without a zone is in UTC."""
        zoned = time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)
        span = {"until": round(zoned.timestamp() * 1000)}
        return self._run.enter(SleepCall(self._run, self._key("sleep", name), name, span))

    def receive(self, name: str, *, timeout: Optional[float] = None) -> asyncio.Future[Any]:
        """Returns the value of the next signal of this name. Raises `TimeoutError` after `timeout`."""
        span = None if timeout is None else {"ms": max(0, round(timeout * 1000))}
        return self._run.enter(ReceiveCall(self._run, self._key("signal", name), name, span))

    async def receive_update(self, name: str, *, timeout: Optional[float] = None) -> Update:
        """Returns the next update of this name. Raises `TimeoutError` after `timeout`."""
        span = None if timeout is None else {"ms": max(0, round(timeout * 1000))}
        signal = f"update:{name}"
        key = self._key("signal", signal)
        value, token = await self._run.enter(ReceiveUpdateCall(self._run, key, signal, span))
        return Update(value, self, key, token)

    async def publish(self, name: str, value: Any) -> None:
        """Publishes a value, for others to read or to wait for. The last one of a name wins."""
        content = {"out": await self._run.encode(value)}
        await self._publish("publish", name, f"holdfast.published/{name}", content)

    async def _publish(self, kind: str, name: str, stored: str, content: Mapping[str, Any]) -> None:
        call = PublishCall(self._run, self._key(kind, name), stored, content)
        await self._run.enter(call)

    def ask(
        self,
        name: str,
        request: Any = None,
        *,
        timeout: Optional[float] = None,
        assignee: Optional[str] = None,
        correlation: Optional[str] = None,
        concurrency: Optional[Mapping[str, Any]] = None,
    ) -> asyncio.Future[Answer]:
        """Asks a person or a system, and waits for the answer without a worker.

        `correlation` is a name of your choice, such as the id of a payment. Others answer
        `correlation:` and this name. Raises `Refused` if another question has it.

        `concurrency` is `{"key": …, "limit": …}`. At most `limit` questions with the key are open at
        once, and the others wait in order.
        """
        key = self._key("await", name)
        labels = {"assignee": assignee, "correlation": correlation}
        given = {label: value for label, value in labels.items() if value is not None}
        options = {"timeout": timeout, "labels": given, "concurrency": concurrency}
        return self._run.enter(AskCall(self._run, key, name, request, options))

    async def start_child(
        self, target: Union[Pipeline, str], input: Any = None, **options: Any
    ) -> Child:
        """Starts another pipeline as a child. `options` are fields of its submission, such as `tags`."""
        key, [id] = await self._spawn("child", target, [input], options)
        return Child(self, key, id)

    async def run_children(
        self, target: Union[Pipeline, str], inputs: Sequence[Any], **options: Any
    ) -> list[Any]:
        """Starts up to 1,000 children and returns their outputs. Raises `ChildFailed` if one failed."""
        if not inputs:
            return []
        key, ids = await self._spawn("children", target, inputs, options)
        outcomes = await self._outcomes(key, len(ids))
        return [_output_of(outcome) for outcome in outcomes]

    async def call(self, step: Union[Pipeline, str], input: Any = None, **options: Any) -> Any:
        """Calls a remote step: a function that another worker hosts. Raises `StepFailed`."""
        key, _ = await self._spawn("call", step, [input], options)
        [outcome] = await self._outcomes(key, 1)
        try:
            return _output_of(outcome)
        except ChildFailed as error:
            default = {"category": "unknown", "code": error.status, "message": str(error)}
            raise StepFailed(name_of(step), error.failure or default, key, 1) from error

    @property
    def attributes(self) -> dict[str, Any]:
        """The search attributes, with the changes that the code has made so far."""
        return dict(self._run.attributes)

    def set_attributes(self, changes: Mapping[str, Union[str, float, bool, None]]) -> None:
        """Changes search attributes, so that lists find the execution by its state.

        `None` removes one, and others stay. Names and texts have at most 256 bytes. The store has the
        change with the next event.
        """
        for name, value in changes.items():
            for text in (name, value):
                if isinstance(text, str):
                    if "\0" in text or len(text.encode()) > ATTRIBUTE_BYTES_MAX:
                        raise ValueError(f"Attribute {name!r} must be text of at most 256 bytes.")
                elif text is not None and not isinstance(text, (bool, int, float)):
                    raise ValueError(f"Attribute {name!r} must be text, a number or a bool.")
                elif isinstance(text, float) and not isfinite(text):
                    raise ValueError(f"Attribute {name!r} must be a finite number.")
        self._run.change_attributes(self._key("attributes", "set"), changes)

    def patched(self, name: str) -> bool:
        """True, unless this execution has already gone past this place in code without the patch.

        So new executions take the new branch, and old ones replay the old one.
        """
        return self._run.is_patched(self._key("patch", name))

    async def run_once(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """Runs a function without a record, for pipelines that do nothing else."""
        return await invoke(function, argument)

    async def _spawn(
        self,
        kind: str,
        target: Union[Pipeline, str],
        inputs: Sequence[Any],
        options: Mapping[str, Any],
    ) -> tuple[str, list[str]]:
        if len(inputs) > CHILDREN_MAX:
            raise ValueError(f"At most {CHILDREN_MAX} children can start at once; got {len(inputs)}.")
        pipeline = name_of(target)
        key = self._key(kind, pipeline)
        call = SpawnCall(self._run, key, pipeline, pipeline, list(inputs), options)
        ids: list[str] = await self._run.enter(call)
        return key, ids

    async def _own_step(
        self, kind: str, name: str, function: Callable[[StepContext], Awaitable[bool]]
    ) -> bool:
        retry = self._run.pipeline.retry
        call = StepCall(self._run, self._key(kind, name), name, function, retry, None, None)
        done: bool = await self._run.enter(call)
        return done

    async def _outcomes(self, key: str, count: int) -> list[Mapping[str, Any]]:
        call = ChildrenCall(self._run, self._key("result", key), key, count)
        outcomes: list[Mapping[str, Any]] = await self._run.enter(call)
        return outcomes

    def _key(self, kind: str, name: str) -> str:
        call = f"{kind}:{name}"
        self._counts[call] = self._counts.get(call, 0) + 1
        return f"{call}#{self._counts[call]}"


def _output_of(outcome: Mapping[str, Any]) -> Any:
    status = str(outcome.get("status"))
    if status == "completed":
        return outcome["value"]
    raise ChildFailed(str(outcome.get("id")), status, outcome.get("failure"))
