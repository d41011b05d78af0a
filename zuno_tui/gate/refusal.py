"""Refusals of the gate: something that could be done and is not."""

from enum import StrEnum

from chain.base.errors import Failure, ZunoError


class RefusalCode(StrEnum):
    """Why, for programs and tests; the sentence is for people."""

    OTHER = "other"
    POLICY = "policy"
    DRIFT = "drift"
    ENDPOINTS_DISAGREE = "endpoints disagree"
    TOO_FEW_ENDPOINTS = "too few endpoints"
    FUTURE_HEAD = "future head"
    FOREIGN_RECIPIENT = "foreign recipient"
    NOT_APPROVED_HERE = "not approved here"
    CHANGED_ON_DISK = "changed on disk"
    CONTRACT_CODE = "contract code"
    TRIAL_FAILS = "trial fails"
    BLOCKED = "some of several"
    ANOTHER_CHAIN = "another chain"
    GAS_EXCEEDS = "gas exceeds"
    GAS_SHORT = "gas short"
    PENDING_ELSEWHERE = "pending elsewhere"
    ALREADY_APPLIED = "already applied"
    ANOTHER_HASH = "another hash"
    SEVERAL_OPEN = "several open"


class GateRefusedError(ZunoError):
    """Nothing was signed; the message says why and what to do instead."""

    failure = Failure.REFUSED

    def __init__(self, words: str, code: RefusalCode = RefusalCode.OTHER) -> None:
        super().__init__(words)
        self.code = code
