import asyncio
import unittest
from unittest import mock

from holdfast import LeaseLost, LeaseSession
from holdfast.errors import Unavailable
from holdfast.session import Authority, moment

TTL = 30.0


class Clocks:
    """The two clocks of a machine. A suspend moves only the second one."""

    def __init__(self):
        self.ran, self.wall = 100.0, 1_000_000.0

    def monotonic(self):
        return self.ran

    def time(self):
        return self.wall

    def advance(self, seconds):
        self.ran += seconds
        self.wall += seconds


class Coordinator:
    """Grants every key, except those that are taken."""

    def __init__(self, clocks):
        self.clocks = clocks
        self.fence = 0
        self.carried = {}
        self.taken = set()
        self.hinted = asyncio.Event()
        #: What the next requests get, by the end of their path, before the usual replies.
        self.next = {}
        self.released = []
        self.asking = self.most_asking = 0

    async def send(self, method, path, body=None, *, query=None, timeout=0.0):
        if path.endswith("/sessions"):
            return {"kind": "opened", "authorityMs": TTL * 1000}
        early = self.next.get(path.rsplit("/", 1)[1])
        if early:
            reply = early.pop(0)
            if isinstance(reply, Exception):
                raise reply
            return await reply() if callable(reply) else reply
        if path.endswith("/acquire"):
            return self.acquire(body["key"], body["attempt"])
        if path.endswith("/inspect"):
            return {"record": self.carried.get(query["key"])}
        if path.endswith("/release"):
            self.released.append((body["key"], body["fence"], body["exit"]))
            self.carried.pop(body["key"], None)
        if path.endswith("/hints"):
            return await self.hint(query["waitMs"])
        if path.endswith("/leases"):
            return await self.list_carried()
        return {"kind": "released", "wasQueued": True}

    def acquire(self, key, attempt):
        if key in self.taken:
            return {"kind": "queued", "refusal": {"why": "held"}}
        self.fence += 1
        self.carried[key] = {"key": key, "fence": self.fence, "attempt": attempt}
        granted = {"kind": "granted", "key": key, "fence": self.fence}
        return {**granted, "predecessor": {"exit": "none"}, "intents": []}

    async def hint(self, wait_ms):
        self.asking += 1
        self.most_asking = max(self.most_asking, self.asking)
        if wait_ms > 0:
            await self.hinted.wait()
        await asyncio.sleep(0)
        self.asking -= 1
        return {"keys": ["a", "b", "c"], "next": 1}

    async def list_carried(self):
        self.clocks.advance(5)
        return {"items": list(self.carried.values())}

    def close(self):
        pass


class Leases(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.clocks = Clocks()
        patched = mock.patch("holdfast.session.time", self.clocks)
        patched.start()
        self.addCleanup(patched.stop)
        self.session = LeaseSession("ann", ttl=TTL)
        self.session._http = self.coordinator = Coordinator(self.clocks)
        await self.session.__aenter__()
        self.addAsyncCleanup(self.session.close)

    async def notice(self, notices):
        """A heartbeat left now, and its reply has notices."""
        session = self.session._session
        session._renew(Authority(moment(), TTL * 1000), notices)
        while session._looks:
            await asyncio.sleep(0)

    async def test_authority_ends_during_a_suspend(self):
        lease = await self.session.acquire("a")
        lease.require(margin=TTL - 1)
        self.clocks.wall += TTL
        with self.assertRaises(LeaseLost):
            lease.require()

    async def test_a_drain_gives_no_more_time_than_its_deadline(self):
        lease = await self.session.acquire("a")
        self.coordinator.carried["a"].update(drain={"actor": "olga"}, deadlineInMs=6000)
        await self.notice(1)
        self.assertTrue(lease.drain.is_set())
        # The reply took five of the six seconds.
        self.assertLess(lease.remaining(), 1)

    async def test_a_notice_extends_nothing_until_the_leases_were_read(self):
        lease = await self.session.acquire("a")
        self.clocks.advance(20)
        with mock.patch.object(self.coordinator, "list_carried", side_effect=Unavailable("away")):
            await self.notice(1)
        self.assertLess(lease.remaining(), 10)
        del self.coordinator.carried["a"]
        await self.notice(1)
        self.assertTrue(lease.lost.is_set())

    async def test_a_second_term_of_a_session_ends_the_first(self):
        first = await self.session.acquire("a")
        second = await self.session.acquire("a")
        with self.assertRaises(LeaseLost):
            first.require()
        second.require()

    async def test_one_request_waits_for_the_hints_of_all_keys(self):
        keys = ["a", "b", "c"]
        self.coordinator.taken.update(keys)
        waiting = [asyncio.ensure_future(self.session.acquire(key, wait=True)) for key in keys]
        while len(self.session._waiters) < len(keys):
            await asyncio.sleep(0)
        while self.coordinator.asking == 0:
            await asyncio.sleep(0)
        self.assertEqual(self.coordinator.asking, 1)
        self.coordinator.taken.clear()
        self.coordinator.hinted.set()
        self.assertEqual({lease.key for lease in await asyncio.gather(*waiting)}, set(keys))

    async def test_a_release_in_a_lapse_is_repeated_until_the_session_is_back(self):
        lapsed = {"kind": "refused", "why": "lapsed"}
        self.coordinator.next["release"] = [Unavailable("away"), lapsed]
        lease = await self.session.acquire("a")
        self.clocks.advance(TTL)
        with mock.patch("holdfast.lease.RETRY_PAUSE", 0), mock.patch("holdfast.session.RETRY_PAUSE", 0):
            await lease.release()
        self.assertEqual(self.coordinator.released, [("a", lease.fence, "finished")])

    async def test_a_release_goes_on_if_its_caller_is_cancelled(self):
        away = asyncio.Event()

        async def hang():
            await away.wait()
            raise Unavailable("away")

        self.coordinator.next["release"] = [hang]
        lease = await self.session.acquire("a")
        with mock.patch("holdfast.session.RETRY_PAUSE", 0):
            releasing = asyncio.ensure_future(lease.release())
            await asyncio.sleep(0.01)
            releasing.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await releasing
            away.set()
            await asyncio.gather(*self.session._giving)
        self.assertEqual(self.coordinator.released, [("a", lease.fence, "finished")])

    async def test_a_grant_that_comes_after_its_caller_gave_up_is_released(self):
        reply = asyncio.Event()

        async def late():
            await reply.wait()
            return self.coordinator.acquire("a", attempts[0])

        attempts = []
        send = self.coordinator.send

        async def note(method, path, body=None, **options):
            if path.endswith("/acquire"):
                attempts.append(body["attempt"])
            return await send(method, path, body, **options)

        self.coordinator.next["acquire"] = [late]
        # A withdrawal without a reply is repeated.
        self.coordinator.next["withdraw"] = [Unavailable("away")]
        with mock.patch.object(self.coordinator, "send", note):
            with mock.patch("holdfast.session.RETRY_PAUSE", 0):
                acquiring = asyncio.ensure_future(self.session.acquire("a", wait=True))
                while not attempts:
                    await asyncio.sleep(0)
                acquiring.cancel()
                await asyncio.sleep(0)
                reply.set()
                with self.assertRaises(asyncio.CancelledError):
                    await acquiring
        self.assertEqual(self.coordinator.released, [("a", 1, "abandoned")])

    async def test_a_waiter_waits_through_a_lapse(self):
        self.coordinator.next["acquire"] = [{"kind": "refused", "why": "session-lapsed"}]
        with mock.patch("holdfast.lease.RETRY_PAUSE", 0):
            lease = await self.session.acquire("a", wait=True)
        lease.require()


if __name__ == "__main__":
    unittest.main()
