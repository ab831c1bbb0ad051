"""Pipelines in Python, on the package of clients/python.

`fulfil` charges an order with retries, and asks a person if the amount is high. `score` is a remote
step: pipelines in any language call it by its name.

    HOLDFAST_URL=http://127.0.0.1:7433 HOLDFAST_KEY=hf_… python3 worker.py
"""

import asyncio
import logging
from typing import Any

from holdfast import Context, Retry, StepContext, StepError, Worker, pipeline, remote_step

APPROVE_FROM = 100


@pipeline("fulfil", retry=Retry(attempts=3, initial=0.2))
async def fulfil(ctx: Context, order: dict[str, Any]) -> dict[str, Any]:
    """Put effects into steps: code outside of them runs again in each replay."""
    reservation = await ctx.step("reserve", lambda step: f"reservation {step.idempotency_key}")
    if order["amount"] >= APPROVE_FROM:
        answer = await ctx.ask("approval", order, timeout=3600)
        if answer.value != "yes":
            return {"reservation": reservation, "receipt": None}
    receipt = await ctx.step("charge", lambda step: charge(order, step))
    return {"reservation": reservation, "receipt": receipt}


def charge(order: dict[str, Any], step: StepContext) -> str:
    """Fails in the first attempt if the order asks for it, to show a retry."""
    if order.get("failOnce") and step.attempt == 1:
        raise ConnectionError("The vendor did not respond.")
    return f"paid {order['amount']} in attempt {step.attempt}"


@remote_step("score")
def score(given: dict[str, Any]) -> dict[str, int]:
    """Counts the vowels of a text."""
    text = given["text"]
    if not isinstance(text, str):
        raise StepError("text must be a string", category="permanent", code="not-text")
    return {"vowels": sum(letter in "aeiou" for letter in text.lower()), "of": len(text)}


PIPELINES = [fulfil, score]

if __name__ == "__main__":
    logging.basicConfig(level="WARNING")
    asyncio.run(Worker(PIPELINES).run())
