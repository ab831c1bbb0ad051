"""The pipelines of the conformance runner in Python, as the protocol page describes them."""

import asyncio
import logging
import os

from holdfast import Context, LeaseSession, Retry, Worker, pipeline, remote_step


@remote_step("conform-echo")
def echo(value):
    return value


@pipeline("conform-steps")
async def steps(ctx: Context, given):
    one = await ctx.step("one", lambda step: given["n"] + 1)
    two = await ctx.step("two", lambda step: {"value": one * 2, "key": step.idempotency_key})
    return {"one": one, "two": two["value"], "key": two["key"]}


@pipeline("conform-retry", retry=Retry(attempts=3, initial=0.1, factor=1))
async def retry(ctx: Context, given):
    def flaky(step):
        if step.attempt <= given["failures"]:
            raise ConnectionError(f"Attempt {step.attempt} fails.")
        return step.attempt

    return await ctx.step("flaky", flaky)


@pipeline("conform-parallel")
async def parallel(ctx: Context, _):
    async def slowly(step):
        await asyncio.sleep(0.1)
        return 1

    return await asyncio.gather(
        ctx.step("a", slowly), ctx.step("b", lambda step: 2), ctx.step("c", lambda step: 3)
    )


@pipeline("conform-sleep")
async def sleep(ctx: Context, given):
    await ctx.sleep(given["ms"] / 1000, "nap")
    return "slept"


@pipeline("conform-signal")
async def receive(ctx: Context, _):
    return await ctx.receive("go")


@pipeline("conform-question")
async def question(ctx: Context, given):
    timeout = given["timeoutMs"] / 1000 if "timeoutMs" in given else None
    answer = await ctx.ask("approval", {"amount": given["amount"]}, timeout=timeout)
    return {"status": answer.status, "value": answer.value}


@pipeline("conform-child")
async def child(ctx: Context, given):
    return await (await ctx.start_child(steps, given)).result()


@pipeline("conform-large")
async def large(ctx: Context, given):
    text = await ctx.step("repeat", lambda step: given["text"] * 2)
    return {"length": len(text), "text": text}


@pipeline("conform-slow")
async def slow(ctx: Context, given):
    await ctx.step("work", lambda step: asyncio.sleep(given["ms"] / 1000))
    return await ctx.step("after", lambda step: "done")


@pipeline("conform-attributes")
async def attributes(ctx: Context, _):
    ctx.set_attributes({"stage": "packing", "hold": True})
    await ctx.step("pack", lambda step: None)
    ctx.set_attributes({"stage": "packed", "hold": None})
    return ctx.attributes


@pipeline("conform-lease")
async def lease(ctx: Context, given):
    async def hold(step):
        async with LeaseSession("conform", ttl=3.0) as session:
            async with session.hold(given["key"], wait=True) as held:
                found = None if held.checkpoint is None else held.checkpoint.decode()
                await held.save(given["text"].encode())
                return {"fence": held.fence, "found": found}

    return await ctx.step("hold", hold)


PIPELINES = [echo, steps, retry, parallel, sleep, receive, question, child, large, slow]
PIPELINES += [attributes, lease]

if __name__ == "__main__":
    logging.basicConfig(level=os.environ.get("LOG", "ERROR"))
    asyncio.run(Worker(PIPELINES, ttl=3.0, grace=0.5).run())
