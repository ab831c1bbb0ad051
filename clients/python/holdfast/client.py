"""The client: submits executions, waits for them, and sends them signals and answers."""

from __future__ import annotations

from typing import Any, AsyncIterator, Mapping, Optional, Sequence, Union

from .errors import ExecutionFailed, Refused, UnreadableValue
from .http import Http, path_of
from .operations import Channels, Schedules, pages
from .pipeline import Pipeline, name_of

_HELD_MS = 25_000


class Client:
    """A client of a coordinator. Use it with `async with`, or call `close`.

    `url`, `key` and `project` default to HOLDFAST_URL, HOLDFAST_KEY and HOLDFAST_PROJECT. Methods
    raise `Refused` if the coordinator refuses, `Unavailable` if nothing was done, and
    `OutcomeUnknown` if the connection broke after a write was sent.

        async with Client() as client:
            id = await client.submit("order", {"item": "tent"}, key="order/7")
            print(await client.result(id))
    """

    def __init__(
        self, url: Optional[str] = None, *, key: Optional[str] = None, project: Optional[str] = None
    ) -> None:
        self._http = Http(url, key, project)
        #: Schedules of the project.
        self.schedules = Schedules(self._http)
        #: Channels of the project.
        self.channels = Channels(self._http)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    async def submit(
        self,
        pipeline: Union[Pipeline, str],
        input: Any = None,
        *,
        key: Optional[str] = None,
        **options: Any,
    ) -> str:
        """Submits an execution and returns its id.

        A second submit with the same `key` and content returns the first execution. `options` are
        further fields of the request, such as `tags`, `lane`, `delayMs` and `ifNoWorker`.
        """
        given = {} if key is None else {"key": key}
        body = {"pipeline": name_of(pipeline), "input": input, **given, **options}
        reply = await self._http.send("POST", "/v1/executions", body)
        return str(reply["id"])

    async def get(self, id: str) -> dict[str, Any]:
        """Returns an execution."""
        reply: dict[str, Any] = await self._http.send("GET", path_of("/v1/executions/{}", id))
        return reply

    async def result(self, id: str) -> Any:
        """Waits for the end and returns the output.

        Raises `ExecutionFailed` unless it completed, and `UnreadableValue` if the coordinator cannot
        read the output: it is encrypted, or was erased.
        """
        path = path_of("/v1/executions/{}/result", id)
        while True:
            query = {"waitMs": _HELD_MS}
            timeout = _HELD_MS / 1000 + 10
            reply = await self._http.send("GET", path, query=query, timeout=timeout)
            status = str((reply or {}).get("status"))
            if status == "completed":
                return _readable(reply, "output")
            if status in ("failed", "cancelled", "compensated", "quarantined"):
                raise ExecutionFailed(id, status, reply.get("failure"))

    def list(
        self,
        *,
        status: Sequence[str] = (),
        pipeline: Optional[str] = None,
        tag: Optional[str] = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Yields executions, newest first."""
        query = {"status": [*status] or None, "pipeline": pipeline, "tag": tag}
        return pages(self._http, "/v1/executions", **query)

    async def history(self, id: str) -> Sequence[Mapping[str, Any]]:
        """Returns the events of an execution."""
        path, items = path_of("/v1/executions/{}/history", id), []
        after = 0
        while True:
            page = await self._http.send("GET", path, query={"after": after, "limit": 1000})
            items.extend(page["items"])
            if not page["items"] or (len(page["items"]) < 1000 and not page.get("more")):
                return items
            after = items[-1]["seq"]

    async def signal(
        self, id: str, name: str, value: Any = None, *, key: Optional[str] = None
    ) -> None:
        """Sends a signal, which the code gets from `ctx.receive(name)`.

        A second one with the same `key` adds nothing, so it is safe to repeat.
        """
        given = {} if key is None else {"key": key}
        path = path_of("/v1/executions/{}/signals", id)
        await self._http.send("POST", path, {"name": name, "value": value, **given})

    async def update(
        self,
        id: str,
        name: str,
        value: Any = None,
        *,
        key: Optional[str] = None,
        timeout: float = 10.0,
    ) -> Mapping[str, Any]:
        """Sends an update and waits for the reply. Returns its `kind`, `key` and `value`.

        With `pending`, there is no reply yet: the same call with the `key` waits again.
        """
        wait = round(timeout * 1000)
        given = {} if key is None else {"key": key}
        body = {"name": name, "value": value, "waitMs": wait, **given}
        path = path_of("/v1/executions/{}/updates", id)
        reply: Mapping[str, Any] = await self._http.send("POST", path, body, timeout=timeout + 10)
        return reply

    async def query(self, id: str, name: str, value: Any = None) -> Any:
        """Asks the code of an execution, which a TypeScript worker replays. Nothing is written."""
        path = path_of("/v1/executions/{}/queries", id)
        reply = await self._http.send("POST", path, {"name": name, "value": value}, timeout=60)
        return _readable(reply, "value")

    async def published(self, id: str, name: str, *, timeout: float = 0.0) -> Any:
        """Returns a value that the code published, or `None` if there is none in time."""
        path = path_of("/v1/executions/{}/published/{}", id, name)
        query = {"waitMs": round(timeout * 1000)}
        try:
            found = await self._http.send("GET", path, query=query, timeout=timeout + 10)
        except Refused as error:
            if error.code != "not-found":
                raise
            return None
        return _readable(found, "value")

    async def cancel(
        self, id: str, reason: Optional[str] = None, *, force: bool = False
    ) -> None:
        """Cancels an execution. With `force`, it ends at once, without cleanup and compensations."""
        await self._command(id, "cancel", reason, force)

    async def pause(self, id: str, reason: Optional[str] = None) -> None:
        """Holds an execution until you resume it."""
        await self._command(id, "pause", reason)

    async def resume(self, id: str, reason: Optional[str] = None) -> None:
        """Resumes a paused or blocked execution."""
        await self._command(id, "resume", reason)

    async def redrive(self, id: str, **options: Any) -> str:
        """Repeats an ended execution as a new one and returns its id.

        It reuses completed steps. `options` are further fields of the request: `mode`, `from`,
        `input`, `release` and `reason`. Pass `**{"from": "charge"}` to begin at that step.
        """
        path = path_of("/v1/executions/{}/redrive", id)
        return str((await self._http.send("POST", path, options))["id"])

    async def erase(self, id: str, reason: str) -> Mapping[str, Any]:
        """Erases the values of an ended execution for good. Needs a key with the role `admin`.

        The coordinator finishes what is `pending` later. Call it again to finish it now.
        """
        path = path_of("/v1/executions/{}/erase", id)
        reply: Mapping[str, Any] = await self._http.send("POST", path, {"reason": reason})
        return reply

    async def questions(
        self, execution: Optional[str] = None, *, queued: bool = False
    ) -> Sequence[Mapping[str, Any]]:
        """Returns the open questions, of one execution or of all. One page: the first ones.

        With `queued`, it returns those that wait for a slot of their concurrency key instead.
        """
        query = {"execution": execution, "queued": "true" if queued else None}
        page = await self._http.send("GET", "/v1/awaits", query=query)
        items: Sequence[Mapping[str, Any]] = page["items"]
        return items

    async def answer(self, question: str, value: Any = None) -> None:
        """Answers a question by its id, or by `correlation:` and its correlation.

        The first answer wins; the same again is safe.
        """
        await self._http.send("POST", path_of("/v1/awaits/{}/answer", question), {"value": value})

    async def answer_all(
        self, questions: Sequence[str], value: Any = None
    ) -> Sequence[Mapping[str, Any]]:
        """Gives the same answer to up to 100 questions, in one transaction. Returns a result for each."""
        sent = {"ids": list(questions), "value": value}
        reply = await self._http.send("POST", "/v1/awaits/answers", sent)
        items: Sequence[Mapping[str, Any]] = reply["items"]
        return items

    async def _command(
        self, id: str, verb: str, reason: Optional[str], force: bool = False
    ) -> None:
        body: dict[str, Any] = {} if reason is None else {"reason": reason}
        if force:
            body["force"] = True
        await self._http.send("POST", path_of("/v1/executions/{}/" + verb, id), body)


def _readable(reply: Mapping[str, Any], name: str) -> Any:
    """A value that is missing is `None`; one that the coordinator cannot read is an error."""
    if reply.get("sealed"):
        raise UnreadableValue("The coordinator cannot read the value: it is encrypted, or was erased.")
    return reply.get(name)
