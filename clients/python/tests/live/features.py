"""Plays a client and a worker against the coordinator at HOLDFAST_URL. The project's tests run it."""

import asyncio
import threading
import unittest
from datetime import datetime, timedelta, timezone

from holdfast import (
    AttemptOver,
    ChildFailed,
    Client,
    Context,
    ExecutionFailed,
    Refused,
    StepError,
    UnreadableValue,
    Worker,
    pipeline,
    remote_step,
)

ATTEMPTS = []
SEEN = []
SHOWN = []
PREPARED = []


@remote_step("vowels")
def vowels(text):
    if not isinstance(text, str):
        raise StepError("text must be a string", category="permanent", code="not-text")
    return sum(letter in "aeiou" for letter in text)


@pipeline("calls-remote")
async def calls_remote(ctx: Context, given):
    return await ctx.call(vowels, given)


@pipeline("square")
async def square(ctx: Context, given):
    if given < 0:
        raise ValueError("negative")
    return given * given


@pipeline("fans-out")
async def fans_out(ctx: Context, given):
    try:
        return await ctx.run_children(square, given)
    except ChildFailed as error:
        return error.failure["message"]


@pipeline("listens")
async def listens(ctx: Context, given):
    return await ctx.receive("word")


@pipeline("hears-two")
async def hears_two(ctx: Context, given):
    return [await ctx.receive("word"), await ctx.receive("word")]


@pipeline("talks")
async def talks(ctx: Context, given):
    heard = await ctx.start_child(listens)
    left = await ctx.start_child(listens)
    sent = [await heard.signal("word", given), await left.cancel("not needed")]
    try:
        await left.result()
    except ChildFailed as error:
        sent.append(error.status)
    return [await heard.result(), *sent, await left.cancel()]


@pipeline("replies")
async def replies(ctx: Context, given):
    first = await ctx.receive_update("add")
    await ctx.publish("total", first.value)
    await first.reply({"total": first.value})
    second = await ctx.receive_update("add", timeout=30)
    await second.reject("enough")
    return first.value


@pipeline("waits")
async def waits(ctx: Context, given):
    await ctx.sleep_until(datetime.now(timezone.utc) + timedelta(seconds=0.1), "moment")
    try:
        return await ctx.receive("never", timeout=given)
    except TimeoutError:
        return "timed out"


@pipeline("races")
async def races(ctx: Context, _):
    sleeping, going = ctx.sleep(60, "long"), ctx.receive("go")
    done, _ = await asyncio.wait([sleeping, going], return_when=asyncio.FIRST_COMPLETED)
    return "signal" if going in done else "sleep"


@pipeline("asks")
async def asks(ctx: Context, given):
    answer = await ctx.ask("approval", {"amount": given})
    return [answer.status, answer.value]


@pipeline("asks-by-correlation")
async def asks_by_correlation(ctx: Context, given):
    try:
        answer = await ctx.ask("approval", correlation=given)
    except Refused as error:
        return error.code
    return answer.value


@pipeline("asks-in-turn")
async def asks_in_turn(ctx: Context, key):
    answer = await ctx.ask("sign", concurrency={"key": key, "limit": 1})
    return answer.value


@pipeline("fails-once")
async def fails_once(ctx: Context, given):
    ready = await ctx.step("prepare", lambda step: PREPARED.append(given) or len(PREPARED))
    if given == "bad":
        raise ValueError("a bad input")
    return ready


@pipeline("loops")
async def loops(ctx: Context, given):
    return [await ctx.step("again", lambda step, nth=nth: [nth, step.attempt]) for nth in range(given)]


@pipeline("slow-once")
async def slow_once(ctx: Context, _):
    async def hang(step):
        ATTEMPTS.append(step.attempt)
        await asyncio.sleep(60 if step.attempt == 1 else 0)
        return step.attempt

    return await ctx.step("hang", hang, timeout=0.2)


@pipeline("silent-once")
async def silent_once(ctx: Context, on_thread):
    over = threading.Event()

    def copy(step):
        SEEN.append([step.attempt, step.heartbeat_details])
        if step.attempt == 2:
            over.set()
            return step.heartbeat_details
        step.heartbeat({"row": 7})
        over.wait(30)
        try:
            step.heartbeat({"row": 8})
        except AttemptOver:
            SEEN.append("refused")

    async def copy_in_loop(step):
        if step.attempt == 2:
            return step.heartbeat_details
        step.heartbeat({"row": 7})
        await asyncio.sleep(30)

    function = copy if on_thread else copy_in_loop
    return await ctx.step("copy", function, heartbeat_timeout=0.2)


@pipeline("shows-its-row")
async def shows_its_row(ctx: Context, _):
    async def copy(step):
        step.heartbeat({"row": 41})
        step.heartbeat({"row": 42})
        while not SHOWN:
            step.heartbeat()
            await asyncio.sleep(0.05)

    return await ctx.step("copy", copy, heartbeat_timeout=5)


@pipeline("has-a-bug")
async def has_a_bug(ctx: Context, _):
    return undefined_name  # noqa: F821


class Features(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        pipelines = [vowels, calls_remote, square, fans_out, waits, races, asks, asks_by_correlation]
        pipelines += [asks_in_turn, fails_once, listens, talks, replies, hears_two]
        pipelines += [loops, slow_once, silent_once, shows_its_row, has_a_bug]
        self.client = Client()
        self.worker = Worker(pipelines, ttl=3.0, grace=0.2)
        self.working = asyncio.ensure_future(self.worker.run())

    async def asyncTearDown(self):
        self.worker.stop()
        await self.working
        self.client.close()

    async def run_one(self, target, given=None):
        return await self.client.result(await self.client.submit(target, given))

    async def test_a_remote_step_returns_its_value_and_a_failure_is_that_of_a_step(self):
        self.assertEqual(await self.run_one(calls_remote, "aloha"), 3)
        with self.assertRaises(ExecutionFailed) as raised:
            await self.run_one(calls_remote, 7)
        self.assertEqual(raised.exception.failure["code"], "not-text")

    async def test_children_run_side_by_side_and_one_failure_is_raised(self):
        self.assertEqual(await self.run_one(fans_out, [1, 2, 3]), [1, 4, 9])
        self.assertEqual(await self.run_one(fans_out, []), [])
        self.assertEqual(await self.run_one(fans_out, [1, -1]), "negative")

    async def test_an_update_gets_its_reply_once_and_a_value_is_published(self):
        id = await self.client.submit(replies, None)
        total = asyncio.ensure_future(self.client.published(id, "total", timeout=20))
        for _ in range(2):
            reply = await self.client.update(id, "add", 7, key="a")
            self.assertEqual(reply, {"kind": "replied", "key": "a", "value": {"total": 7}})
        self.assertEqual(await total, 7)
        rejected = await self.client.update(id, "add", 8, key="b")
        self.assertEqual(rejected, {"kind": "rejected", "key": "b", "reason": "enough"})
        self.assertEqual(await self.client.result(id), 7)
        self.assertIsNone(await self.client.published(id, "none"))

    async def test_a_parent_signals_and_cancels_its_children(self):
        expected = ["hello", True, True, "cancelled", False]
        self.assertEqual(await self.run_one(talks, "hello"), expected)

    async def test_sleeps_end_at_their_time_and_a_receive_times_out(self):
        self.assertEqual(await self.run_one(waits, 0.8), "timed out")

    async def test_a_signal_wins_a_race_and_the_replay_sees_the_same_order(self):
        id = await self.client.submit(races)
        await self.client.signal(id, "go", 1)
        self.assertEqual(await self.client.result(id), "signal")

    async def test_a_signal_with_a_key_is_sent_once_and_a_forced_cancel_ends_at_once(self):
        id = await self.client.submit(hears_two)
        for _ in range(2):
            await self.client.signal(id, "word", "one", key="first")
        await self.client.signal(id, "word", "two", key="second")
        self.assertEqual(await self.client.result(id), ["one", "two"])
        left = await self.client.submit(listens)
        await self.client.cancel(left, "a test", force=True)
        self.assertEqual((await self.client.get(left))["status"], "cancelled")

    async def test_a_person_answers_a_question_through_the_client(self):
        id = await self.client.submit(asks, 4200)
        while not (open := await self.client.questions(id)):
            await asyncio.sleep(0.05)
        self.assertEqual(open[0]["request"], {"amount": 4200})
        await self.client.answer(open[0]["id"], "yes")
        self.assertEqual(await self.client.result(id), ["answered", "yes"])

    async def test_an_answer_finds_its_question_by_correlation(self):
        id = await self.client.submit(asks_by_correlation, "pay/17")
        while not await self.client.questions(id):
            await asyncio.sleep(0.05)
        other = await self.client.submit(asks_by_correlation, "pay/17")
        self.assertEqual(await self.client.result(other), "correlation-taken")
        both = ["correlation:pay/17", "correlation:none"]
        replies = await self.client.answer_all(both, "yes")
        self.assertEqual([each["kind"] for each in replies], ["answered", "refused"])
        await self.client.answer("correlation:pay/17", "yes")
        self.assertEqual(await self.client.result(id), "yes")

    async def test_a_question_with_a_concurrency_key_waits_for_its_slot(self):
        first = await self.client.submit(asks_in_turn, "bank")
        while not (open := await self.client.questions(first)):
            await asyncio.sleep(0.05)
        second = await self.client.submit(asks_in_turn, "bank")
        while not await self.client.questions(second, queued=True):
            await asyncio.sleep(0.05)
        self.assertEqual(await self.client.questions(second), [])
        await self.client.answer(open[0]["id"], "one")
        [asked] = await self.client.questions(second)
        await self.client.answer(asked["id"], "two")
        results = [await self.client.result(id) for id in (first, second)]
        self.assertEqual(results, ["one", "two"])

    async def test_steps_of_a_loop_have_keys_of_their_own(self):
        self.assertEqual(await self.run_one(loops, 3), [[0, 1], [1, 1], [2, 1]])

    async def test_an_attempt_that_takes_too_long_is_tried_again(self):
        self.assertEqual(await self.run_one(slow_once), 2)
        self.assertEqual(ATTEMPTS, [1, 2])

    async def test_a_silent_attempt_is_given_up_and_the_next_gets_its_details(self):
        self.assertEqual(await self.run_one(silent_once, False), {"row": 7})
        self.assertEqual(await self.run_one(silent_once, True), {"row": 7})
        while "refused" not in SEEN:
            await asyncio.sleep(0.01)
        self.assertEqual(SEEN, [[1, None], [2, {"row": 7}], "refused"])

    async def test_the_row_shows_the_last_heartbeat_until_the_step_ends(self):
        id = await self.client.submit(shows_its_row)
        while not (beats := (await self.client.get(id)).get("heartbeats")):
            await asyncio.sleep(0.05)
        self.assertEqual([beats[0]["key"], beats[0]["details"]], ["step:copy#1", {"row": 42}])
        SHOWN.append(True)
        await self.client.result(id)
        self.assertNotIn("heartbeats", await self.client.get(id))
        kinds = [event["kind"] for event in await self.client.history(id)]
        expected = ["submitted", "claimed", "progressed", "step-completed", "completed"]
        self.assertEqual(kinds, expected)

    async def test_a_bug_outside_a_step_blocks_and_a_cancel_ends_it(self):
        id = await self.client.submit(has_a_bug)
        while not any(event["kind"] == "blocked" for event in await self.client.history(id)):
            await asyncio.sleep(0.05)
        await self.client.cancel(id, "a test")
        with self.assertRaises(ExecutionFailed) as raised:
            await self.client.result(id)
        self.assertEqual(raised.exception.status, "cancelled")

    async def test_the_client_submits_once_lists_and_raises_refusals(self):
        ids = [await self.client.submit(square, 3, key="once", tags=["live"]) for _ in range(2)]
        self.assertEqual(ids[0], ids[1])
        self.assertEqual(await self.client.result(ids[0]), 9)
        self.assertEqual((await self.client.get(ids[0]))["status"], "completed")
        self.assertEqual([each["id"] async for each in self.client.list(tag="live")], ids[:1])
        with self.assertRaises(Refused) as raised:
            await self.client.get("01890a5d-ac96-774b-bcce-b302099a8057")
        self.assertEqual(raised.exception.code, "execution-unknown")

    async def test_a_redrive_repeats_a_failed_execution_and_reuses_its_steps(self):
        id = await self.client.submit(fails_once, "bad")
        with self.assertRaises(ExecutionFailed):
            await self.client.result(id)
        again = await self.client.redrive(id, input="good", reason="a test")
        self.assertEqual(await self.client.result(again), 1)
        self.assertEqual(PREPARED, ["bad"])
        with self.assertRaises(Refused):
            await self.client.redrive(again)

    async def test_a_schedule_is_put_triggered_paused_backfilled_and_removed(self):
        schedules = self.client.schedules
        await schedules.put("squares", cron="0 0 1 1 *", pipeline="square", input=4)
        first = await schedules.trigger("squares", key="now")
        again = await schedules.trigger("squares", key="now")
        self.assertEqual(first["id"], again["id"])
        self.assertEqual(await self.client.result(first["id"]), 16)
        await schedules.pause("squares")
        self.assertTrue((await schedules.get("squares"))["paused"])
        await schedules.resume("squares")
        self.assertFalse((await schedules.get("squares"))["paused"])
        span = [datetime(2024, 6, 1, tzinfo=timezone.utc), datetime(2025, 6, 1, tzinfo=timezone.utc)]
        filled = await schedules.backfill("squares", *span)
        self.assertEqual([filled["times"], filled["submitted"]], [1, 1])
        with self.assertRaises(ValueError):
            await schedules.backfill("squares", datetime(2024, 6, 1), span[1])
        self.assertEqual([each["id"] async for each in schedules.list()], ["squares"])
        await schedules.remove("squares")
        self.assertEqual([each["id"] async for each in schedules.list()], [])

    async def test_a_channel_is_put_tested_rotated_and_removed(self):
        channels = self.client.channels
        given = {"kind": "webhook", "url": "https://example.invalid/", "paused": True}
        await channels.put("ops", events=["execution-ended"], **given)
        self.assertEqual((await channels.get("ops"))["events"], ["execution-ended"])
        secret = await channels.secret("ops")
        self.assertEqual(await channels.secret("ops"), secret)
        self.assertNotEqual(await channels.rotate("ops", overlap=60), secret)
        message = await channels.test("ops")
        sent = [each["id"] async for each in channels.deliveries("ops")]
        self.assertEqual(sent, [message])
        self.assertEqual(await channels.replay("ops"), 0)
        self.assertEqual([each["id"] async for each in channels.list()], ["ops"])
        await channels.remove("ops")
        self.assertEqual([each["id"] async for each in channels.list()], [])

    async def test_an_erasure_takes_the_values_of_an_ended_execution(self):
        open = await self.client.submit(listens)
        with self.assertRaises(Refused) as raised:
            await self.client.erase(open, "request 4711")
        self.assertEqual(raised.exception.code, "not-ended")
        await self.client.cancel(open)
        id = await self.client.submit(square, 12345)
        self.assertEqual(await self.client.result(id), 12345**2)
        first = await self.client.erase(id, "request 4711")
        again = await self.client.erase(id, "once more")
        self.assertEqual([first["kind"], again["kind"]], ["erased", "already-erased"])
        self.assertEqual([again["at"], again["by"]], [first["at"], first["by"]])
        erased = await self.client.get(id)
        self.assertEqual([erased["status"], erased["erased"]["by"]], ["completed", first["by"]])
        texts = str([erased, await self.client.history(id)])
        self.assertNotIn("12345", texts)
        self.assertNotIn(str(12345**2), texts)
        with self.assertRaises(UnreadableValue):
            await self.client.result(id)


if __name__ == "__main__":
    unittest.main()
