"""Runs the worker, submits an order to it, and answers its question.

    python3 main.py
"""

import asyncio

from holdfast import Client, Worker
from worker import PIPELINES, fulfil


async def main() -> None:
    worker = Worker(PIPELINES)
    working = asyncio.ensure_future(worker.run())
    async with Client() as client:
        id = await client.submit(fulfil, {"item": "tent", "amount": 120, "failOnce": True})
        print(f"submitted {id}")
        question = await first_question(client, id)
        print(f"asked {question['call']}: {question['request']}")
        await client.answer(question["id"], "yes")
        print(f"result {await client.result(id)}")
    worker.stop()
    await working


async def first_question(client: Client, id: str) -> dict:
    while True:
        for question in await client.questions(id):
            return dict(question)
        await asyncio.sleep(0.2)


asyncio.run(main())
