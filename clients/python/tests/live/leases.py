"""Holds leases at the coordinator at HOLDFAST_URL. The project's tests run it."""

import asyncio
import unittest

from holdfast import LeaseLost, LeaseSession, Refused

TTL = 30


class Leases(unittest.IsolatedAsyncioTestCase):
    async def test_a_second_session_waits_and_gets_the_checkpoint_under_a_higher_fence(self):
        async with LeaseSession("ann", ttl=TTL) as ann, LeaseSession("bob", ttl=TTL) as bob:
            held = await ann.acquire("reports/nightly")
            self.assertIsNone(held.checkpoint)
            self.assertGreater(held.remaining(), 1)
            with self.assertRaises(Refused) as refused:
                await bob.acquire("reports/nightly")
            self.assertEqual(refused.exception.code, "held")
            await held.save(b"page 4")
            await held.begin_intent("mail", note="to ada")
            await held.begin_intent("print")
            await held.settle_intent("print")
            waiting = asyncio.ensure_future(bob.acquire("reports/nightly", wait=True))
            while [each["owner"] async for each in bob.leases("reports/")] != ["ann"]:
                await asyncio.sleep(0.01)
            await held.release("yielded")
            got = await waiting
            self.assertEqual(got.checkpoint, b"page 4")
            self.assertEqual(got.predecessor["exit"], "yielded")
            self.assertEqual([each["effect"] for each in got.intents], ["mail"])
            self.assertGreater(got.fence, held.fence)
            self.assertTrue(await ann.verify("reports/nightly", got.fence))
            self.assertFalse(await ann.verify("reports/nightly", held.fence))
            await got.save(b"page 5")
            with self.assertRaises(LeaseLost):
                held.require()

    async def test_a_block_releases_as_finished_or_failed_and_a_timeout_leaves_the_queue(self):
        async with LeaseSession("ann", ttl=TTL) as ann, LeaseSession("bob", ttl=TTL) as bob:
            with self.assertRaises(ValueError):
                async with ann.hold("imports/7") as lease:
                    lease.require(margin=1)
                    raise ValueError("no file")
            async with ann.hold("imports/7") as lease:
                self.assertEqual(lease.predecessor["exit"], "failed")
                self.assertIn("no file", lease.predecessor["cause"])
                with self.assertRaises(asyncio.TimeoutError):
                    await bob.acquire("imports/7", wait=True, timeout=0.2)
            async with bob.hold("imports/7") as lease:
                self.assertEqual(lease.predecessor["exit"], "finished")

    async def test_the_end_of_its_session_takes_the_leases_and_their_writes(self):
        async with LeaseSession("ann", ttl=TTL) as ann:
            lost = await ann.acquire("orders/1")
        self.assertEqual(lost.remaining(), 0)
        with self.assertRaises(LeaseLost):
            await lost.save(b"late")

    async def test_a_drained_or_revoked_holder_learns_of_it_with_a_heartbeat(self):
        async with LeaseSession("ann", ttl=6) as ann, LeaseSession("bob", ttl=TTL) as bob:
            lease = await ann.acquire("orders/2")
            asked = {"key": "orders/2", "fence": lease.fence, "actor": "olga", "reason": "a test"}
            request = "01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c3"
            drain = {**asked, "request": request, "deadlineMs": 60_000}
            await bob._send("POST", "/v1/work/leases/drain", drain)
            await lease.drain.wait()
            revoke = {**asked, "request": "01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c4"}
            await bob._send("POST", "/v1/work/leases/revoke", revoke)
            await lease.lost.wait()
            with self.assertRaises(LeaseLost):
                lease.require()
            got = await bob.acquire("orders/2", wait=True)
            self.assertEqual(got.predecessor["exit"], "revoked")

    async def test_a_session_with_more_leases_than_one_reply_has_keeps_all_of_them(self):
        async with LeaseSession("ann", ttl=TTL) as ann:
            held = await asyncio.gather(*(ann.acquire(f"many/{nth}") for nth in range(501)))
            carried = await ann._carried()
            self.assertEqual({each["fence"] for each in carried}, {each.fence for each in held})


if __name__ == "__main__":
    unittest.main()
