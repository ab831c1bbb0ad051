"""Schedules and channels, as parts of the client. Options have the names of the REST API."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, AsyncIterator, Mapping, Optional

from .http import Http, path_of

Reply = Mapping[str, Any]


async def pages(http: Http, path: str, **query: Any) -> AsyncIterator[dict[str, Any]]:
    """Yields the items of all pages of a list."""
    while True:
        page = await http.send("GET", path, query=query)
        for item in page["items"]:
            yield item
        if page.get("cursor") is None:
            return
        query["cursor"] = page["cursor"]


class Operations:
    """The operations that schedules and channels share."""

    _path = ""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def put(self, id: str, **options: Any) -> Reply:
        """Creates it, or changes it to exactly this. The same again is safe."""
        return await self._send("PUT", id, "", options)

    async def get(self, id: str) -> Reply:
        """Returns its state."""
        return await self._send("GET", id)

    def list(self) -> AsyncIterator[dict[str, Any]]:
        """Yields all of the project, by id."""
        return pages(self._http, self._path)

    async def remove(self, id: str) -> None:
        """Removes it. Executions that it submitted continue, and messages that wait are not sent."""
        await self._send("DELETE", id)

    async def _send(
        self, method: str, id: str, verb: str = "", body: Optional[Mapping[str, Any]] = None
    ) -> Reply:
        reply: Reply = await self._http.send(method, path_of(self._path + "/{}", id) + verb, body)
        return reply


class Schedules(Operations):
    """Schedules submit executions at their times.

    await client.schedules.put("report", cron="0 9 * * 1-5", timeZone="Europe/Zurich", pipeline="report")
    """

    _path = "/v1/schedules"

    async def pause(self, id: str) -> None:
        """Holds the schedule until you resume it."""
        await self._send("POST", id, "/pause")

    async def resume(self, id: str) -> None:
        """Resumes a paused schedule, with its next time from now."""
        await self._send("POST", id, "/resume")

    async def trigger(self, id: str, **options: Any) -> Reply:
        """Submits an execution now. Its `overlap` and `key` are optional."""
        return await self._send("POST", id, "/trigger", options)

    async def backfill(self, id: str, since: datetime, until: datetime) -> Reply:
        """Submits past times that have no execution, at most 1,000. Times need a time zone."""
        span = {"from": _instant(since), "to": _instant(until)}
        return await self._send("POST", id, "/backfill", span)


class Channels(Operations):
    """Channels announce what happens in the project to a webhook or an SQS queue.

    await client.channels.put("ops", kind="webhook", url=url, events=["execution-ended"])
    """

    _path = "/v1/channels"

    async def secret(self, id: str) -> str:
        """Returns the secret that verifies signatures."""
        return str((await self._send("GET", id, "/secret"))["secret"])

    async def rotate(self, id: str, *, overlap: float = 86_400.0) -> str:
        """Makes another secret and returns it. Both sign messages for `overlap` seconds."""
        body = {"overlapMs": round(overlap * 1000)}
        return str((await self._send("POST", id, "/rotate", body))["secret"])

    async def test(self, id: str) -> str:
        """Sends a test message and returns its id."""
        return str((await self._send("POST", id, "/test"))["id"])

    def deliveries(self, id: str, *, state: Optional[str] = None) -> AsyncIterator[dict[str, Any]]:
        """Yields messages with their attempts, newest first."""
        return pages(self._http, path_of(self._path + "/{}/deliveries", id), state=state)

    async def replay(self, id: str, message: Optional[str] = None) -> int:
        """Sends one message again, or the failed ones. Returns how many. Repeat it until that is 0."""
        body = {} if message is None else {"message": message}
        return int((await self._send("POST", id, "/replay", body))["count"])


def _instant(time: datetime) -> str:
    if time.tzinfo is None:
        raise ValueError("A time needs a time zone, such as timezone.utc. Nothing was sent.")
    text = time.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
