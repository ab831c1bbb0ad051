"""The worker: claims executions of its pipelines and runs them until it is asked to stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
import time
from typing import Any, Iterable, Mapping, Optional

from .errors import ClaimLost, HoldfastError, OutcomeUnknown, Refused, Unavailable
from .http import Http
from .pipeline import Pipeline
from .protocol import Work, claim_body
from .run import Run
from .session import RETRY_PAUSE, Session, pause_after

log = logging.getLogger("holdfast")

VERSION = 2
_WAKEUP_MS = 25_000


class Worker:
    """Runs pipelines for a coordinator. Times are in seconds.

    `url`, `key` and `project` default to HOLDFAST_URL, HOLDFAST_KEY and HOLDFAST_PROJECT.
    `concurrency` is how many executions run at once. `ttl` is how long the coordinator waits for a
    dead worker. `grace` is how long a stop waits for running steps.

        asyncio.run(Worker([order]).run())
    """

    def __init__(
        self,
        pipelines: Iterable[Pipeline],
        *,
        url: Optional[str] = None,
        key: Optional[str] = None,
        project: Optional[str] = None,
        concurrency: int = 16,
        ttl: float = 15.0,
        grace: float = 10.0,
        owner: Optional[str] = None,
    ) -> None:
        self._pipelines: Mapping[str, Pipeline] = {each.name: each for each in pipelines}
        if not self._pipelines:
            raise ValueError("A worker needs at least one pipeline.")
        self._http = Http(url, key, project)
        self._work = Work(self._http)
        self._concurrency = concurrency
        self._ttl = ttl
        self._grace = grace
        self._owner = owner or f"python/{socket.gethostname()}/{os.getpid()}"
        self._runs: dict[int, tuple[Run, asyncio.Task[None]]] = {}
        self._stopping = False
        self._announced_at = 0.0
        #: Milliseconds until the next execution is due, as the last claim returned it.
        self._next_in: Optional[float] = None
        self._wakeup = asyncio.Event()

    async def run(self) -> None:
        """Works until SIGTERM, SIGINT or `stop`. Raises `AccessDenied` if the key is wrong."""
        loop = asyncio.get_running_loop()
        signals = [signal.SIGTERM, signal.SIGINT]
        for each in signals:
            try:
                loop.add_signal_handler(each, self.stop)
            except (NotImplementedError, RuntimeError, ValueError):
                signals = []  # Not in the main thread, or not on this system.
                break
        try:
            await self._greet()
            threading.Thread(target=self._listen, args=(loop,), daemon=True).start()
            while not self._stopping:
                await self._work_in_session()
        finally:
            for each in signals:
                loop.remove_signal_handler(each)
            self._http.close()

    def stop(self) -> None:
        """Asks the worker to stop in order. `run` returns when it has."""
        self._stopping = True
        self._wakeup.set()

    async def _greet(self) -> None:
        is_reported = False
        while not self._stopping:
            try:
                reply = await self._http.send("GET", "/v1/work", query={"version": VERSION})
            except Unavailable as error:
                if not is_reported:
                    log.warning("%s Trying again. Set HOLDFAST_URL to its address.", error)
                is_reported = True
                await asyncio.sleep(pause_after(error))
                continue
            if reply.get("version", VERSION) != VERSION:
                raise Refused(200, "version-unknown", "The coordinator speaks another version.")
            self._work.accepts_heartbeats = reply.get("heartbeats") is True
            self._work.accepts_attributes = reply.get("attributes") is True
            return

    async def _work_in_session(self) -> None:
        """Works until the session is over or the worker stops."""
        session = Session(self._http, self._owner, self._ttl, self._notice)
        try:
            await session.open(list(self._pipelines), lambda: self._stopping)
            await self._announce(session, "ready")
            while not self._stopping:
                await self._announce_in_time(session)
                if not await self._claim(session):
                    await self._pause(session)
            await self._drain(session)
        except ClaimLost as error:
            log.warning("%s", error)
        finally:
            session.stop()
            session.lose()
            for _, task in list(self._runs.values()):
                await task
            self._runs.clear()

    async def _claim(self, session: Session) -> bool:
        """Claims if there is room. Returns True if there may be more to claim at once."""
        self._next_in = None
        room = self._concurrency - len(self._runs)
        if room <= 0:
            return False
        await session.authority()
        body = claim_body(session, list(self._pipelines), room)
        try:
            reply = await self._http.send("POST", "/v1/work/claims", body)
        except OutcomeUnknown:
            await asyncio.sleep(RETRY_PAUSE)
            # The list may still have the claim of a run that ends while it is read.
            known = set(self._runs)
            for claim in await self._work.carried(session):
                if int(claim["fence"]) not in known:
                    self._take(session, claim)
            return True
        except Unavailable as error:
            await asyncio.sleep(pause_after(error))
            return True
        if reply["kind"] != "claimed":
            raise ClaimLost(f"A claim was refused as {reply.get('why')}.")
        for claim in reply["claims"]:
            self._take(session, claim)
        self._next_in = reply.get("nextReadyInMs")
        return bool(reply.get("more"))

    def _take(self, session: Session, claim: Mapping[str, Any]) -> None:
        fence = int(claim["fence"])
        pipeline = self._pipelines.get(claim["execution"]["pipeline"])
        if fence in self._runs or pipeline is None:
            return
        run = Run(self._work, session, pipeline, claim)
        task = asyncio.ensure_future(run.drive())
        self._runs[fence] = (run, task)

        def ended(_: asyncio.Task[None]) -> None:
            self._runs.pop(fence, None)
            self._wakeup.set()

        task.add_done_callback(ended)

    async def _pause(self, session: Session) -> None:
        """Waits for a wakeup, a free place, the next due time or the next announcement."""
        seconds = self._ttl / 3
        if self._next_in is not None:
            seconds = min(seconds, self._next_in / 1000)
        try:
            await asyncio.wait_for(self._wakeup.wait(), max(0.05, seconds))
        except asyncio.TimeoutError:
            pass
        self._wakeup.clear()
        session.require()

    async def _announce_in_time(self, session: Session) -> None:
        if time.monotonic() - self._announced_at >= self._ttl / 3:
            await self._announce(session, "ready")

    async def _announce(self, session: Session, state: str) -> None:
        self._announced_at = time.monotonic()
        body = {
            "session": session.id,
            "pipelines": list(self._pipelines),
            "state": state,
            "everyMs": int(self._ttl * 1000 / 3),
            "room": max(0, self._concurrency - len(self._runs)),
        }
        try:
            await self._http.send("POST", "/v1/work/announcements", body)
        except HoldfastError as error:
            log.warning("The worker could not announce itself: %s", error)

    async def _drain(self, session: Session) -> None:
        await self._announce(session, "draining")
        tasks = [task for _, task in self._runs.values()]
        for run, _ in self._runs.values():
            run.stop()
        if tasks:
            await asyncio.wait(tasks, timeout=self._grace)
        for run, _ in list(self._runs.values()):
            run.stop(abandon=True)
        if tasks:
            await asyncio.wait(tasks, timeout=self._ttl)
        await session.end()

    def _notice(self) -> None:
        """The session has a notice for some execution, or is over."""
        for run, _ in self._runs.values():
            run.check_inbox()
        self._wakeup.set()

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Waits for wakeups on a thread of its own, because a request stays open for them."""
        while not self._stopping:
            try:
                query = {"waitMs": _WAKEUP_MS}
                timeout = _WAKEUP_MS / 1000 + 10
                reply = self._http.send_now("GET", "/v1/work/wakeup", query=query, timeout=timeout)
                if reply.get("notified"):
                    loop.call_soon_threadsafe(self._wakeup.set)
            except HoldfastError:
                time.sleep(1.0)
            except RuntimeError:
                return  # The loop has ended.
