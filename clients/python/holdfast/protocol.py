"""The messages of the worker protocol that concern executions."""

from __future__ import annotations

import asyncio
from typing import Any, Mapping, Optional, Sequence

from .errors import HoldfastError, Refused, Unavailable
from .http import Http, path_of
from .session import RETRY_PAUSE, Session, pause_after
from .values import decode, encode

PAGE = 1000


class WriteRejected(HoldfastError):
    """The coordinator can never accept this write. Nothing was written."""

    code = "invalid-input"


class Work:
    """Sends messages until they get a reply, or until the session is over."""

    def __init__(self, http: Http) -> None:
        self.http = http
        #: The coordinator takes heartbeats of steps.
        self.accepts_heartbeats = False
        #: The coordinator takes changes of attributes.
        self.accepts_attributes = False

    async def ask(
        self,
        session: Session,
        method: str,
        path: str,
        body: Any = None,
        query: Optional[Mapping[str, Any]] = None,
    ) -> Any:
        while True:
            session.require()
            try:
                return await self.http.send(method, path, body, query=query)
            except Unavailable as error:
                await asyncio.sleep(pause_after(error))

    async def write(self, session: Session, write: Mapping[str, Any]) -> Mapping[str, Any]:
        """Sends one write, and the same again until its outcome is known."""
        while True:
            await session.authority()
            try:
                reply = await self.http.send("POST", "/v1/work/writes", {"writes": [write]})
            except Unavailable as error:
                await asyncio.sleep(pause_after(error))
                continue
            except Refused as error:
                raise WriteRejected(str(error)) from error
            result: Mapping[str, Any] = reply["results"][0]
            if result["kind"] != "fault":
                return result
            if result.get("code") in ("invalid-input", "payload-too-large"):
                raise WriteRejected(str(result.get("detail", result["code"])))
            await asyncio.sleep(RETRY_PAUSE)

    async def history(self, session: Session, id: str) -> list[Mapping[str, Any]]:
        return await self._pages(session, path_of("/v1/work/executions/{}/history", id), "seq", 0)

    async def inbox(self, session: Session, id: str, after: int) -> list[Mapping[str, Any]]:
        return await self._pages(session, path_of("/v1/work/executions/{}/inbox", id), "n", after)

    async def _pages(
        self, session: Session, path: str, place: str, after: int
    ) -> list[Mapping[str, Any]]:
        items: list[Mapping[str, Any]] = []
        while True:
            query = {"after": after, "limit": PAGE}
            page = await self.ask(session, "GET", path, query=query)
            items.extend(page["items"])
            if not page["items"] or (len(page["items"]) < PAGE and not page.get("more")):
                return items
            after = int(items[-1][place])

    async def carried(self, session: Session) -> list[Mapping[str, Any]]:
        """The claims of the session, for those whose reply was lost."""
        path = path_of("/v1/work/sessions/{}/claims", session.id)
        items: list[Mapping[str, Any]] = []
        while True:
            after = items[-1]["fence"] if items else None
            page = await self.ask(session, "GET", path, query={"after": after})
            items.extend(page["items"])
            if not page.get("more") or not page["items"]:
                return items

    async def message_child(
        self, session: Session, child: str, body: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        path = path_of("/v1/work/children/{}", child)
        reply: Mapping[str, Any] = await self.ask(session, "POST", path, body)
        return reply

    async def expire_awaits(self, session: Session, id: str) -> None:
        await self.ask(session, "POST", path_of("/v1/work/executions/{}/expire-awaits", id), {})

    async def encode(self, session: Session, value: Any) -> dict[str, Any]:
        async def put(digest: str, data: bytes) -> None:
            await self.ask(session, "PUT", path_of("/v1/work/blobs/{}", digest), data)

        return await encode(value, put)

    async def decode(self, session: Session, envelope: Mapping[str, Any]) -> Any:
        async def get(digest: str) -> bytes:
            data: bytes = await self.ask(session, "GET", path_of("/v1/work/blobs/{}", digest))
            return data

        return await decode(envelope, get)


def claim_body(
    session: Session, pipelines: Sequence[str], room: int
) -> Mapping[str, Any]:
    batch = max(1, room // 4)
    shares = [{"lane": "interactive", "limit": room}, {"lane": "batch", "limit": batch}]
    return {"session": session.id, "pipelines": list(pipelines), "shares": shares}
