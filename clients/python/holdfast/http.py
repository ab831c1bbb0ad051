"""HTTP with the standard library: JSON requests on threads, for callers in asyncio and in threads."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Mapping, Optional, Union
from urllib.parse import quote, urlencode, urlsplit

from .errors import AccessDenied, OutcomeUnknown, Refused, Unavailable

REPLY_TIMEOUT = 15.0
_THREADS = 16
#: A coordinator may close a connection that is idle for longer.
_KEPT = 3.0


class Http:
    """Sends requests to one coordinator, from any thread.

    What is not given comes from HOLDFAST_URL, HOLDFAST_KEY and HOLDFAST_PROJECT.
    """

    def __init__(self, url: Optional[str], key: Optional[str], project: Optional[str]) -> None:
        url = url or os.environ.get("HOLDFAST_URL") or "http://127.0.0.1:7433"
        key = key or os.environ.get("HOLDFAST_KEY")
        project = project or os.environ.get("HOLDFAST_PROJECT")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be such as http://127.0.0.1:7433; got {url!r}.")
        self.url = url.rstrip("/")
        self._parts = parts
        self._headers: dict[str, str] = {}
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        if project:
            self._headers["holdfast-project"] = project
        self._lock = threading.Lock()
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []
        self._busy: set[http.client.HTTPConnection] = set()
        self._is_closed = False
        self._pool = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="holdfast-http")

    async def send(
        self,
        method: str,
        path: str,
        body: Union[Mapping[str, Any], bytes, None] = None,
        *,
        query: Optional[Mapping[str, Any]] = None,
        timeout: float = REPLY_TIMEOUT,
    ) -> Any:
        """As `send_now`, on a thread of the pool."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._pool, lambda: self.send_now(method, path, body, query=query, timeout=timeout)
        )

    def send_now(
        self,
        method: str,
        path: str,
        body: Union[Mapping[str, Any], bytes, None] = None,
        *,
        query: Optional[Mapping[str, Any]] = None,
        timeout: float = REPLY_TIMEOUT,
    ) -> Any:
        """Sends one request. Returns JSON or bytes, or None for an empty reply.

        Raises `Refused` (`AccessDenied` for 401 and 403), `Unavailable` if nothing was done, and
        `OutcomeUnknown` if the request may have had its effect.
        """
        headers = dict(self._headers)
        content: Optional[bytes] = None
        if isinstance(body, bytes):
            content, headers["content-type"] = body, "application/octet-stream"
        elif body is not None:
            content = json.dumps(body, allow_nan=False).encode()
            headers["content-type"] = "application/json"
        address = self._parts.path.rstrip("/") + path + _query_text(query)
        status, reply, data = self._exchange(method, address, content, headers, timeout)
        if status < 300:
            if not data:
                return None
            is_json = "json" in (reply.getheader("content-type") or "")
            return json.loads(data) if is_json else data
        raise _problem(status, reply, data, f"{method} {path}")

    def close(self) -> None:
        """Ends requests under way, such as a wait for a wakeup."""
        self._pool.shutdown(wait=False)
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            for busy in self._busy:
                if busy.sock is not None:
                    _end(busy.sock)
        for connection, _ in idle:
            connection.close()

    def _exchange(
        self,
        method: str,
        address: str,
        content: Optional[bytes],
        headers: Mapping[str, str],
        timeout: float,
    ) -> tuple[int, http.client.HTTPResponse, bytes]:
        is_sent = is_cut = False
        connection, is_kept = self._take(timeout)
        try:
            if connection.sock is None:
                connection.connect()
            is_sent = True
            try:
                connection.request(method, address, content, dict(headers))
            except (BrokenPipeError, ConnectionResetError):
                # It may have refused a large body before it read all of it. The reply has the reason.
                is_cut = True
            reply = connection.getresponse()
            data = reply.read()
        except (OSError, http.client.HTTPException) as error:
            self._drop(connection)
            if is_kept and method == "GET":
                # The coordinator may have closed the kept connection before it read the request.
                return self._exchange(method, address, content, headers, timeout)
            message = f"The coordinator at {self.url} did not respond to {method} {address}: {error!r}."
            if is_sent and method != "GET":
                raise OutcomeUnknown(f"{message} The request may have had its effect.") from error
            raise Unavailable(f"{message} Nothing was done.") from error
        if is_cut:
            self._drop(connection)
        else:
            self._give_back(connection)
        return reply.status, reply, data

    def _take(self, timeout: float) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether an earlier request used it."""
        with self._lock:
            if self._is_closed:
                raise Unavailable("The connection to the coordinator was closed. Nothing was done.")
            while self._idle:
                connection, used_at = self._idle.pop()
                if connection.sock is not None and time.monotonic() - used_at < _KEPT:
                    connection.sock.settimeout(timeout)
                    self._busy.add(connection)
                    return connection, True
                connection.close()
            host, port = self._parts.hostname or "", self._parts.port
            made: http.client.HTTPConnection
            if self._parts.scheme == "https":
                context = ssl.create_default_context()
                made = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
            else:
                made = http.client.HTTPConnection(host, port, timeout=timeout)
            self._busy.add(made)
            return made, False

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._busy.discard(connection)
            self._idle.append((connection, time.monotonic()))

    def _drop(self, connection: http.client.HTTPConnection) -> None:
        connection.close()
        with self._lock:
            self._busy.discard(connection)


def _end(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # It has ended already.


def path_of(template: str, *names: str) -> str:
    """Fills `{}` in a path with encoded names."""
    return template.format(*(quote(name, safe="") for name in names))


def _query_text(query: Optional[Mapping[str, Any]]) -> str:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return f"?{urlencode(given, doseq=True)}" if given else ""


def _problem(
    status: int, reply: http.client.HTTPResponse, data: bytes, what: str
) -> Union[Refused, Unavailable]:
    try:
        problem = json.loads(data)
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        code, detail = f"http-{status}", reply.reason
    text = f"{what}: {detail}"
    if status in (429, 503):
        seconds = reply.getheader("retry-after") or ""
        after = float(seconds) if seconds.replace(".", "", 1).isdigit() else None
        return Unavailable(text, after)
    if status >= 500:
        return OutcomeUnknown(text)
    if status in (401, 403):
        return AccessDenied(status, code, text)
    return Refused(status, code, text)
