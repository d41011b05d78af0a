"""What an applied plan did: per token what came or left, against what was shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.units import usd
from chain.contracts.networks import Address, Network, transaction_url
from chain.execution.outbox.rules import END_WORDS
from chain.math.price import format_amount
from chain.protocols.reference import position_label
from chain.tokens import Token
from zuno_tui.present.document import document, parts
from zuno_tui.present.output import Json, OutputColumn, print_json, print_lines, table
from zuno_tui.present.receipt import leftover_lines
from zuno_tui.present.views import ReceiptView, SentTransaction
from zuno_tui.present.words import UNKNOWN, cent_sum, round_usd, signed_amount

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.gate.results import Aftermath, ApplyResult


def aftermath_document(aftermath: Aftermath | None) -> Json:
    return None if aftermath is None else document(aftermath, without=("wallet", "tokens"))


_DIGITS = 6
_CENT = 0.01
_COLUMNS = (
    OutputColumn("WALLET"),
    OutputColumn("EXPECTED", "right"),
    OutputColumn("ACTUAL", "right"),
    OutputColumn("DIFFERENCE", "right"),
)


def show_result(session: Session, result: ApplyResult, tokens: Mapping[Address, Token]) -> None:
    if session.as_json:
        print_json(result_document(result))
    else:
        print_lines(result_lines(result, tokens, session.network))
        print_lines(map(transaction_line, sent_transactions(result, session.network)))


def transaction_line(sent: SentTransaction) -> str:
    return f"  {sent.step}: {sent.url or sent.hash}"


def sent_transactions(result: ApplyResult, network: Network) -> Iterator[SentTransaction]:
    """Those in a block, by hash, and where people look at them."""
    for step in result.steps:
        if (inclusion := step.step.inclusion) is not None:
            url = transaction_url(network, inclusion.transaction_hash)
            block = inclusion.block_number
            yield SentTransaction(step.step.title, inclusion.transaction_hash, url, block)


def result_lines(
    result: ApplyResult, tokens: Mapping[Address, Token], network: Network
) -> Iterator[str]:
    yield f"{result.approval.headline} · {result.approval.plan_id} · {result.state}"
    if (story := result_headline(result)) != "":
        yield f"  {story}."
    yield from result_notes(result, tokens, network)


def result_headline(result: ApplyResult) -> str:
    """`#26 is now #39`; empty where no position was opened."""
    before, opened = result.approval.about.ref, [*map(position_label, result.minted)]
    if not opened:
        return ""
    if before is None:
        return f"{' and '.join(opened)} opened"
    return f"{position_label(before)} is now {opened[0]}"


class ExpectedOutcome(Struct, frozen=True):
    """What the page that was signed said."""

    receipt: ReceiptView
    changes: Mapping[Address, int]
    """Of what the wallet holds."""
    usd_per_unit: Mapping[Address, float]


def result_notes(
    result: ApplyResult,
    tokens: Mapping[Address, Token],
    network: Network,
    expected: ExpectedOutcome | None = None,
) -> Iterator[str]:
    """Why it is not done, what it cost, what came against what was shown, what stays allowed."""
    yield from _stopped_lines(result)
    total = None if expected is None else _total_cost(result, expected)
    if total is not None:
        yield f"  {total}"
    yield f"  {_cost(result, network)}"
    yield ""
    quoted = result.approval.quoted if expected is None else expected.changes
    yield from amount_lines(result, tokens, quoted)
    if result.allowances:
        yield ""
        yield from leftover_lines(result.allowances, tokens)


def amount_lines(
    result: ApplyResult, tokens: Mapping[Address, Token], quoted: Mapping[Address, int] | None
) -> Iterator[str]:
    """By token what was expected, what came or left, and the difference."""
    rows = list(_amount_rows(result, tokens, quoted or {}))
    if rows:
        yield from table(_COLUMNS, rows)


def _amount_rows(
    result: ApplyResult, tokens: Mapping[Address, Token], quoted: Mapping[Address, int]
) -> Iterator[tuple[str, ...]]:
    for token, realised in result.realised.items():
        shown, known = quoted.get(token), tokens[token]
        if not shown and not realised and token not in result.approval.tokens[:2]:
            continue
        difference = None if shown is None or realised is None else realised - shown
        told = (
            UNKNOWN if amount is None else _signed(amount, known)
            for amount in (shown, realised, difference)
        )
        yield (known.label, *told)


def _total_cost(result: ApplyResult, expected: ExpectedOutcome) -> str | None:
    """As on the page that was signed: what came less than expected is a cost of the swap."""
    swap, network = expected.receipt.swap_cost, expected.receipt.network_cost
    rate, prices = result.usd_per_wei, expected.usd_per_unit
    if not result.is_done or swap is None or network is None or rate is None:
        return None
    less = 0.0
    for token, shown in expected.changes.items():
        came = result.realised.get(token, 0)
        if came is None or (came != shown and token not in prices):
            return None
        less += (shown - came) * prices.get(token, 0.0)
    paid = sum(step.gas_cost for step in result.steps) * rate
    swapped = max(0.0, swap + less)
    total = f"Total cost {usd(cent_sum(swapped, paid))}, expected {usd(cent_sum(swap, network))}"
    if max(swap, swapped) < _CENT:
        return f"{total}."
    return (
        f"{total}: swap and price impact {_beside_expected(swapped, swap)}, "
        f"network {_beside_expected(paid, network)}."
    )


def _beside_expected(came: float, expected: float) -> str:
    """What it came to, and what was expected where that reads otherwise."""
    first, second = usd(came), usd(expected)
    return first if first == second else f"{first} ({second} expected)"


def _cost(result: ApplyResult, network: Network) -> str:
    """What gas really cost, in the chain's coin and in dollars."""
    cost = sum(step.gas_cost for step in result.steps)
    used = sum(step.gas_used for step in result.steps)
    rate = result.usd_per_wei
    dollars = f"{UNKNOWN} in dollars" if rate is None else round_usd(cost * rate)
    coin = network.native_symbol
    return f"Network cost {format_amount(cost, 18, 4)} {coin} ({dollars}): {used:,} gas."


def _signed(amount: int, token: Token) -> str:
    """In six digits: the chain keeps the rest."""
    if token.decimals is None:
        return signed_amount(amount, token)
    sign = "+" if amount > 0 else ""
    return f"{sign}{format_amount(amount, token.decimals, _DIGITS)}"


def _stopped_lines(result: ApplyResult) -> Iterator[str]:
    """Why it is not done, and where the tokens are, by the chain as it is now."""
    if result.unclear:
        yield "  What happened is unclear: do not repeat it. Look again: zuno outbox"
        for name in result.contradicted:
            yield f"  {name}: its status and the balances cannot both be true."
    elif result.dispatch.ended is not None:
        words = END_WORDS[result.dispatch.ended.code]
        yield f"  It is over: {words}. Nothing more of it is sent."
    elif result.safe_state is not None:
        yield f"  It stopped on the way. Where you stand: {result.safe_state}."
        yield "  Go on from there with a new plan: zuno recommend ID"
    if result.aftermath is not None:
        yield from (f"  {sentence}" for sentence in result.aftermath.sentences)


def result_document(result: ApplyResult) -> dict[str, Json]:
    quoted = result.approval.quoted
    return {
        **parts(result.approval, "plan_id", "hash"),
        **parts(result, "state", "safe_state"),
        "where": aftermath_document(result.aftermath),
        "transactions": [
            {
                **parts(step, "gas_used", "gas_cost"),
                "hash": step.step.inclusion.transaction_hash,
                "step": step.step.name,
                "state": step.step.state,
                "block": step.step.inclusion.block_number,
            }
            for step in result.steps
            if step.step.inclusion is not None
        ],
        "quoted": None
        if quoted is None
        else {token: str(amount) for token, amount in quoted.items()},
        "realised": {
            token: None if amount is None else str(amount)
            for token, amount in result.realised.items()
        },
        "newTokenId": str(result.minted[0]) if result.minted else None,
        "allowances": [document(allowance) for allowance in result.allowances],
    }
