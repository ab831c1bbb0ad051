"""The session of a worker: one for the whole process, kept alive from a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from typing import Any, Callable, Sequence

from .errors import ClaimLost, HoldfastError, Refused, Unavailable
from .http import Http, path_of

log = logging.getLogger("holdfast")

RETRY_PAUSE = 0.5


def pause_after(error: Unavailable) -> float:
    """How long to wait before the same message is sent again."""
    return max(RETRY_PAUSE, error.retry_after or 0.0)


class Session:
    """Holds everything that the worker claims. `ttl` is in seconds."""

    def __init__(self, http: Http, owner: str, ttl: float, on_notice: Callable[[], None]) -> None:
        self.id = str(uuid.uuid4())
        self.is_lost = False
        self._http = http
        self._owner = owner
        self._ttl = ttl
        self._on_notice = on_notice
        self._authority_until = 0.0
        self._notices = 0
        self._stopped = threading.Event()
        self._renewed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._beat, name="holdfast-heartbeat", daemon=True)

    async def open(self, pipelines: Sequence[str], is_stopping: Callable[[], bool]) -> None:
        """Repeats the message until the coordinator responds. Raises `ClaimLost` after a stop."""
        ttl_ms = int(self._ttl * 1000)
        body = {
            "id": self.id,
            "owner": self._owner,
            "ttlMs": ttl_ms,
            "graceMs": ttl_ms // 3,
            "pipelines": list(pipelines),
        }
        while True:
            sent = time.monotonic()
            try:
                reply = await self._http.send("POST", "/v1/work/sessions", body)
                break
            except Unavailable as error:
                await asyncio.sleep(pause_after(error))
                if is_stopping():
                    raise ClaimLost("The worker stopped before it had a session.") from error
        if reply["kind"] != "opened":
            raise Refused(200, str(reply.get("why")), "The coordinator opened no session.")
        self._authority_until = sent + reply["authorityMs"] / 1000
        self._thread.start()

    async def authority(self) -> None:
        """Waits until the worker may act. Raises `ClaimLost` if the session is over."""
        while not self.is_lost and time.monotonic() >= self._authority_until:
            self._renewed.clear()
            await self._renewed.wait()
        self.require()

    def require(self) -> None:
        if self.is_lost:
            raise ClaimLost("The session of this worker is over. Another worker continues its work.")

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
            sent = time.monotonic()
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
            until = sent + reply["authorityMs"] / 1000
            notices = int(reply.get("notices", 0))
            self._call(self._renew, until, notices)

    def _call(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            pass  # The loop has ended, and with it the worker.

    def _renew(self, until: float, notices: int) -> None:
        self._authority_until = until
        self._renewed.set()
        if notices > self._notices:
            self._notices = notices
            self._on_notice()

    def lose(self) -> None:
        """Ends all work of the session in this process."""
        self.is_lost = True
        self._renewed.set()
        self._on_notice()
