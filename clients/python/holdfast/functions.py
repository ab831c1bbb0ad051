"""Runs functions of the user: async ones in the loop, others on a thread that the loop can leave."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from typing import Any, Awaitable, Callable, TypeVar, Union

T = TypeVar("T")


async def invoke(function: Callable[[Any], Union[T, Awaitable[T]]], argument: Any) -> T:
    """Calls the function. A function that is not async runs on a thread of its own."""
    if inspect.iscoroutinefunction(function):
        result: Any = await function(argument)
        return result  # type: ignore[no-any-return]
    outcome: Any = await _in_thread(function, argument)
    return await outcome if inspect.isawaitable(outcome) else outcome  # type: ignore[no-any-return]


def _in_thread(function: Callable[[Any], Any], argument: Any) -> asyncio.Future[Any]:
    # Not a pool: its threads would keep the process alive until an abandoned step has ended.
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(error: Union[BaseException, None], value: Any) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            is_stop = isinstance(error, StopIteration)
            future.set_exception(RuntimeError("The step raised StopIteration.") if is_stop else error)

    def work() -> None:
        error, value = None, None
        try:
            value = context.run(function, argument)
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, error, value)
        except RuntimeError:
            pass  # The worker has stopped, and another one has the execution.

    threading.Thread(target=work, name="holdfast-step", daemon=True).start()
    return future
