"""Pipelines, and how their steps are tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Optional, Union

from .errors import StepError, failure_of

if TYPE_CHECKING:
    from .context import Context

Code = Callable[["Context", Any], Awaitable[Any]]


@dataclass(frozen=True)
class Retry:
    """How failed attempts of a step are repeated. Times are in seconds."""

    attempts: int = 5
    initial: float = 0.2
    factor: float = 2.0
    maximum: float = 60.0
    jitter: float = 0.2

    def delay_after(self, failed: int, denied: int, error: BaseException) -> Optional[float]:
        """The pause before the next attempt, or None if this was the last one."""
        category = failure_of(error)["category"]
        if category == "permanent" or failed >= self.attempts:
            return None
        if isinstance(error, StepError) and error.retry_after is not None:
            return error.retry_after
        exponent = max(0, failed + denied - 1)
        delay = min(self.maximum, self.initial * self.factor**exponent)
        return delay * (1 - self.jitter * random.random())


@dataclass(frozen=True)
class Pipeline:
    """Code that a worker runs under a name."""

    name: str
    run: Code
    retry: Retry = Retry()


def pipeline(name: str, *, retry: Retry = Retry()) -> Callable[[Code], Pipeline]:
    """Makes a pipeline of an async function.

        @pipeline("order")
        async def order(ctx: Context, item: str) -> str:
            return await ctx.step("charge", lambda step: charge(item, step.idempotency_key))
    """
    return lambda run: Pipeline(name, run, retry)


def name_of(target: Union[Pipeline, str]) -> str:
    return target if isinstance(target, str) else target.name


def remote_step(name: str) -> Callable[[Callable[[Any], Any]], Pipeline]:
    """Hosts a function as a remote step: pipelines of any language call it by its name.

        @remote_step("score")
        def score(text: str) -> int:
            return len(text)
    """

    def host(function: Callable[[Any], Any]) -> Pipeline:
        async def run(ctx: Context, given: Any) -> Any:
            return await ctx.run_once(function, given)

        return Pipeline(name, run)

    return host
