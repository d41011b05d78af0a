"""The slots of a command line, filled from what a sentence names, or what is still to be said."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from chain.protocols.reference import PositionRef, position_label, position_name
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import read_ref
from zuno_tui.intents.phrase_error import NotReadYetError, UnclearSlotError
from zuno_tui.intents.pieces import list_names
from zuno_tui.prompt.create_parts import EXPOSURES
from zuno_tui.prompt.figures import edges, named_term, two_prices, width
from zuno_tui.prompt.positions import position_of, positions_meant
from zuno_tui.prompt.slots import (
    DOLLARS,
    STABLE,
    Amount,
    Sentence,
    common_symbol,
    is_spoken_here,
    names_symbol,
    symbol_of,
)
from zuno_tui.prompt.standing_wishes import repeated_every
from zuno_tui.prompt.unused import clock_times, spoken_rhythms
from zuno_tui.prompt.words import plain

Filler = Callable[[str, Sentence, PhraseContext], Sequence[str]]

_EXAMPLE_CREATE = "Like: create 0.5 WETH/USDC between 2900 and 3300"


def amount_slot(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    meant = positions_meant(sentence, context)
    ref = meant.ids[0] if meant.sure and meant.ids else None
    example = f"increase {ref or 7} 0.5 WETH"
    if not sentence.amounts and (lines := _in_stables(ref, sentence, context)):
        raise UnclearSlotError("The range takes what it needs of the other token too.", lines)
    if len(sentence.amounts) != 1:
        raise UnclearSlotError(f"How much of which token? Like: {example}")
    amount = sentence.amounts[0]
    return (f"{amount.number} {_held_symbol(amount, ref, context)}",)


def _in_stables(
    ref: PositionRef | None, sentence: Sentence, context: PhraseContext
) -> Sequence[str]:
    """`$300 more`: as much of a token that follows the dollar, to be read before it is sent."""
    position = None if ref is None else position_of(ref, context)
    stables = [symbol for symbol in (position.symbols if position else ()) if symbol in STABLE]
    dollars = sentence.dollars if len(sentence.dollars) == 1 else ()
    return [f"increase {ref} {amount} {symbol}" for amount in dollars for symbol in stables]


def _held_symbol(amount: Amount, ref: PositionRef | None, context: PhraseContext) -> str:
    position = None if ref is None else position_of(ref, context)
    if position is None:
        return common_symbol(amount.symbol, context)
    symbols = [symbol for symbol in position.symbols if names_symbol(amount.symbol, symbol)]
    if amount.symbol in position.symbols:
        return amount.symbol
    if amount.symbol == "ETH" or len(symbols) != 1:
        raise UnclearSlotError(
            f"{position.words} does not hold {amount.symbol}. How much of which token?",
            [f"increase {ref} {amount.number} {symbol}" for symbol in symbols],
        )
    return symbols[0]


def swap_slot(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    symbols = list(sentence.symbols)
    pair = " ".join(symbols) if len(symbols) == 2 else "WETH USDC"
    example = f"How much of which token, for which? Like: swap 0.5 {pair}"
    if len(sentence.amounts) == 1:
        number, sold = sentence.amounts[0]
    elif len(sentence.numbers) == 1 and symbols and not sentence.amounts:
        number, sold = sentence.numbers[0].text, symbols[0]
    else:
        raise UnclearSlotError(example)
    others = [symbol for symbol in symbols if symbol != sold]
    if DOLLARS & set(sentence.words) and not others:
        stables = dict.fromkeys(
            symbol
            for position in context.held or ()
            for symbol in position.symbols
            if symbol in STABLE
        )
        lines = [f"swap {number} {common_symbol(sold, context)} {symbol}" for symbol in stables]
        raise UnclearSlotError("For which token?", lines)
    wraps = sentence.has("wrap", "unwrap")
    if len(others) != 1 or wraps or _is_bought(sold, sentence) or "from" in sentence.words:
        raise UnclearSlotError(example)
    return (f"{number} {common_symbol(sold, context)} {common_symbol(others[0], context)}",)


def _is_bought(symbol: str, sentence: Sentence) -> bool:
    """Whether the amount is of what is to come in: `i want 500 usdc for my weth`."""
    if sentence.has("buy"):
        return sentence.symbols[0] == symbol
    if sentence.symbols[0] != symbol and _is_paid_with(sentence):
        return False
    if sentence.symbols[0] != symbol:
        return not _is_led(sentence.symbols[0], sentence)
    if sentence.has("sell"):
        at = next(idea.place for idea in sentence.ideas if idea.name == "sell")
        named = (symbol_of(word) for word in sentence.words[at + 1 : at + 2])
        return any(known is not None and known != symbol for known in named)
    return not sentence.has("swap", "close", "add") and sentence.has("take", "want", "out")


def _is_paid_with(sentence: Sentence) -> bool:
    """`buy weth with 3000 usdc`: the amount is what is given."""
    led = zip(sentence.words, sentence.tokens[1:], strict=False)
    paid = {"with", "using"} | (set() if sentence.has("swap", "sell") else {"for"})
    return any(word in paid and token.number is not None for word, token in led)


_INTO = frozenset(("for", "into", "to"))


def _is_led(symbol: str, sentence: Sentence) -> bool:
    """`for weth 1500 usdc`: what is to come in is named first."""
    led = zip(sentence.words, sentence.words[1:], strict=False)
    return any(join in _INTO and symbol_of(word) == symbol for join, word in led)


def number_slot(verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    if len(sentence.amounts) == 1 and not sentence.percents:
        if sentence.amounts[0].symbol not in ("ETH", "WETH"):
            raise UnclearSlotError(f"`{verb}` takes ETH or WETH. Like: {verb} 0.5")
        return (sentence.amounts[0].number,)
    if len(sentence.numbers) == 1:
        return (sentence.numbers[0].text,)
    raise UnclearSlotError(f"How much? Like: {verb} 0.5")


def token_slot(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    if not sentence.symbols:
        if sentence.has("stable"):
            return ("USDC",)
        raise UnclearSlotError("Of which token? Like: price ETH")
    return (common_symbol(sentence.symbols[0], context),)


def create_slot(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    """The words of `create`: amounts, the other token, profile, fee, and prices."""
    if not sentence.amounts:
        raise UnclearSlotError(f"How much of what? {_example_create(sentence, context)}")
    parts = [f"{number} {common_symbol(symbol, context)}" for number, symbol in sentence.amounts]
    held = [common_symbol(symbol, context) for _, symbol in sentence.amounts]
    named = [common_symbol(symbol, context) for symbol in sentence.symbols]
    if held == ["ETH"] and "WETH" in named and len(named) > 2:
        # `enter weth usdc with 2 eth`
        held, parts = ["WETH"], [f"{sentence.amounts[0].number} WETH"]
    others = [symbol for symbol in named if symbol not in (*held, *(("ETH",) * (held == ["WETH"])))]
    if others:
        parts.append(f"with {others[0]}")
    fee = "" if sentence.fee is None else f"{plain(sentence.fee)}%"
    text = " ".join(sentence.words)
    exposure = (" ".join(said) for said in EXPOSURES if " ".join(said) in text)
    parts += filter(None, (sentence.profile, fee, next(exposure, "")))
    prices = _create_prices(sentence, [*held, *others], context)
    if prices is not None:
        parts.append(f"between {prices[0]} and {prices[1]}")
    elif sentence.has("widen") and sentence.profile is None:
        parts.append("aggressive" if {"tight", "narrow"} & set(sentence.words) else "conservative")
    network = f"on {sentence.network}" if sentence.network else ""
    return (" ".join((*parts, network)),)


def _example_create(sentence: Sentence, context: PhraseContext) -> str:
    """With the pair and the fee that were named."""
    if len(sentence.symbols) < 2:
        return _EXAMPLE_CREATE
    pair = "/".join(common_symbol(symbol, context) for symbol in sentence.symbols[:2])
    fee = "" if sentence.fee is None else f" {plain(sentence.fee)}%"
    return f"Like: create 0.5 {pair}{fee}"


def _create_prices(
    sentence: Sentence, symbols: Sequence[str], context: PhraseContext
) -> tuple[str, str] | None:
    prices, around = two_prices(sentence), width(sentence)
    if prices is not None:
        return plain(prices[0]), plain(prices[1])
    if around is None:
        return None
    if (centre := _centre(sentence)) is not None:
        return edges(centre, around)
    for position in context.held or ():
        same = all(any(names_symbol(name, held) for held in position.symbols) for name in symbols)
        if position.price is not None and same and len(symbols) > 1:
            return edges(position.price, around)
    raise UnclearSlotError(f"Between which two prices? {_EXAMPLE_CREATE}")


_WHOLE = 100
_ROUNDED_DOWN = frozenset((33, 66))
_KEPT_PART = re.compile(r"\bto (?:one )?(?:[0-9.]+ (?:%|percent)|half|third|quarter|fifth|tenth)\b")
_HOUR = 3_600
_ONE_OF_THEM = re.compile(r"\b(?:one|either|any) of\b")
_NOT_EMPTIED = frozenset(("collect", "compound", "decrease"))
_WITHOUT_NUMBERS = frozenset(("collect", "compound", "close"))
_HELP_VERBS = """
collect compound reduce:decrease close unwrap wrap buy:swap hedge open:create put:create swap
notify:alert add:increase take:decrease
"""


def _each(verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    meant = positions_meant(sentence, context)
    amounts = (f"{number} {symbol}" for number, symbol in sentence.amounts)
    parts = (f"{plain(percent.value)}%" for percent in sentence.percents)
    left = [*(token.text for token in sentence.numbers), *sentence.dollars, *amounts, *parts]
    if (
        meant.named
        and left
        and verb in _WITHOUT_NUMBERS
        and not (spoken_rhythms(sentence) and not sentence.numbers)
    ):
        raise UnclearSlotError(
            f"`{verb}` takes no {left[0]}. Type: {verb} and the position's number"
        )
    ids = meant.ids
    if len(ids) > 1 and verb in _NOT_EMPTIED and not sentence.ids:
        ids = tuple(ref for ref in ids if not _is_empty(ref, context))
    if meant.named and meant.sure and ids:
        return tuple(map(position_name, ids))
    if not meant.named and (missing := _unheld(sentence, context)) is not None:
        return missing
    if not meant.named and verb in ("recommend", "inspect") and context.it is not None:
        return (position_name(context.it),)
    raise _which(verb, ids if meant.named else context.positions, context)


def _several(verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    """All positions that are meant, in one line."""
    ids = _each(verb, sentence, context)
    if verb == "close" and not _speaks_of_positions(sentence):
        raise UnclearSlotError(
            f"All {len(ids)} positions, or the hedges?", [f"close {' '.join(ids)}", "unhedge all"]
        )
    if len(ids) > 1 and _ONE_OF_THEM.search(" ".join(sentence.words)):
        raise _which(verb, [read_ref(name) for name in ids], context)
    refs = [read_ref(name) for name in ids]
    unwraps = verb in _PAYS_OUT and all(ref.protocol == "v3" for ref in refs)
    plain_eth = unwraps and _IN_ETH.search(" ".join(sentence.words))
    return (" ".join((*ids, *(("--eth",) if plain_eth else ()))),)


_PAYS_OUT = frozenset(("collect", "close"))
_IN_ETH = re.compile(
    r"\b(?:(?:as|in|into)(?: real| native| plain)?|real|native|plain) eth(?:er)?\b"
)


_HELD_IN_ALL = ("positions", "position", "them", "liquidity", "fees", "out_of_range", "in_range")


def _speaks_of_positions(sentence: Sentence) -> bool:
    """`exit everything` may mean the hedges too; a state, a pair or a number means positions."""
    described = sentence.ids or sentence.described or sentence.fee is not None
    ranks = sentence.has("losing", "winning", "empty", "stable", "near_edge", "except")
    only_all = sentence.has("all") and not sentence.has("it", *_HELD_IN_ALL)
    return bool(described) or ranks or not only_all


def _unheld(sentence: Sentence, context: PhraseContext) -> Sequence[str] | None:
    """Numbers that are no position's of the wallet; where nobody has read it, taken as they are."""
    numbers = _whole_numbers(sentence)
    if not numbers:
        return None
    if context.positions or context.held is not None:
        raise UnclearSlotError(no_such_position(numbers[0], context))
    if len(numbers) > 1:
        raise NotReadYetError("positions")
    return numbers


def no_such_position(number: str, context: PhraseContext) -> str:
    held = [position_label(ref) for ref in context.positions]
    shown = f" You hold {list_names(held)}." if held else ""
    return f"You have no position #{number}.{shown} Which one do you mean?"


def _is_empty(ref: PositionRef, context: PhraseContext) -> bool:
    position = position_of(ref, context)
    return position is not None and position.standing == "empty"


def _which(verb: str, ids: Sequence[PositionRef], context: PhraseContext) -> UnclearSlotError:
    held = [position_of(ref, context) for ref in ids]
    names = [position.words for position in held if position is not None]
    known = f" You hold {list_names(names)}." if names else ""
    whole = verb not in ("decrease", "increase", "move")
    every = [f"{verb} all"] * (verb in ("collect", "compound") and tuple(ids) == context.positions)
    choices = [*every, *(f"{verb} {position_name(ref)}" for ref in ids if whole)]
    return UnclearSlotError(f"Which position?{known}", choices)


def _one(verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    ids = _each(verb, sentence, context)
    if len(ids) > 1:
        raise UnclearSlotError(f"`{verb}` takes one position at a time. Which?")
    return ids


def _whole_numbers(sentence: Sentence) -> list[str]:
    return [token.text for token in sentence.numbers if token.is_whole]


def _hedged(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    """Numbers as they are named: a hedge may outlive its position. Without one, every hedge."""
    numbers = _whole_numbers(sentence)
    if numbers or sentence.ids:
        return numbers or tuple(map(position_name, sentence.ids))
    meant = positions_meant(sentence, context)
    if meant.named and meant.sure and meant.ids and not sentence.has("all"):
        return tuple(map(position_name, meant.ids))
    if not sentence.has("all", "them") and "hedges" not in sentence.words:
        each = [f"unhedge {position_name(ref)}" for ref in context.positions]
        raise UnclearSlotError("Which hedge?", ["unhedge all", *each])
    return ("all",)


def _part(verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    if not sentence.percents and sentence.has("some"):
        raise UnclearSlotError(f"How many percent? Like: {verb} 7 50")
    if not sentence.percents:
        return ("",)
    return tuple(f" {percent}%" for percent in _percent(verb, sentence, context))


def _percent(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    if len(sentence.percents) > 1 or (sentence.percents and sentence.has("except")):
        raise UnclearSlotError("How many percent? One number, like: decrease 7 25")
    if not sentence.percents:
        raise _how_much(sentence, context)
    percent = sentence.percents[0]
    part = int(percent.value)
    if part != percent.value or not 0 < part <= _WHOLE:
        raise UnclearSlotError("Which part, in whole percent from 1 to 100?")
    if part == _WHOLE:
        return ("100",)
    if sentence.has("down_to") or _KEPT_PART.search(" ".join(sentence.words)):
        # A third is 33 % of what leaves, and 34 % of what stays: never more is taken than said.
        part = _WHOLE - part - (percent.worded and part in _ROUNDED_DOWN)
    return (str(part),)


def _how_much(sentence: Sentence, context: PhraseContext) -> UnclearSlotError:
    meant = positions_meant(sentence, context)
    if meant.sure and len(meant.ids) == 1:
        name, label = position_name(meant.ids[0]), position_label(meant.ids[0])
        if (share := _share_of_dollars(meant.ids[0], sentence, context)) is not None:
            return share
        said = _whole_numbers(sentence)
        choices = [f"decrease {name} {part}" for part in said or (25, 50)]
        return UnclearSlotError(f"How many percent of {label}?", [*choices, f"close {name}"])
    return UnclearSlotError("How many percent, of which position? Like: decrease 7 25")


def _share_of_dollars(
    ref: PositionRef, sentence: Sentence, context: PhraseContext
) -> UnclearSlotError | None:
    """`withdraw $500`: the parts of the position around it, which are what can be asked for."""
    coins = [number for number, symbol in sentence.amounts if symbol in STABLE]
    wanted = [Fraction(each) for each in (*sentence.dollars, *coins)]
    position = position_of(ref, context)
    worth = None if position is None else position.worth
    if len(wanted) != 1 or not worth or len(sentence.amounts) != len(coins):
        return None
    name, label, share = (
        position_name(ref),
        position_label(ref),
        Fraction(wanted[0] * _WHOLE, worth),
    )
    said = f"${plain(wanted[0], 2)}"
    if share >= _WHOLE:
        text = f"{said} is all of {label}, which is worth about ${plain(worth, 0)}."
        return UnclearSlotError(text, [f"close {name}"])
    parts = dict.fromkeys(part for part in (int(share), int(share) + 1) if 0 < part < _WHOLE)
    return UnclearSlotError(
        f"{said} is about {plain(share, 1)}% of {label}, in both of its tokens. In whole percent:",
        [f"decrease {name} {part}" for part in parts],
    )


def _prices(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    prices, around = two_prices(sentence), width(sentence)
    if prices is not None:
        return (f"{plain(prices[0])} {plain(prices[1])}",)
    meant = positions_meant(sentence, context)
    position = position_of(meant.ids[0], context) if len(meant.ids) == 1 else None
    centre = _centre(sentence) or (None if position is None else position.price)
    if around is not None and centre is not None:
        low, high = edges(centre, around)
        return (f"{low} {high}",)
    shown = meant.ids[0] if meant.ids else 7
    choices = [f"recommend {shown}"] if sentence.has("widen") and meant.ids else []
    raise UnclearSlotError(f"Between which two prices? Like: move {shown} 2900 3300", choices)


def _centre(sentence: Sentence) -> Fraction | None:
    """The one price around which a width is said."""
    prices = [*(token.number for token in sentence.numbers), *map(Fraction, sentence.dollars)]
    return prices[0] if len(prices) == 1 else None


_BELOW, _ABOVE = frozenset(("below", "under", "beneath", "<")), frozenset(("above", "over", ">"))


def _sides(sentence: Sentence) -> tuple[bool, bool]:
    """Whether a price below is meant, and one above; `breaks below` is below."""
    words = frozenset(sentence.words)
    plainly = not words.isdisjoint(_BELOW), not words.isdisjoint(_ABOVE)
    if any(plainly):
        return plainly
    return sentence.has("below", "falls"), sentence.has("above", "rises", "take_profit")


def _price_alert(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    levels = _levels(sentence) or [amount.number for amount in sentence.amounts]
    if len(levels) != 1 or len(sentence.symbols) != 1:
        raise UnclearSlotError("At which price of which token? Like: alert ETH below 3000")
    symbol, level = common_symbol(sentence.symbols[0], context), levels[0]
    below, above = _sides(sentence)
    if below == above:
        lines = [f"alert {symbol} {side} {level}" for side in ("below", "above")]
        raise UnclearSlotError(f"When {symbol} falls below {level}, or rises above it?", lines)
    return (f"{symbol} {'below' if below else 'above'} {level}",)


def _levels(sentence: Sentence) -> list[str]:
    """The prices that are named."""
    return [*(token.text for token in sentence.numbers), *sentence.dollars]


_GAINED = frozenset(("made", "gain", "gained", "profit", "earned", "won", "up"))


def _order_condition(_verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    """When an order closes a position: a price, a share lost, or a time out of range."""
    levels = _levels(sentence)
    below, above = _sides(sentence)
    fell = sentence.has("falls") and not {"value", "worth"}.isdisjoint(sentence.words)
    lost = (fell or sentence.has("stop_loss", "losing", "lost")) and not sentence.described
    if sentence.percents and lost and not levels and _GAINED.isdisjoint(sentence.words):
        percent = f"loss-over {plain(sentence.percents[0].value)}%"
        return (f"{percent}{_order_ends(sentence)}",)
    if sentence.has("out_of_range") and sentence.seconds is not None and not levels:
        return (f"out-of-range {span_text(max(60, sentence.seconds))}{_order_ends(sentence)}",)
    if len(levels) != 1 or (below == above and not sentence.has("stop_loss")):
        raise UnclearSlotError(
            "When? Below or above one price, after a time out of range, or over a share lost, "
            "like: order close 28 below 2900, out-of-range 2h or loss-over 5%"
        )
    side = "above" if above and not below else "below"
    hold = "" if sentence.seconds is None else f" --hold {span_text(sentence.seconds)}"
    return (f"{side} {levels[0]}{_order_ends(sentence)}{hold}",)


def _order_where(_verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    """Where an order moves a range to."""
    levels = _levels(sentence)
    side = "down" if sentence.has("falls", "below", "down_to") else "up"
    if len(levels) != 1:
        raise UnclearSlotError(f"How far {side}? Name the price where its new range ends.")
    moves = "" if sentence.times is None else f" --follow {sentence.times}"
    return (f"{side} to {levels[0]}{_order_ends(sentence)}{moves}",)


def _order_repeats(_verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    """How often an order collects or compounds, and from which worth of fees on."""
    rhythm = repeated_every(sentence)
    if rhythm is None or len(sentence.dollars) > 1:
        raise UnclearSlotError(
            "How often, and from which worth of fees on? Like: order collect 28 every 7d over $50"
        )
    least = "".join(f" over ${worth}" for worth in sentence.dollars)
    times = "" if sentence.times is None else f" times {sentence.times}"
    return (f"every {rhythm}{least}{times}{_order_ends(sentence)}",)


def _order_ends(sentence: Sentence) -> str:
    return f" until {sentence.days[0]}" if len(sentence.days) == 1 else ""


def _alert(verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    """Alerts by their number, by their position, or all of them."""
    numbers = _whole_numbers(sentence)
    named = [number for number in numbers if number in context.alerts]
    if named:
        return named
    meant = positions_meant(sentence, context)
    if sentence.ids or (meant.named and meant.sure and not sentence.has("all")):
        about = [alert for alert, ref in context.alerts_of or () if ref in meant.ids]
        if about:
            return about
        if context.alerts_of is not None:
            which = list_names(map(position_label, meant.ids))
            raise UnclearSlotError(f"There is no open alert about {which}.")
    ordinal = next((place for place, word in enumerate(_ORDINALS) if word in sentence.words), None)
    if ordinal is not None and ordinal < len(context.alerts):
        return (context.alerts[ordinal],)
    if sentence.has("all"):
        return ("all",)
    if numbers and context.alerts_of is None:
        return numbers
    raise UnclearSlotError("Which alert?", [f"{verb} {alert}" for alert in context.alerts])


_SPENDERS = {
    "permit2": "Permit2",
    **dict.fromkeys(("positionmanager", "manager"), "PositionManager"),
    **dict.fromkeys(("universalrouter", "router"), "UniversalRouter"),
}


_TAKES_BACK = ("take", "withdraw", "cancel", "undo", "close", "reduce")


def _permission(_verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    """Of which token, and for whom, a permission is taken back; without these they are listed."""
    takes = "revoke" in sentence.words or sentence.has(*_TAKES_BACK)
    if not takes or len(sentence.symbols) > 1:
        return ("",)
    if sentence.has("except", "not"):
        raise UnclearSlotError("Which permission? `revoke` lists them. Like: revoke USDC Permit2")
    spenders = [_SPENDERS[word] for word in sentence.words if word in _SPENDERS]
    everything = ["all"] if sentence.has("all") else []
    return (" ".join((*sentence.symbols, *spenders) if sentence.symbols else everything),)


def _removed(_verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    """A price alert by the number that `alert list` shows."""
    numbers = _whole_numbers(sentence)
    if len(numbers) != 1 or sentence.ids or sentence.symbols:
        raise UnclearSlotError("Which price alert? `alert` numbers them. Like: alert remove 2")
    return numbers


_CLOCK_TIME = re.compile(
    r"(?:(?:at|by) )?(?:[0-9]{1,2}(?::[0-9]{2})? ?[ap]m|[0-9]{1,2}:[0-9]{2}|noon|midnight)"
)
_VAGUE_TIMES = frozenset(("weekend", "night", "ever", "forever", "always", "while", "bit"))
_SPANS = (("d", 86_400), ("h", _HOUR), ("m", 60), ("s", 1))
_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def _time(_verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    if sentence.seconds is None and (clock := clock_of(sentence)):
        return (f"until {clock}",)
    vague = sentence.has("if", "later") or not _VAGUE_TIMES.isdisjoint(sentence.words)
    if sentence.seconds is None and vague:
        raise UnclearSlotError("For how long? Like: mute 3 for 8h")
    return (f"for {span_text(_seconds(sentence))}",)


def clock_of(sentence: Sentence) -> str:
    """`until tomorrow 8am`: when something ends, as `alerts mute` takes it; empty without it."""
    times = [time for time in clock_times(sentence) if _CLOCK_TIME.fullmatch(time)]
    day = "tomorrow " if "tomorrow" in sentence.words else ""
    return f"{day}{times[0]}" if len(times) == 1 else ""


def span_text(seconds: int) -> str:
    unit, size = next((unit, size) for unit, size in _SPANS if seconds % size == 0)
    return f"{seconds // size}{unit}"


def _seconds(sentence: Sentence) -> int:
    if sentence.seconds is not None:
        return sentence.seconds
    words = set(sentence.words)
    spans = {"day": 24, "week": 168, "hour": 1, "night": 8}
    return _HOUR * next((hours for word, hours in spans.items() if word in words), 1)


_OPTIONS = frozenset(("option", "candidate", "alternative"))


_LETTERED = re.compile(r"\b(?:option|candidate|alternative|variant|version) ([a-f0-9])\b")


def _candidate(verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    named = [known for known in context.candidates if known.lower() in sentence.words]
    if len(named) == 1:
        return named
    lettered = _LETTERED.findall(" ".join(sentence.words))
    if lettered and not context.candidates:
        return [lettered[0].upper()]
    if verb == "approve" and not (named or lettered or sentence.numbers):
        return ("",)
    lines = [f"{verb} {known}" for known in context.candidates]
    raise UnclearSlotError(f"{verb.capitalize()} which option?", lines)


def _tried(_verb: str, sentence: Sentence, context: PhraseContext) -> Sequence[str]:
    """The option that is named; without one, the plan on the card."""
    words = sentence.words
    letter = len(words) > 1 and len(words[-1]) == 1 and words[-1].isalpha()
    named = _OPTIONS.union(map(str.lower, context.candidates)) - {"1", "2"}
    if not (letter or named & set(words)):
        return ("",)
    return _candidate("simulate", sentence, context)


def _change(_verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    """A change in percent, or a level it goes to."""
    if sentence.percents:
        percent = sentence.percents[0]
        return (_signed(percent.value, sentence, percent.sign),)
    levels = _levels(sentence)
    if len(levels) != 1:
        if sentence.has("rises") and "doubles" in sentence.words:
            return ("100",)
        if sentence.has("falls") and not {"halves", "halved"}.isdisjoint(sentence.words):
            return ("-50",)
        raise UnclearSlotError("By how many percent, or to which price? Like: what-if ETH -10")
    sign = sentence.numbers[0].sign if sentence.numbers else ""
    if Fraction(levels[0]) < _WHOLE and (sign or sentence.has("falls", "rises")):
        return (_signed(Fraction(levels[0]), sentence, sign),)
    return (f"at {levels[0]}",)


def _signed(value: Fraction, sentence: Sentence, sign: str) -> str:
    falls = sign == "-" or (sentence.has("falls") and sign != "+")
    if not falls and not sign and not sentence.has("rises"):
        raise UnclearSlotError("Up or down? Like: what-if ETH -10")
    return f"{'-' if falls else ''}{plain(value)}"


_PERIODS = {each: each for each in ("today", "yesterday", "week", "month")} | {"ever": "all"}


_PERIOD_SECONDS = {86_400: "today", 7 * 86_400: "week", 30 * 86_400: "month"}


def _period(_verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    named = next((idea for idea in _PERIODS if sentence.has(idea)), "")
    known_time = sentence.seconds in _PERIOD_SECONDS
    if not known_time and (sentence.seconds is not None or sentence.has("other_period")):
        raise UnclearSlotError(
            "Fees are counted for today, yesterday, the last week, the last month, or all days.",
            [f"earned {_PERIODS[idea]}" for idea in _PERIODS],
        )
    return (_PERIODS.get(named) or _PERIOD_SECONDS.get(sentence.seconds or 0, ""),)


def kept_coin(sentence: Sentence) -> str:
    """The token that no move may sell: `keep my eth`, `do not sell eth`, `i need eth in march`."""
    keeps = sentence.has("keep") or (sentence.has("not") and sentence.has("sell", "swap"))
    needs = keeps or not {"need", "needing"}.isdisjoint(sentence.words)
    return sentence.described[0] if needs and len(sentence.described) == 1 else ""


def _kept(_verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    coin = kept_coin(sentence)
    day = f" until {sentence.days[0]}" if len(sentence.days) == 1 else ""
    return (f" keep {coin}{day}" if coin else "",)


def _help_verb(_verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    if not sentence.has("how_to"):
        return ("",)
    pairs = (pair.partition(":") for pair in _HELP_VERBS.split())
    return (next((verb or idea for idea, _, verb in pairs if sentence.has(idea)), ""),)


_THEMES = {"light": "zuno-light", "dark": "zuno-dark", "contrast": "zuno-high-contrast"}


def theme_of(words: Sequence[str]) -> str | None:
    return next((theme for word, theme in _THEMES.items() if word in words), None)


def unit_of(sentence: Sentence) -> str | None:
    """What worth is counted in: ether or dollars."""
    words = sentence.words
    for join in ("than", "instead"):
        words = words[: words.index(join)] if join in words else words
    if DOLLARS & set(words):
        return "usd"
    return "eth" if sentence.symbols == ("ETH",) else None


def _name(_verb: str, sentence: Sentence, _context: PhraseContext) -> Sequence[str]:
    """What is called so, else the last word that nothing reads."""
    unread = [word for word in sentence.words if word[0].isalpha() and not is_spoken_here(word)]
    named = sentence.names[:1] or unread[-1:]
    if not named:
        raise UnclearSlotError("Which wallet? Like: wallet use cold")
    return named


FILLERS: dict[str, Filler] = {
    "alert": _alert,
    "amount": amount_slot,
    "candidate": _candidate,
    "change": _change,
    "condition": _order_condition,
    "repeats": _order_repeats,
    "where": _order_where,
    "create": create_slot,
    "each": _each,
    "hedged": _hedged,
    "ids": lambda _verb, sentence, _context: (
        " ".join((*map(position_name, sentence.ids), *_whole_numbers(sentence))),
    ),
    "name": _name,
    "network": lambda _verb, sentence, _context: (sentence.network or "",),
    "kept": _kept,
    "number": number_slot,
    "one": _one,
    "part": _part,
    "percent": _percent,
    "period": _period,
    "permission": _permission,
    "price_alert": _price_alert,
    "prices": _prices,
    "profile": lambda _verb, sentence, _context: (f" {sentence.profile or ''}",),
    "removed": _removed,
    "several": _several,
    "swap": swap_slot,
    "term": lambda _verb, sentence, _context: (
        term.name if (term := named_term(sentence)) else "",
    ),
    "theme": lambda _verb, sentence, _context: (theme_of(sentence.words) or "",),
    "time": _time,
    "token": token_slot,
    "tried": _tried,
    "unit": lambda _verb, sentence, _context: (unit_of(sentence) or "",),
    "verb": _help_verb,
    "whole": lambda _verb, sentence, _context: (
        next(iter((*_whole_numbers(sentence), *map(position_name, sentence.ids))), ""),
    ),
}
