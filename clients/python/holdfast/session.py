"""The session of a worker: one for the whole process, kept alive from a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from typing import Any, Callable, Coroutine, Optional, Sequence

from .errors import ClaimLost, HoldfastError, Refused, Unavailable
from .http import Http, path_of

log = logging.getLogger("holdfast")

#: Looks at what the session holds. Returns whether that worked.
Look = Coroutine[Any, Any, bool]

RETRY_PAUSE = 0.5
#: The clocks of this machine and of the store may differ in rate by 500 millionths each.
_DRIFT = 0.001


def pause_after(error: Unavailable) -> float:
    """How long to wait before the same message is sent again."""
    return max(RETRY_PAUSE, error.retry_after or 0.0)


#: Both clocks of the machine, at one moment.
Moment = tuple[float, float]


def moment() -> Moment:
    return time.monotonic(), time.time()


class Authority:
    """How long the holder may act. It counts from before the request left.

    The monotonic clock stands still while the machine is suspended, and the other clock may be set
    back. The one that ran further counts, so an error can only end the authority too early.
    """

    def __init__(self, sent: Moment, granted_ms: float) -> None:
        self._sent = sent
        self._granted = granted_ms / 1000 * (1 - _DRIFT)

    def remaining(self) -> float:
        """In seconds. Negative once it is over."""
        return self._granted - max(now - then for now, then in zip(moment(), self._sent))


class Session:
    """Holds everything that the worker claims. `ttl` is in seconds.

    `on_notice` may return a look. Then the session gets no more time before it has succeeded.
    """

    def __init__(
        self, http: Http, owner: str, ttl: float, on_notice: Callable[[], Optional[Look]]
    ) -> None:
        self.id = str(uuid.uuid4())
        self.is_lost = False
        self._http = http
        self._owner = owner
        self._ttl = ttl
        self._on_notice = on_notice
        self._authority = Authority(moment(), 0)
        #: How many notices it has dealt with.
        self.notices = 0
        self._looks: set[asyncio.Task[None]] = set()
        self._stopped = threading.Event()
        self._renewed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._beat, name="holdfast-heartbeat", daemon=True)

    async def open(
        self, pipelines: Optional[Sequence[str]], is_stopping: Callable[[], bool]
    ) -> None:
        """Repeats the message until the coordinator responds. Raises `ClaimLost` after a stop.

        `pipelines` is None for a session that only holds leases.
        """
        ttl_ms = int(self._ttl * 1000)
        body = {
            "id": self.id,
            "owner": self._owner,
            "ttlMs": ttl_ms,
            "graceMs": ttl_ms // 3,
            **({} if pipelines is None else {"pipelines": list(pipelines)}),
        }
        while True:
            sent = moment()
            try:
                reply = await self._http.send("POST", "/v1/work/sessions", body)
                break
            except Unavailable as error:
                await asyncio.sleep(pause_after(error))
                if is_stopping():
                    raise ClaimLost("The worker stopped before it had a session.") from error
        if reply["kind"] != "opened":
            raise Refused(200, str(reply.get("why")), "The coordinator opened no session.")
        self._authority = Authority(sent, reply["authorityMs"])
        self._thread.start()

    async def authority(self) -> None:
        """Waits until the worker may act. Raises `ClaimLost` if the session is over."""
        while not self.is_lost and self._authority.remaining() <= 0:
            self._renewed.clear()
            await self._renewed.wait()
        self.require()

    def require(self) -> None:
        if self.is_lost:
            raise ClaimLost("The session of this worker is over. Another worker continues its work.")

    def remaining(self) -> float:
        """Returns for how many seconds the process may act; 0 if it may not."""
        return 0.0 if self.is_lost else max(0.0, self._authority.remaining())

    async def end(self) -> None:
        self.stop()
        path = path_of("/v1/work/sessions/{}/end", self.id)
        try:
            await self._http.send("POST", path, {"owner": self._owner, "exit": "finished"})
        except HoldfastError as error:
            log.warning("The session could not be ended; it expires after its ttl: %s", error)

    def stop(self) -> None:
        """Sends no more heartbeats."""
        self._stopped.set()

    def _beat(self) -> None:
        path = path_of("/v1/work/sessions/{}/heartbeat", self.id)
        pause = self._ttl / 3
        while not self._stopped.wait(pause):
            sent = moment()
            try:
                reply = self._http.send_now(
                    "POST", path, {"owner": self._owner}, timeout=self._ttl * 0.3
                )
            except Unavailable as error:
                log.warning("A heartbeat failed: %s", error)
                # A long pause of the coordinator must not cost the session.
                pause = min(pause_after(error), self._ttl / 3)
                continue
            except Refused as error:
                log.warning("The session is over: %s", error)
                reply = {"kind": "refused"}
            if reply["kind"] != "alive":
                self._call(self.lose)
                return
            pause = self._ttl / 3
            notices = int(reply.get("notices", 0))
            self._call(self._renew, Authority(sent, reply["authorityMs"]), notices)

    def _call(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            pass  # The loop has ended, and with it the worker.

    def _renew(self, authority: Authority, notices: int) -> None:
        look = self._on_notice() if notices > self.notices else None
        if look is None:
            self._extend(authority, notices)
            return
        task = asyncio.ensure_future(self._extend_after(look, authority, notices))
        self._looks.add(task)
        task.add_done_callback(self._looks.discard)

    async def _extend_after(self, look: Look, authority: Authority, notices: int) -> None:
        if await look:
            self._extend(authority, notices)

    def _extend(self, authority: Authority, notices: int) -> None:
        self.notices = max(self.notices, notices)
        if authority.remaining() > self._authority.remaining():
            self._authority = authority
            self._renewed.set()

    def lose(self) -> None:
        """Ends all work of the session in this process."""
        self.is_lost = True
        self._renewed.set()
        self._on_notice()
