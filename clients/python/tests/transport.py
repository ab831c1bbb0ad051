"""Sends messages for the transport contract of the project's tests, with the HTTP of this package.

Requests come on stdin and replies go to stdout, one JSON object per line.
"""

import base64
import json
import sys
import threading

from holdfast.errors import OutcomeUnknown, Refused, Unavailable
from holdfast.http import Http

printing = threading.Lock()


def reply_to(http: Http, request: dict) -> dict:
    body = request.get("body")
    if "bytes" in request:
        body = base64.b64decode(request["bytes"])
    try:
        reply = http.send_now(
            request["method"],
            request["path"],
            body,
            query=request.get("query"),
            timeout=request["timeoutMs"] / 1000,
        )
    except Refused as error:
        return {"problem": {"status": error.status, "code": error.code, "detail": str(error)}}
    except OutcomeUnknown as error:
        return {"problem": {"status": 500, "code": error.code, "detail": str(error)}}
    except Unavailable as error:
        return {"problem": {"status": 503, "code": error.code, "detail": str(error)}}
    if isinstance(reply, bytes):
        return {"bytes": base64.b64encode(reply).decode()}
    return {} if reply is None else {"body": reply}


def answer(http: Http, request: dict) -> None:
    reply = {"id": request["id"], **reply_to(http, request)}
    with printing:
        print(json.dumps(reply), flush=True)


connections: dict[int, Http] = {}
for line in sys.stdin:
    request = json.loads(line)
    transport = request["transport"]
    if "close" in request:
        if transport in connections:
            connections.pop(transport).close()
        continue
    if transport not in connections:
        connections[transport] = Http(request["url"], request["key"], None)
    threading.Thread(target=answer, args=(connections[transport], request), daemon=True).start()
