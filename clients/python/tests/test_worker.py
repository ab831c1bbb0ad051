import asyncio
import json
import unittest

from holdfast import Worker, pipeline
from holdfast.errors import OutcomeUnknown
from holdfast.protocol import Work

CLAIM = {
    "fence": 7,
    "previous": "none",
    "claimedAt": 1000,
    "execution": {
        "id": "01900000-0000-7000-8000-000000000001",
        "pipeline": "order",
        "input": json.dumps({"v": 1}),
        "seq": 2,
        "inboxCount": 0,
        "lineage": "01900000-0000-7000-8000-000000000001",
    },
}


class Session:
    id = "s1"

    async def authority(self):
        pass

    def require(self):
        pass


class Coordinator:
    """Loses the reply to the second claim. The run ends while the list of claims is on its way."""

    def __init__(self):
        self.worker = None
        self.claims = 0
        self.listed = asyncio.Event()

    async def send(self, method, path, body=None, query=None):
        if path == "/v1/work/claims":
            self.claims += 1
            if self.claims == 2:
                raise OutcomeUnknown("lost")
            return {"kind": "claimed", "claims": [CLAIM], "more": False}
        if path == "/v1/work/writes":
            await self.listed.wait()
            return {"results": [{"kind": "finished", "at": 2000}]}
        self.listed.set()
        for _, task in list(self.worker._runs.values()):
            await task
        while self.worker._runs:
            await asyncio.sleep(0)
        return {"items": [CLAIM]}


class LostReplies(unittest.IsolatedAsyncioTestCase):
    async def test_a_run_that_ends_during_the_list_of_claims_is_not_started_again(self):
        ran = []

        @pipeline("order")
        async def order(ctx, given):
            ran.append(given)

        worker = Worker([order])
        coordinator = Coordinator()
        coordinator.worker = worker
        worker._http = coordinator
        worker._work = Work(coordinator)
        await worker._claim(Session())
        await worker._claim(Session())
        await asyncio.gather(*(task for _, task in worker._runs.values()))
        self.assertEqual(ran, [1])


if __name__ == "__main__":
    unittest.main()
