"""Leases through a coordinator: a session, and keys that it holds under fences.

Written from `docs/reference/lease-protocol.md`.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import time
import uuid
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Coroutine, Literal, Mapping, Optional, Sequence

from .errors import HoldfastError, LeaseLost, OutcomeUnknown, Refused, Unavailable
from .http import Http, path_of
from .session import RETRY_PAUSE, Authority, Look, Moment, Session, moment, pause_after

log = logging.getLogger("holdfast")

Exit = Literal["finished", "yielded", "abandoned", "failed", "retired"]

#: A waiter looks again after this time, whether a hint came or not.
_LOOK_MS = 5_000


#: How long a release or a withdrawal keeps its caller waiting.
_GIVE_BACK_S = 5.0
#: A request without a reply may take effect for so long.
_WATCHED_S = 60.0
_GIVEN_UP = "its caller had given up"


class _Attempt:
    """One attempt to acquire a key, with all its tries."""

    def __init__(self) -> None:
        self.id = str(uuid.uuid4())
        self.sending: Optional[asyncio.Future[Any]] = None
        #: When a try last got no reply.
        self.unanswered_at: Optional[float] = None


class Lease:
    """A key that this session holds. `fence` is higher than that of every earlier holder.

    Pass `fence` to each resource that you write to, and let it refuse lower ones.
    """

    def __init__(self, session: LeaseSession, grant: Mapping[str, Any], sent: Moment) -> None:
        self.key = str(grant["key"])
        self.fence = int(grant["fence"])
        saved = grant.get("checkpoint")
        #: The bytes that an earlier holder saved last, or None.
        self.checkpoint: Optional[bytes] = base64.b64decode(saved["bytes"]) if saved else None
        #: How the term before ended: `exit`, and `owner`, `fence` and `cause` if there was one.
        self.predecessor: Mapping[str, Any] = grant["predecessor"]
        #: Effects that an earlier holder began and did not settle.
        self.intents: Sequence[Mapping[str, Any]] = grant["intents"]
        #: Set when an operator asks the holder to stop.
        self.drain = asyncio.Event()
        #: Set when the lease is lost. `require` then raises.
        self.lost = asyncio.Event()
        self._session = session
        self._seq = int(saved["seq"]) if saved else 0
        deadline = grant.get("deadlineInMs")
        self._deadline = None if deadline is None else Authority(sent, deadline)
        self._writing = asyncio.Lock()

    def remaining(self) -> float:
        """Returns for how many seconds this process may act as the holder; 0 if it may not."""
        if self.lost.is_set():
            return 0.0
        left = self._session.remaining()
        if self._deadline is not None:
            left = min(left, self._deadline.remaining())
        return max(0.0, left)

    def require(self, margin: float = 0.0) -> None:
        """Raises `LeaseLost` unless the lease is held for more than `margin` seconds.

        Call it before each effect, with the time that the effect takes.
        """
        if self.remaining() <= margin:
            raise LeaseLost(self.key, self.fence)

    async def save(self, data: bytes, *, type: Optional[str] = None) -> None:
        """Saves progress, which the next holder gets as `checkpoint`."""
        async with self._writing:
            seq = self._seq + 1
            body = {
                "seq": seq,
                "bytes": base64.b64encode(data).decode(),
                "digest": hashlib.sha256(data).hexdigest(),
                **({} if type is None else {"type": type}),
            }
            await self._write("checkpoint", body)
            self._seq, self.checkpoint = seq, data

    async def begin_intent(self, effect: str, note: Optional[str] = None) -> None:
        """Records an effect before it happens. A successor gets it in `intents`."""
        await self._write("begin-intent", {"effect": effect, **({} if note is None else {"note": note})})

    async def settle_intent(self, effect: str) -> None:
        """Removes an effect whose outcome is known."""
        await self._write("settle-intent", {"effect": effect})

    async def release(self, exit: Exit = "finished", cause: Optional[str] = None) -> None:
        """Ends the term. The next holder gets `exit` and `cause` as its `predecessor`.

        This process stops being the holder at once. If the coordinator does not respond within 5 s,
        the session continues to send the release while it lives.
        """
        if self.lost.is_set():
            return
        async with self._writing:
            # From here on, the process no longer acts, whatever the coordinator replies (L-5).
            self._session._forget(self)
            term = {"exit": exit, **({} if cause is None else {"cause": cause})}
            await self._session._give_back(self.key, self.fence, term)

    async def _write(self, verb: str, body: Mapping[str, Any]) -> None:
        """Repeats the message until the coordinator responds. A repeat has no second effect."""
        tenure = {"key": self.key, "fence": self.fence, "session": self._session.id}
        while True:
            self.require()
            try:
                reply = await self._session._send("POST", f"/v1/work/leases/{verb}", {**tenure, **body})
            except Unavailable as error:
                await asyncio.sleep(pause_after(error))
                continue
            if reply["kind"] != "refused":
                return
            self._session._forget(self)
            raise LeaseLost(self.key, self.fence, str(reply["why"]))


class LeaseSession:
    """A process that holds leases. One heartbeat, from a thread of its own, renews them all.

    `ttl` is in seconds: others can take a key that long after the last heartbeat. The access key
    needs the role `lease`. Use it with `async with`.

        async with LeaseSession("billing@host-3") as session:
            async with session.hold("reports/nightly", wait=True) as lease:
                lease.require(margin=1)
                print(lease.fence)
    """

    def __init__(
        self,
        owner: str,
        *,
        ttl: float = 15.0,
        url: Optional[str] = None,
        key: Optional[str] = None,
        project: Optional[str] = None,
    ) -> None:
        self._http = Http(url, key, project)
        self._owner = owner
        self._ttl = ttl
        self._session: Optional[Session] = None
        self._held: list[Lease] = []
        #: The keys that are waited for. One request gets the hints of all of them.
        self._waiters: list[tuple[str, asyncio.Event]] = []
        self._listening: Optional[asyncio.Task[None]] = None
        self._position: Optional[int] = None
        #: Releases and given-up attempts, which outlive their callers: the session would keep the term.
        self._giving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> LeaseSession:
        self._session = Session(self._http, self._owner, self._ttl, self._noticed)
        try:
            await self._session.open(None, lambda: False)
        except BaseException:
            self._http.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def id(self) -> str:
        return self._opened().id

    def remaining(self) -> float:
        """Returns for how many seconds this session may act; 0 if it may not."""
        return self._opened().remaining()

    async def close(self) -> None:
        """Ends the session, and with it all of its leases."""
        session = self._opened()
        for lease in list(self._held):
            self._forget(lease)
        for task in [*self._giving, *([] if self._listening is None else [self._listening])]:
            task.cancel()
        await session.end()
        self._http.close()

    async def acquire(
        self, key: str, *, wait: bool = False, timeout: Optional[float] = None, **options: Any
    ) -> Lease:
        """Acquires a key. Raises `Refused` if another session has it.

        With `wait`, it joins the queue of the key instead, for `timeout` seconds: then it raises
        `TimeoutError`. `options` are further fields of the request, such as `tenureMsMax`.
        """
        attempt = _Attempt()
        try:
            if timeout is None:
                return await self._acquire(key, attempt, wait, options)
            return await asyncio.wait_for(self._acquire(key, attempt, wait, options), timeout)
        except (asyncio.CancelledError, asyncio.TimeoutError, Unavailable) as error:
            giving_up = self._in_background(self._give_up(key, attempt))
            if not isinstance(error, Unavailable):
                await asyncio.wait({giving_up}, timeout=_GIVE_BACK_S)
            raise

    @asynccontextmanager
    async def hold(
        self, key: str, *, wait: bool = False, timeout: Optional[float] = None, **options: Any
    ) -> AsyncIterator[Lease]:
        """Acquires a key for a block and releases it: as `finished`, or as `failed` if it raises."""
        lease = await self.acquire(key, wait=wait, timeout=timeout, **options)
        try:
            yield lease
        except asyncio.CancelledError:
            await self._leave(lease, "abandoned", None)
            raise
        except BaseException as error:
            await self._leave(lease, "failed", repr(error)[:500])
            raise
        else:
            await self._leave(lease, "finished", None)

    async def verify(self, key: str, fence: int) -> bool:
        """Returns whether `fence` is that of the current holder of a key."""
        query = {"key": key, "fence": fence}
        reply = await self._http.send("GET", "/v1/work/leases/verify", query=query)
        return bool(reply["kind"] == "current")

    async def leases(self, prefix: Optional[str] = None) -> AsyncIterator[dict[str, Any]]:
        """Yields the leases of the project by key."""
        after: Optional[str] = None
        while True:
            query = {"prefix": prefix, "after": after}
            page = await self._http.send("GET", "/v1/work/leases", query=query)
            for item in page["items"]:
                yield item
            if not page.get("more"):
                return
            after = page["items"][-1]["key"]

    async def _leave(self, lease: Lease, exit: Exit, cause: Optional[str]) -> None:
        try:
            await lease.release(exit, cause)
        except LeaseLost as error:
            log.warning("The lease was lost before it was released: %s", error)

    async def _acquire(
        self, key: str, attempt: _Attempt, wait: bool, options: Mapping[str, Any]
    ) -> Lease:
        session = self._opened()
        body = {"key": key, "session": session.id, "attempt": attempt.id, **options}
        if wait:
            body["wait"] = True
            if self._position is None:
                await self._listen_once(0)
        while True:
            if session.is_lost:
                raise LeaseLost(key, 0, "session-ended")
            sent, notices = moment(), session.notices
            attempt.sending = asyncio.ensure_future(
                self._http.send("POST", "/v1/work/leases/acquire", body)
            )
            try:
                reply = await asyncio.shield(attempt.sending)
            except Unavailable as error:
                if isinstance(error, OutcomeUnknown):
                    attempt.unanswered_at = time.monotonic()
                # The attempt may be in the queue, or granted. The same one asks again.
                elif not wait:
                    raise
                await asyncio.sleep(pause_after(error))
                continue
            if reply["kind"] == "granted":
                lease = Lease(self, reply, sent)
                for earlier in [each for each in self._held if each.key == key]:
                    self._forget(earlier)
                self._held.append(lease)
                # A notice that came meanwhile may be about this lease, so the session looks again.
                session.notices = min(session.notices, notices)
                return lease
            if reply["kind"] == "refused":
                why = str(reply["why"])
                if not wait or why != "session-lapsed":
                    raise Refused(409, why, f'The lease "{key}" was not granted.')
                # The heartbeats are rejoining, and the place in the queue stays valid.
                await asyncio.sleep(RETRY_PAUSE)
                continue
            await self._until_hinted(key)

    async def _until_hinted(self, key: str) -> None:
        """Waits until the key may be free. Hints only save time."""
        waiter = (key, asyncio.Event())
        self._waiters.append(waiter)
        if self._listening is None or self._listening.done():
            self._listening = asyncio.ensure_future(self._listen())
        try:
            await asyncio.wait_for(waiter[1].wait(), _LOOK_MS / 1000)
        except asyncio.TimeoutError:
            pass
        finally:
            self._waiters.remove(waiter)

    async def _listen(self) -> None:
        while self._waiters:
            hinted = await self._listen_once(_LOOK_MS)
            for key, woken in self._waiters:
                if key in hinted:
                    woken.set()

    async def _listen_once(self, wait_ms: int) -> Sequence[str]:
        """Returns the keys that may be free, and keeps the position after them."""
        query = {"waitMs": wait_ms, "after": self._position}
        timeout = wait_ms / 1000 + 10
        try:
            reply = await self._http.send("GET", "/v1/work/leases/hints", query=query, timeout=timeout)
        except HoldfastError as error:
            # Waiters look again in any case.
            await asyncio.sleep(pause_after(error) if isinstance(error, Unavailable) else RETRY_PAUSE)
            return []
        self._position = int(reply["next"])
        keys: Sequence[str] = reply["keys"]
        return keys

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._giving.add(task)
        task.add_done_callback(self._has_given)
        return task

    def _has_given(self, task: asyncio.Task[None]) -> None:
        self._giving.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.warning("A lease was not released; it ends with the session: %s", task.exception())

    async def _give_back(self, key: str, fence: int, term: Mapping[str, Any]) -> None:
        """Releases a term. Returns after 5 s at the latest, and continues."""
        releasing = self._in_background(self._end_term(key, fence, term))
        await asyncio.wait({releasing}, timeout=_GIVE_BACK_S)
        if releasing.done():
            releasing.result()

    async def _end_term(self, key: str, fence: int, term: Mapping[str, Any]) -> None:
        body = {"key": key, "fence": fence, "session": self.id, **term}
        while not self._opened().is_lost:
            try:
                reply = await self._send("POST", "/v1/work/leases/release", body)
            except Unavailable as error:
                await asyncio.sleep(pause_after(error))
                continue
            if reply["kind"] != "refused":
                return
            why = str(reply["why"])
            # After a rejoin, the session would keep the term that nobody has.
            if why not in ("lapsed", "expired"):
                raise LeaseLost(key, fence, why)
            await asyncio.sleep(RETRY_PAUSE)

    async def _give_up(self, key: str, attempt: _Attempt) -> None:
        """Leaves the queue, and releases what the attempt got or gets later."""
        if attempt.sending is not None:
            await asyncio.wait({attempt.sending})
            if isinstance(attempt.sending.exception(), OutcomeUnknown):
                attempt.unanswered_at = time.monotonic()
        while not self._opened().is_lost:
            looked_at = time.monotonic()
            try:
                body = {"key": key, "attempt": attempt.id}
                await self._send("POST", "/v1/work/leases/withdraw", body)
                query = {"key": key}
                found = await self._http.send("GET", "/v1/work/leases/inspect", query=query)
            except Unavailable as error:
                await asyncio.sleep(pause_after(error))
                continue
            record = found.get("record")
            if record and record["attempt"] == attempt.id and record.get("end") is None:
                fence = int(record["fence"])
                for lease in [each for each in self._held if each.fence == fence]:
                    self._forget(lease)
                await self._end_term(key, fence, {"exit": "abandoned", "cause": _GIVEN_UP})
                return
            since = attempt.unanswered_at
            if since is None or looked_at - since >= _WATCHED_S:
                return
            await asyncio.sleep(self._ttl / 3)

    async def _send(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        return await self._http.send(method, path, body)

    async def _carried(self) -> Sequence[Mapping[str, Any]]:
        path = path_of("/v1/work/sessions/{}/leases", self.id)
        items: list[Mapping[str, Any]] = []
        while True:
            after = items[-1]["key"] if items else None
            reply = await self._http.send("GET", path, query={"after": after})
            items.extend(reply["items"])
            if not reply.get("more"):
                return items

    def _opened(self) -> Session:
        if self._session is None:
            raise RuntimeError("The session is not open: use `async with LeaseSession(…)`.")
        return self._session

    def _forget(self, lease: Lease) -> None:
        lease.lost.set()
        if lease in self._held:
            self._held.remove(lease)

    def _noticed(self) -> Optional[Look]:
        """The session is over, or something happened to its leases."""
        if not self._opened().is_lost:
            return self._look()
        for lease in list(self._held):
            self._forget(lease)
        return None

    async def _look(self) -> bool:
        """Finds drained and lost leases, before the session gets more time."""
        held, sent = list(self._held), moment()
        try:
            carried = {int(each["fence"]): each for each in await self._carried()}
        except HoldfastError as error:
            log.warning("The leases of the session could not be read: %s", error)
            return False
        for lease in held:
            item = carried.get(lease.fence)
            if item is None:
                self._forget(lease)
            elif item.get("drain") is not None:
                deadline = item.get("deadlineInMs")
                if deadline is not None:
                    lease._deadline = Authority(sent, deadline)
                lease.drain.set()
        return True
