"""The root of every failure that says itself, in a sentence for people, what to do about it."""

from enum import StrEnum
from typing import ClassVar


class Failure(StrEnum):
    """What kind of failure it is: the exit codes of the command line follow it."""

    FAILED = "failed"
    REFUSED = "refused"
    """By a policy or a rule of ours; trying again changes nothing."""
    USAGE = "usage"
    """By how it was asked for: a flag, a setting, a phrase."""
    NETWORK = "network"
    """By somebody else's server; trying again may help."""


class ZunoError(Exception):
    failure: ClassVar[Failure] = Failure.FAILED


def error_kind(error: BaseException) -> str:
    """What an error of somebody else's code is called. Its own words may hold a URL or a secret."""
    return type(error).__name__


class SigningError(ZunoError):
    """Whoever holds the key gave nothing that may be sent."""
