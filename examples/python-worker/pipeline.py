"""A pipeline in another language. Its steps are recorded and retried, and not repeated after a crash.

The worker records each step before the next one begins. A worker that takes over replays the history: it runs the
code from the start, and recorded steps return their recorded results.

    HOLDFAST_URL=http://127.0.0.1:7433 HOLDFAST_KEY=hf_… python3 pipeline.py
"""

import json
import os
import time

from worker import Worker, main, send

ATTEMPTS = 3
RETRY_MS = 200


def fulfil(run, order):
    """The pipeline. Put effects into steps: code outside of them runs again in each replay."""
    reserved = run.step("reserve", lambda key: {"item": order["item"], "reservation": key})
    receipt = run.step("charge", lambda key: charge(order, key))
    return {"reservation": reserved["reservation"], "receipt": receipt}


def charge(order, key):
    """Fails once if the order names a marker file, to show a retry."""
    marker = order.get("failOnce")
    if marker and not os.path.exists(marker):
        open(marker, "w").close()
        raise ConnectionError("The vendor did not respond.")
    print(json.dumps({"charged": key}), flush=True)
    return f"paid {order['amount']}"


class StepFailed(Exception):
    def __init__(self, failure):
        super().__init__(failure["message"])
        self.failure = failure


class Drifted(Exception):
    """The code makes another call than the history has."""


class Lost(Exception):
    """Another worker has taken over the execution."""


class Run:
    """One execution under one claim."""

    def __init__(self, worker, claimed):
        self.worker, self.execution, self.fence = worker, claimed["execution"], claimed["fence"]
        self.seq = self.execution["seq"] + 1
        self.calls, self.failed, self.settled = {}, {}, []
        after, more = 0, True
        while more:
            path = f"/v1/work/executions/{self.execution['id']}/history?after={after}"
            page = send("GET", path)
            for event in page["items"]:
                self.note(event["kind"], json.loads(event.get("body") or "{}"))
                after = event["seq"]
            more = page.get("more", False) or len(page["items"]) >= 100

    def note(self, kind, body):
        key = body.get("key")
        if kind == "step-failed" and "retryInMs" in body:
            self.failed[key] = self.failed.get(key, 0) + 1
        elif kind in ("step-completed", "step-failed"):
            self.settled.append((key, body))

    def step(self, name, work):
        self.calls[name] = self.calls.get(name, 0) + 1
        key = f"step:{name}#{self.calls[name]}"
        if self.settled:
            recorded, body = self.settled.pop(0)
            if recorded != key:
                raise Drifted(f"History has {recorded}, but the code has {key} there.")
            if "failure" in body:
                raise StepFailed(body["failure"])
            return body["out"].get("v")
        # The same for each attempt, so that the called service can recognise a repeat.
        idempotency_key = f"{self.execution['lineage']}/0/{key}"
        while True:
            attempt = self.failed.get(key, 0) + 1
            try:
                value = work(idempotency_key)
            except Exception as error:
                failure = {"category": "retryable", "code": type(error).__name__, "message": str(error)}
                body = {"key": key, "failure": failure, "attempt": attempt}
                if attempt >= ATTEMPTS:
                    self.record("step-failed", name, body)
                    raise StepFailed(failure) from error
                self.record("step-failed", name, {**body, "retryInMs": RETRY_MS})
                self.failed[key] = attempt
                time.sleep(RETRY_MS / 1000)
                continue
            self.record("step-completed", name, {"key": key, "out": {"v": value}, "attempt": attempt})
            return value

    def record(self, kind, name, body):
        self.write("record", [{"kind": kind, "name": name, "body": json.dumps(body)}])

    def write(self, verb, events, **more):
        about = {"id": self.execution["id"], "fence": self.fence, "session": self.worker.session}
        result = self.worker.write({"verb": verb, **about, "seq": self.seq, "events": events, **more})
        if result is None or result["kind"] in ("refused", "fault"):
            raise Lost(result)
        self.seq += len(events)


class PipelineWorker(Worker):
    pipeline = "fulfil"

    def take(self, claimed):
        run = None
        try:
            run = Run(self, claimed)
            value = json.loads(claimed["execution"]["input"]).get("v")
            end, status = {"out": {"v": fulfil(run, value)}}, "completed"
        except StepFailed as error:
            end, status = {"failure": error.failure}, "failed"
        except Drifted as error:
            why = json.dumps({"why": str(error)})
            run.write("giveBack", [{"kind": "blocked", "body": why}], blocked=True)
            return
        except Lost:
            return
        self.finish(run.execution, run.fence, status, end, run.seq)


if __name__ == "__main__":
    main(PipelineWorker())
