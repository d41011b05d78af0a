"""A position and its hedge in words and as a document: what each came to, and both together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.monitor.alerts.alert import iso_time
from zuno_tui.present.words import dollar_gain

if TYPE_CHECKING:
    from chain.exchange.orders.hedge import PositionHedge
    from zuno_tui.app.hedge_results import HedgeResults
    from zuno_tui.app.hedges import HedgedResult
    from zuno_tui.present.output import Json


def hedged_lines(hedge: PositionHedge, result: HedgedResult) -> tuple[str, ...]:
    """Two lines: the sum, and what the hedge's part is made of."""
    start, account = hedge.first, result.account
    why = f" ({result.unknown})" if result.unknown else ""
    return (
        f"#{start.token_id} and its hedge since {iso_time(result.since)[:16].replace('T', ' ')}: "
        f"position {dollar_gain(result.position_usd)}, hedge {dollar_gain(result.hedge_usd)}, "
        f"together {dollar_gain(result.together_usd)}{why}",
        f"  {result.short:g} {start.coin} short of {start.symbol} at {result.mark:,.2f}, "
        f"fees ${account.fees:,.2f}, funding {dollar_gain(account.funding)}",
    )


def hedged_document(hedge: PositionHedge, result: HedgedResult) -> dict[str, Json]:
    start, account = hedge.first, result.account
    return {
        "tokenId": start.token_id,
        "chainId": start.chain_id,
        "coin": start.coin,
        "symbol": start.symbol,
        "since": result.since,
        "sinceBlock": start.block,
        "ratio": hedge.last.ratio,
        "short": result.short,
        "waiting": hedge.waiting,
        "mark": result.mark,
        "feesUsd": account.fees,
        "fundingUsd": account.funding,
        "positionUsd": result.position_usd,
        "hedgeUsd": result.hedge_usd,
        "togetherUsd": result.together_usd,
        "unknown": result.unknown or None,
    }


def hedge_result_lines(found: HedgeResults) -> tuple[str, ...]:
    """Under a list of positions: nothing where nothing was ever hedged."""
    if found.trouble:
        return ("", f"Hedges are not known: {found.trouble}")
    lines = [line for hedge, result in found.results for line in hedged_lines(hedge, result)]
    return ("", *lines) if lines else ()


def hedge_results_document(found: HedgeResults) -> Json:
    """None where they are not known."""
    if found.trouble:
        return None
    return [hedged_document(hedge, result) for hedge, result in found.results]
