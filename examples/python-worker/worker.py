"""A worker in another language, with the standard library only. It hosts the remote step "score" over REST.

A remote step is an execution with one step. The worker claims executions by name, runs them, and finishes them under
the fence of the claim. If another worker has taken over, the coordinator refuses the write.

    HOLDFAST_URL=http://127.0.0.1:7433 HOLDFAST_KEY=hf_… python3 worker.py
"""

import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("HOLDFAST_URL", "http://127.0.0.1:7433").rstrip("/")
KEY = os.environ.get("HOLDFAST_KEY")
STEP = "score"
TTL_MS = 15_000
RETRY_S = 0.5


def send(method, path, body=None, timeout=15):
    """Sends one message of the worker protocol. It is safe to send a message again if its response was lost."""
    headers = {"content-type": "application/json"} if body is not None else {}
    if KEY:
        headers["authorization"] = f"Bearer {KEY}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return json.load(response)


def score(value):
    """The step: counts the vowels of a text."""
    text = value["text"]
    if not isinstance(text, str):
        raise ValueError("text must be a string")
    return {"vowels": sum(letter in "aeiou" for letter in text.lower()), "of": len(text)}


class Worker:
    pipeline = STEP

    def __init__(self):
        self.session = str(uuid.uuid4())
        self.owner = f"python/{os.getpid()}"
        self.stopping = threading.Event()

    def open(self):
        opening = {"id": self.session, "owner": self.owner, "ttlMs": TTL_MS, "graceMs": TTL_MS // 3}
        result = self.reach("POST", "/v1/work/sessions", {**opening, "pipelines": [self.pipeline]})
        if result is None:
            return False
        if result["kind"] != "opened":
            raise RuntimeError(f"The coordinator opened no session: {result}")
        self.announce()
        return True

    def announce(self):
        """Announces the pipelines, so that operators see them and submits with ifNoWorker: refuse work."""
        about = {"session": self.session, "pipelines": [self.pipeline], "state": "ready"}
        send("POST", "/v1/work/announcements", {**about, "everyMs": TTL_MS // 3, "room": 4})

    def reach(self, method, path, body=None):
        """Repeats the message until the coordinator responds. Returns None if the worker must stop."""
        is_reported = False
        while not self.stopping.is_set():
            try:
                return send(method, path, body)
            except urllib.error.HTTPError:
                raise  # the coordinator refused it
            except OSError as error:
                if not is_reported:
                    why = getattr(error, "reason", error)
                    print(f"No coordinator responds at {URL} ({why}). Trying again. Set HOLDFAST_URL to its address.", file=sys.stderr, flush=True)
                is_reported = True
                self.stopping.wait(RETRY_S)
        return None

    def heartbeat_loop(self):
        """Renews the session, which holds all claims."""
        while not self.stopping.wait(TTL_MS / 3000):
            try:
                path = f"/v1/work/sessions/{self.session}/heartbeat"
                if send("POST", path, {"owner": self.owner})["kind"] != "alive":
                    self.stopping.set()
                self.announce()
            except OSError:
                continue  # the next heartbeat may succeed

    def claim(self):
        shares = [{"lane": lane, "limit": 4} for lane in ("interactive", "batch")]
        body = {"session": self.session, "pipelines": [self.pipeline], "shares": shares}
        return send("POST", "/v1/work/claims", body).get("claims", [])

    def take(self, claimed):
        execution, fence = claimed["execution"], claimed["fence"]
        try:
            value = json.loads(execution["input"]).get("v")
            end = {"out": {"v": score(value)}}
            status = "completed"
        except (KeyError, TypeError, ValueError) as error:
            failure = {"category": "permanent", "code": type(error).__name__, "message": str(error)}
            end, status = {"failure": failure}, "failed"
        self.finish(execution, fence, status, end, execution["seq"] + 1)

    def finish(self, execution, fence, status, end, seq):
        write = {
            "verb": "finish",
            "id": execution["id"],
            "fence": fence,
            "session": self.session,
            "seq": seq,
            "events": [{"kind": status, "body": json.dumps(end)}],
            "status": status,
            "outcome": json.dumps({"id": execution["id"], "status": status, **end}),
        }
        if status == "failed":
            failure = end["failure"]
            write["deadLetter"] = {
                "category": failure["category"],
                "code": failure["code"],
                "reason": failure["message"],
                "attempts": 1,
            }
        result = self.write(write)
        if result is not None:
            print(json.dumps({"id": execution["id"], "status": status, "result": result["kind"]}), flush=True)

    def write(self, write):
        """Repeats the write until the coordinator responds. Returns None if the worker must stop."""
        while not self.stopping.is_set():
            try:
                [result] = send("POST", "/v1/work/writes", {"writes": [write]})["results"]
                return result
            except urllib.error.HTTPError:
                raise  # the coordinator refused it
            except OSError:
                time.sleep(RETRY_S)  # the write may have succeeded; a repeat returns the same result
        return None

    def run(self):
        if not self.open():
            return
        threading.Thread(target=self.heartbeat_loop, daemon=True).start()
        print(json.dumps({"hosting": self.pipeline, "session": self.session}), flush=True)
        # Includes claims whose response was lost.
        mine = self.reach("GET", f"/v1/work/sessions/{self.session}/claims") or {"items": []}
        for claimed in mine["items"]:
            self.take(claimed)
        while not self.stopping.is_set():
            try:
                claims = self.claim()
                for claimed in claims:
                    self.take(claimed)
                if not claims:
                    send("GET", "/v1/work/wakeup?waitMs=1500", timeout=15)
            except OSError:
                self.stopping.wait(RETRY_S)
        send("POST", f"/v1/work/sessions/{self.session}/end", {"owner": self.owner, "exit": "finished"})


def main(worker):
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: worker.stopping.set())
    try:
        worker.run()
    except urllib.error.HTTPError as error:
        sys.exit(f"{error.code}: {error.read().decode()}")


if __name__ == "__main__":
    main(Worker())
