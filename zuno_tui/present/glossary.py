"""What the words on the screen mean, each in a sentence or two."""

from functools import cache

from msgspec import Struct


class GlossaryTerm(Struct, frozen=True):
    name: str
    meaning: str
    also: tuple[str, ...] = ()
    """Other ways to call it, in lower case."""


GLOSSARY: tuple[GlossaryTerm, ...] = (
    GlossaryTerm(
        "LVR",
        "Loss versus rebalancing: what a position loses to those who trade against its price while "
        "it is stale. Fees must pay for it before anything is earned.",
        ("loss versus rebalancing", "loss-versus-rebalancing"),
    ),
    GlossaryTerm(
        "IL",
        "Impermanent loss: how much less a position is worth than the tokens that went into it "
        "would be, had they been held. Fees are not counted in it.",
        ("impermanent loss", "divergence loss", "impairment loss", "temporary loss"),
    ),
    GlossaryTerm(
        "buffer",
        "The hours a price stays inside a range with a probability of 95%.",
        ("buffer hours", "buffer at 1x"),
    ),
    GlossaryTerm(
        "survival",
        "The probability that the price stays inside a range for a day, or for a week.",
        ("survives", "survival probability"),
    ),
    GlossaryTerm(
        "edge",
        "What a pool paid its providers in seven days over what arbitrage took from them, "
        "written ρ₇. Above 1 the fees paid for the loss; below 1 they did not.",
        ("rho", "ρ₇", "ρ7", "rho7", "edge ρ₇", "pool edge"),
    ),
    GlossaryTerm(
        "tick",
        "A step of a pool's price, 0.01% from the next. The edges of a range lie on ticks.",
        ("ticks", "tick spacing"),
    ),
    GlossaryTerm(
        "range",
        "The two prices between which a position's liquidity works. Outside of them it earns no "
        "fees and holds only one of its two tokens.",
        (
            "price range",
            "in range",
            "out of range",
            "oor",
            "range gauge",
            "near edge",
            "near the edge",
        ),
    ),
    GlossaryTerm(
        "liquidity",
        "How much a position moves for a change of the price; fees are shared by it among those "
        "whose ranges hold the price.",
        ("share",),
    ),
    GlossaryTerm(
        "concentrated liquidity",
        "Liquidity that works only between two prices: it earns more fees there than the same "
        "tokens spread over all prices, and none outside.",
        ("concentrated", "concentrated liq"),
    ),
    GlossaryTerm(
        "dynamic fee",
        "A fee that the pool's hook can change; a star marks it.",
        ("dynamic fees", "variable fee"),
    ),
    GlossaryTerm(
        "position",
        "Liquidity between two prices of a pool, held as a token with a number.",
        ("lp position", "nft"),
    ),
    GlossaryTerm(
        "pool",
        "Two tokens, a fee, a tick spacing and a hook: the five fields by which it is known.",
        ("pool key", "pools"),
    ),
    GlossaryTerm(
        "hook",
        "A contract that a pool calls before or after each action in it. It may change fees, or "
        "keep a part of what leaves.",
        ("hooks",),
    ),
    GlossaryTerm(
        "volatility",
        "How far a price strays in a time, written σ, from the pool's own past hours.",
        ("sigma", "σ", "vol"),
    ),
    GlossaryTerm(
        "regime",
        "How the market behaves: calm, trending, volatile or stressed, by its figures.",
        ("market regime",),
    ),
    GlossaryTerm(
        "slippage",
        "How much worse than its quote a swap may end; beyond it the swap reverts.",
        ("price impact",),
    ),
    GlossaryTerm(
        "gas", "What a network takes for a transaction, paid in its own coin.", ("gas fee", "gwei")
    ),
    GlossaryTerm(
        "fees",
        "What swaps pay to the providers whose ranges hold the price; they wait in the position "
        "until they are collected.",
        ("fee", "uncollected fees", "fee tier"),
    ),
    GlossaryTerm("net", "Fees less LVR, what arbitrage took: what providing liquidity earned."),
    GlossaryTerm(
        "profit",
        "Money out less money in, each at the price of its time, costs taken off.",
        ("result", "profit and loss", "pnl"),
    ),
    GlossaryTerm(
        "withdrawn",
        "What was taken out of a v3 range and waits, with the fees, until it is collected.",
    ),
    GlossaryTerm(
        "against holding",
        "What a position with its fees is worth, less what the tokens that went into it would be.",
        ("vs holding", "vs hold", "hodl"),
    ),
    GlossaryTerm("hold", "Keeping a position as it is; there is nothing to approve."),
    GlossaryTerm(
        "rebalance",
        "Closing a range and opening another around the price, with a swap where one is needed.",
        ("rebalancing",),
    ),
    GlossaryTerm("compound", "Putting the fees of a position back into it.", ("compounding",)),
    GlossaryTerm(
        "plan", "The outcome of a debate: what was proposed, judged and chosen, with its numbers."
    ),
    GlossaryTerm(
        "approval",
        "Permission to sign one hash, once, for ten minutes. Nothing is signed by it.",
        ("approve",),
    ),
    GlossaryTerm("outbox", "What you approved, signed and sent, and its status."),
    GlossaryTerm(
        "Permit2",
        "A contract that lets a spender take a token up to an amount until a time; `revoke` lists "
        "what it still allows.",
        ("permit", "allowance", "allowances"),
    ),
    GlossaryTerm(
        "profile",
        "Conservative, balanced or aggressive: the floors and ceilings a move is held to.",
        ("risk profile", "conservative", "balanced", "aggressive"),
    ),
    GlossaryTerm("backtest", "The rules run over past prices, beside the results they must beat."),
    GlossaryTerm("calibration", "How far stated chances were from the outcomes.", ("ece",)),
    GlossaryTerm(
        "APR",
        "A past window's fees scaled to a year, as a share of the worth; no promise.",
        ("apy", "fee apr"),
    ),
)


@cache
def _by_name() -> dict[str, GlossaryTerm]:
    return {name: term for term in GLOSSARY for name in (term.name.lower(), *term.also)}


def term_named(said: str) -> GlossaryTerm | None:
    return _by_name().get(" ".join(said.lower().split()))
