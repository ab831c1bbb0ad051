"""Client and worker of Holdfast: long, multi-step work that survives crashes and deploys."""

from .calls import Answer, StepContext
from .client import Client
from .context import Child, Context, Update
from .errors import (
    AccessDenied,
    AttemptOver,
    ChildFailed,
    ExecutionFailed,
    HoldfastError,
    LeaseLost,
    OutcomeUnknown,
    Refused,
    StepError,
    StepFailed,
    Unavailable,
    UnreadableValue,
)
from .lease import Lease, LeaseSession
from .pipeline import Pipeline, Retry, pipeline, remote_step
from .worker import Worker

__all__ = [
    "AccessDenied",
    "Answer",
    "AttemptOver",
    "Child",
    "ChildFailed",
    "Client",
    "Context",
    "ExecutionFailed",
    "HoldfastError",
    "Lease",
    "LeaseLost",
    "LeaseSession",
    "OutcomeUnknown",
    "Pipeline",
    "Refused",
    "Retry",
    "StepContext",
    "StepError",
    "StepFailed",
    "Unavailable",
    "UnreadableValue",
    "Update",
    "Worker",
    "pipeline",
    "remote_step",
]
