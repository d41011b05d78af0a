"""Allowances as they are shown: who may move what, and until when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from chain.base.units import LAST_SECOND, time_text
from zuno_tui.present.words import amount_of

if TYPE_CHECKING:
    from chain.contracts.networks import Address
    from chain.tokens import Token
    from zuno_tui.gate.allowances import GivenAllowance
    from zuno_tui.present.output import Json

_LIMITLESS = 2**159
"""Beyond any supply: what wallets write who mean "everything"."""


def allowance_rows(
    given: Iterable[GivenAllowance], tokens: Mapping[Address, Token]
) -> Iterator[tuple[str, str, str, str]]:
    for one in given:
        token = tokens[one.token]
        through = " through Permit2" if one.through_permit2 else ""
        amount = "everything" if one.amount >= _LIMITLESS else amount_of(one.amount, token)
        yield token.label, one.spender_name + through, amount, _until(one.expiration)


def leftover_lines(
    given: Sequence[GivenAllowance], tokens: Mapping[Address, Token]
) -> Iterator[str]:
    """What an applied plan leaves allowed, and how to take it back."""
    for token, spender, amount, until in allowance_rows(given, tokens):
        yield f"  Still allowed: {spender} may move {amount} {token} until {until}."
    if given:
        yield "  Take it back: zuno revoke --all"


def allowance_document(given: Iterable[GivenAllowance]) -> list[Json]:
    return [
        {
            "token": one.token,
            "spender": one.spender,
            "throughPermit2": one.through_permit2,
            "amount": str(one.amount),
            "expiration": one.expiration,
        }
        for one in given
    ]


def _until(expiration: int | None) -> str:
    if expiration is None or expiration > LAST_SECOND:
        return "taken back"
    return time_text(expiration)
