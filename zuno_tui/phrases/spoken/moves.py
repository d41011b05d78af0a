"""Sentences that would change positions: fees, leaving, taking a part out, putting more in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.amounts import AMOUNT, FRACTION, WHOLE_PERCENT, part_meant
from zuno_tui.phrases.spoken.asking import for_each, one_position
from zuno_tui.phrases.spoken.meaning import AskedBack, NotReadYetError, Rephrased
from zuno_tui.phrases.spoken.targets import held_as, names_symbol, positions_meant

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning

_FEES = r"(?:fees|fee|rewards|earnings|yield)"
_ABOUT = r"(?: (?:from|of|on|for|in|at|out of))?"
_LIQUIDITY = r"(?:(?: of)? (?:liquidity|funds|money|capital|tokens|it))?"
_TAKE = r"(?:withdraw|remove|take|pull|get)(?: out)?"
_LEAVE = (
    r"(?:close|close out|close down|close out of|exit|exit from|exit out of|unwind|liquidate"
    r"|shut|shut down|get out of|get out|pull out of|get rid of|cash out|cash out of|withdraw from"
    r"|withdraw|withdraw out of|kill)"
)


def _collect(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    return _of_fees("collect", match, context)


def _compound(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    return _of_fees("compound", match, context)


def _of_fees(verb: str, match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    target = match["target"]
    if not target.strip() and match.groupdict().get("every"):
        target = "all"
    return for_each(verb, positions_meant(target, context), context)


def _close(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    return for_each("close", positions_meant(match["target"], context), context)


def _decrease(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    meant = positions_meant(match["target"], context)
    if meant is None:
        return None
    part = part_meant(match.groupdict().get("fraction") or "half")
    if part.percent == WHOLE_PERCENT and part.exact:
        return for_each("close", meant, context)
    if not 0 < part.percent < WHOLE_PERCENT:
        return AskedBack(f"{match['fraction']} of a position cannot be taken out. Which part?")
    said = for_each("decrease", meant, context, after=f" {part.percent}")
    if part.exact or not isinstance(said, Rephrased):
        return said
    return AskedBack("Only whole percents can be taken out. Is a little less right?", said.phrases)


def _keep(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    meant = positions_meant(match["target"], context)
    part = part_meant(match["fraction"])
    if meant is None or not part.exact or not 0 < part.percent < WHOLE_PERCENT:
        return None
    taken = WHOLE_PERCENT - part.percent
    said = for_each("decrease", meant, context, after=f" {taken}")
    if not isinstance(said, Rephrased):
        return said
    question = f"To keep {part.percent} %, {taken} % is taken out. Is that meant?"
    return AskedBack(question, said.phrases)


def _how_much_less(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    meant = positions_meant(match["target"], context)
    if meant is None:
        return None
    if not meant.sure or len(meant.ids) != 1:
        return AskedBack("Of which position, and how much? Like: decrease 7 25%")
    (token_id,) = meant.ids
    choices = [f"decrease {token_id} 25", f"decrease {token_id} 50"]
    if not match.groupdict().get("some"):
        choices.append(f"close {token_id}")
    return AskedBack(f"How much of #{token_id}?", tuple(choices))


def _increase(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    meant = positions_meant(match["target"], context)
    if meant is None:
        return None
    amount, symbol = match["amount"].removesuffix(","), (match["symbol"] or "").upper()
    if amount.startswith("$") or symbol in ("DOLLARS", "USD", "BUCKS"):
        return AskedBack("An amount is said in one of the position's tokens. How much of which?")
    if symbol:
        said = for_each("increase", meant, context, after=f" {amount} {symbol}")
        if isinstance(said, Rephrased) and len(said.phrases) > 1:
            return AskedBack("More is put into one position at a time. Which?", said.phrases)
        return _checked(said, symbol, context)
    chosen = one_position("increase", meant, context, f" {amount}")
    return chosen if isinstance(chosen, AskedBack) else _of_which_token(chosen, amount, context)


def _checked(
    said: SpokenMeaning | None, symbol: str, context: PhraseContext
) -> SpokenMeaning | None:
    if not isinstance(said, Rephrased):
        return said
    held = held_as(int(said.phrases[0].split()[1]), context)
    if held is None or any(names_symbol(symbol, one) for one in held.symbols):
        return said
    return AskedBack(f"{held.words} holds no {symbol}. How much of {held.pair}?")


def _of_which_token(token_id: int, amount: str, context: PhraseContext) -> SpokenMeaning:
    if context.held is None and not context.positions:
        raise NotReadYetError("positions")
    held = held_as(token_id, context)
    symbols = () if held is None else held.symbols
    return AskedBack(
        f"I understood `increase {token_id} {amount}`, but not of which token.",
        tuple(f"increase {token_id} {amount} {symbol}" for symbol in symbols),
    )


def _how_much_more(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    meant = positions_meant(match["target"], context)
    if meant is None:
        return None
    example = meant.ids[0] if len(meant.ids) == 1 else 7
    return AskedBack(f"How much of which token? Like: increase {example} 0.5 WETH")


def _in_percent(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    if positions_meant(match["target"], context) is None:
        return None
    return AskedBack("What is taken out is said in percent of the position. How many percent?")


MOVE_RULES: tuple[tuple[re.Pattern[str], SentenceRule], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (
            rf"(?:collect|claim|harvest|grab|gather|sweep|{_TAKE}|cash out)(?P<every> all)?(?: of)?"
            rf"(?: uncollected| unclaimed| pending| earned| available)? {_FEES}{_ABOUT}"
            r"(?P<target>.*)",
            _collect,
        ),
        (rf"(?:collect|claim|harvest){_ABOUT}(?P<target> .+?)(?: {_FEES})?", _collect),
        (
            rf"(?:compound|reinvest|re-invest|autocompound|auto-compound)(?P<every> all)?"
            rf"(?: {_FEES})?(?: back)?(?: into)?{_ABOUT}(?P<target>.*)",
            _compound,
        ),
        (rf"put {_FEES}{_ABOUT}(?P<target> .+?) back(?: in| into it| to work)?", _compound),
        (
            rf"{_TAKE}{_LIQUIDITY}{_ABOUT}(?P<some> (?:some|bit|little|part|portion))(?: of)?"
            rf"{_LIQUIDITY}(?: out)?{_ABOUT}(?P<target> .+)",
            _how_much_less,
        ),
        (
            rf"(?:{_TAKE}|{_LEAVE}|decrease|reduce|cut|trim|sell|free)(?: by)? {FRACTION}"
            rf"{_LIQUIDITY}(?: out)?{_ABOUT}(?P<target> .+)",
            _decrease,
        ),
        (
            rf"(?:decrease|reduce|cut|trim|lower|shrink)(?P<target> .+?)(?: down)? to {FRACTION}",
            _keep,
        ),
        (
            rf"(?:decrease|reduce|cut|trim|lower|shrink|split)(?P<target> .+?)(?: by| in)?"
            rf" {FRACTION}{_LIQUIDITY}",
            _decrease,
        ),
        (rf"{_TAKE} {AMOUNT}(?: out)?{_ABOUT}(?P<target> (?:position )?#?[0-9]+)", _in_percent),
        (r"halve(?P<target> .+)", _decrease),
        (
            rf"{_TAKE} (?:everything|all|whole){_LIQUIDITY}(?: out)?{_ABOUT}(?P<target> .+)",
            _close,
        ),
        (
            rf"{_TAKE} (?:liquidity|funds|money|capital|tokens)(?: out)?{_ABOUT}(?P<target> .+)",
            _how_much_less,
        ),
        (rf"{_LEAVE}(?P<target> .+)", _close),
        (r"(?:remove|burn)(?P<target> (?:position )?#?[0-9]+)", _close),
        (
            rf"(?:add|put|deposit|supply|increase|invest|throw)(?: another| more| extra)? {AMOUNT}"
            r"(?: more)?(?: liquidity)?(?: (?:to|into|in|on))(?P<target> .+)",
            _increase,
        ),
        (
            rf"(?:increase|top up|boost|grow|fund|add to)(?P<target> .+?) (?:with|by) {AMOUNT}",
            _increase,
        ),
        (rf"(?:increase|top up)(?P<target> #?[0-9]+) {AMOUNT}", _increase),
        (
            r"(?:add|put|deposit|top up|increase|boost)(?: more)?(?: liquidity| funds| money)?"
            r"(?: (?:to|into|in))?(?P<target> .+)",
            _how_much_more,
        ),
    )
)
