"""The exceptions of this package."""

from __future__ import annotations

from typing import Any, Literal, Mapping, Optional

Category = Literal["retryable", "permanent", "denied", "unknown"]


class HoldfastError(Exception):
    """The base class of all errors of this package. `code` is stable, for programs."""

    code = "error"


class Refused(HoldfastError):
    """The coordinator refused the request. A repeat gets the same reply."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{detail} [{code}]")
        self.status = status
        self.code = code


class AccessDenied(Refused):
    """The key is wrong, or does not allow the request."""


class Unavailable(HoldfastError):
    """The coordinator did not respond, or asked to repeat the request later."""

    code = "store-unavailable"

    def __init__(self, message: str, retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OutcomeUnknown(Unavailable):
    """The connection broke after the request was sent. It may have had its effect."""

    code = "outcome-unknown"


class UnreadableValue(HoldfastError):
    """A stored value needs a codec, or has types that only TypeScript knows."""

    code = "value-unreadable"


class LeaseLost(HoldfastError):
    """This process does not hold the lease any more. Stop the work that it protects."""

    def __init__(self, key: str, fence: int, why: str = "not-held") -> None:
        super().__init__(f'The lease "{key}" under fence {fence} is not held any more [{why}]')
        self.key = key
        self.fence = fence
        self.code = why


class StepError(HoldfastError):
    """Raise it in a step to choose the category of the failure, and the time of the next attempt.

    `retryable` (default) may be tried again. `permanent` gives up. `denied` costs no attempt.
    `unknown` may have had its effect, and is tried again.
    """

    def __init__(
        self,
        message: str,
        *,
        category: Category = "retryable",
        code: str = "step-error",
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.category: Category = category
        self.code = code
        self.retry_after = retry_after


class StepFailed(HoldfastError):
    """A step used up its attempts, or failed permanently. `failure` has the recorded reason."""

    def __init__(self, name: str, failure: Mapping[str, Any], key: str, attempts: int) -> None:
        super().__init__(f'Step "{name}" failed: {failure.get("message", "")}')
        self.failure = dict(failure)
        self.code = str(failure.get("code", "step-error"))
        self.key = key
        self.attempts = attempts


class ChildFailed(HoldfastError):
    """A child did not complete. `status` and `failure` have its end."""

    code = "child-failed"

    def __init__(self, id: str, status: str, failure: Optional[Mapping[str, Any]]) -> None:
        reason = (failure or {}).get("message", "it has no recorded failure")
        super().__init__(f"The child {id} ended as {status}: {reason}")
        self.id = id
        self.status = status
        self.failure = dict(failure) if failure is not None else None


class ExecutionFailed(HoldfastError):
    """The execution whose result you asked for did not complete."""

    code = "execution-failed"

    def __init__(self, id: str, status: str, failure: Optional[Mapping[str, Any]]) -> None:
        reason = (failure or {}).get("message", "it has no recorded failure")
        super().__init__(f"The execution {id} ended as {status}: {reason}")
        self.id = id
        self.status = status
        self.failure = dict(failure) if failure is not None else None


class AttemptOver(HoldfastError):
    """A heartbeat of an attempt that has ended. Nothing was written; stop its work."""

    code = "attempt-over"


class Drift(HoldfastError):
    """The code makes other calls than the history has. The worker blocks the execution."""

    code = "drift"


class ClaimLost(HoldfastError):
    """Another worker has the execution, or will have it. Nothing more may be written."""

    code = "claim-lost"


def failure_of(error: BaseException, at: Optional[str] = None) -> dict[str, Any]:
    """Describes an exception as the failure of an event."""
    if isinstance(error, StepFailed):
        return error.failure
    if isinstance(error, StepError):
        category, code = error.category, error.code
    elif isinstance(error, TimeoutError):
        category, code = "unknown", "step-timed-out"
    else:
        category, code = "retryable", getattr(error, "code", None) or type(error).__name__
    failure: dict[str, Any] = {
        "category": category,
        "code": str(code),
        "message": plain_text(str(error) or type(error).__name__),
    }
    return failure if at is None else {**failure, "at": at}


def plain_text(text: str) -> str:
    """Texts in events must not contain NUL or half of a surrogate pair."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")[:8000]
