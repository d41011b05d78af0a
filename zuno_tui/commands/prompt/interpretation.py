"""What a phrase comes to, and what is asked back though its words are understood."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.base.spelling import one_slip_apart
from chain.contracts.networks import all_networks
from zuno_tui.commands.create import CreatePosition
from zuno_tui.commands.inspect import Inspect
from zuno_tui.commands.move import MovePosition
from zuno_tui.commands.range import ChooseRange
from zuno_tui.commands.registry import registry
from zuno_tui.commands.swap import SwapTokens
from zuno_tui.phrases.create_phrase import parse_create
from zuno_tui.phrases.named_networks import network_called
from zuno_tui.phrases.phrase_error import PhraseError
from zuno_tui.phrases.spoken.sentence import symbols_anywhere
from zuno_tui.phrases.spoken.targets import called, held_as

if TYPE_CHECKING:
    from zuno_tui.commands.command import Intent
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.phrase_error import Misunderstood

_ASKED_POLITELY = re.compile(
    r"^\W*(?:(?:hey|hi|hello|ok|okay|gm|yo|zuno)\W+)*"
    r"(?:can|could|will|would|please|pls|plz|kindly|mind|may)\b",
    re.IGNORECASE,
)
_NEAR = Fraction(3, 2)
_FAR = Fraction(4)
"""A range that ends so many times below the price, or begins above it, was hardly meant."""
_WIDELY_KNOWN = frozenset(("ETH", "WETH", "USDC", "USDT", "WBTC", "BITCOIN", "ETHEREUM", "DAI"))
_SLIPS = (10, 100, 1_000)


class Interpretation(Struct, frozen=True):
    """What a phrase comes to: commands in order, a question back, an answer, or none of these."""

    intents: tuple[Intent, ...] = ()
    question: str | None = None
    choices: tuple[str, ...] = ()
    """What to type, as command lines where there are such."""
    answer: str | None = None
    misunderstood: Misunderstood | None = None


def leads_to_signature(intent: Intent) -> bool:
    command = registry().command_of(intent)
    return command.order is not None or any(verb.money for verb in command.verbs)


def is_question(text: str) -> bool:
    """Whether it ends as one and is no order that is asked for politely."""
    return text.rstrip().endswith("?") and _ASKED_POLITELY.match(text) is None


def questioned(found: Interpretation, text: str, context: PhraseContext) -> Interpretation:
    """A question where the words are understood, but not surely meant: `close 26?`."""
    if not found.intents:
        return found
    unread = _unreadable(found, context)
    if unread is not None:
        return Interpretation(question=unread)
    doubt = _misspelt(found, context) or _upside_down(found) or _for_itself(found)
    doubt = doubt or _far_from_price(found, text, context)
    if doubt is not None:
        return doubt
    if is_question(text) and (looked_at := _looked_at(found)) is not None:
        return Interpretation((looked_at,))
    if is_question(text) and any(map(leads_to_signature, found.intents)):
        return Interpretation(
            question="Is that a question, or is it to be prepared?",
            choices=tuple(intent.twin for intent in found.intents),
        )
    return found


def _looked_at(found: Interpretation) -> Inspect | None:
    """`range 26?` asks for the range it has; without the mark another one is chosen."""
    (intent, *others) = found.intents
    if others or not isinstance(intent, ChooseRange) or intent.low is not None:
        return None
    return None if intent.token_id is None else Inspect(intent.token_id)


def _misspelt(found: Interpretation, context: PhraseContext) -> Interpretation | None:
    """A token that nobody knows, where one slip leads to a known one: `swap 1 WETH UDSC`."""
    for intent in found.intents:
        for field in ("symbol", "sold", "bought"):
            named = getattr(intent, field, None)
            if not isinstance(named, str) or not named.isalpha():
                continue
            close = _known_but_for_slip(named.upper(), context)
            if close:
                return Interpretation(
                    question=f"I know no token {named}. Is this meant?",
                    choices=tuple(replace(intent, **{field: one}).twin for one in close),
                )
    return None


def _known_but_for_slip(symbol: str, context: PhraseContext) -> tuple[str, ...]:
    held = {one for position in context.held or () for one in position.symbols}
    if symbol in held or symbol in symbols_anywhere():
        return ()
    known = sorted(held | _WIDELY_KNOWN)
    return tuple(
        dict.fromkeys(called(one, context) for one in known if one_slip_apart(symbol, one))
    )


def _unreadable(found: Interpretation, context: PhraseContext) -> str | None:
    """What keeps a position from being opened by the words of `create`."""
    opened = (one for one in found.intents if isinstance(one, CreatePosition))
    return next(filter(None, (_fault(one, context) for one in opened)), None)


def is_readable(intent: CreatePosition, context: PhraseContext) -> bool:
    return _fault(intent, context) is None


def opened_in_words(intent: CreatePosition, context: PhraseContext) -> str:
    """What is to be opened, in the words of `create`; PhraseError where that is not clear."""
    network = network_called((context.network,)) or all_networks()[0]
    return parse_create(intent.phrase, network).understood


def _fault(intent: CreatePosition, context: PhraseContext) -> str | None:
    try:
        opened_in_words(intent, context)
    except PhraseError as error:
        return str(error)
    return None


def _far_from_price(
    found: Interpretation, text: str, context: PhraseContext
) -> Interpretation | None:
    """`move 30 to 290 330` at a price of 3,100; the command itself, typed exactly, is followed."""
    moves = [one for one in found.intents if isinstance(one, MovePosition)]
    for intent in moves:
        held = held_as(intent.token_id, context)
        exact = text.strip().removeprefix("zuno ") == intent.title
        if exact or held is None or held.price is None or not _is_far(intent, held.price):
            continue
        meant = (_times(intent, times) for slip in _SLIPS for times in (slip, Fraction(1, slip)))
        near = [one for one in meant if not _is_far(one, held.price, times=_NEAR)]
        return Interpretation(
            question=f"That is far from the price, which is {float(held.price):g}. Which is meant?",
            choices=tuple(one.twin for one in (*near, intent)),
        )
    return None


def _for_itself(found: Interpretation) -> Interpretation | None:
    """`swap 1 weth to weth`."""
    swaps = (one for one in found.intents if isinstance(one, SwapTokens))
    same = any(one.sold.upper() == one.bought.upper() for one in swaps)
    return Interpretation(question="For which other token?") if same else None


def _upside_down(found: Interpretation) -> Interpretation | None:
    """`move 27 3300 2900`: the lower price is named last."""
    turned = [
        replace(one, low=one.high, high=one.low)
        for one in found.intents
        if isinstance(one, MovePosition) and Fraction(one.low) > Fraction(one.high)
    ]
    if not turned:
        return None
    question = "The lower price comes first. Is this meant?"
    return Interpretation(question=question, choices=tuple(one.twin for one in turned))


def _is_far(intent: MovePosition, price: Fraction, *, times: Fraction = _FAR) -> bool:
    return Fraction(intent.high) * times < price or Fraction(intent.low) > price * times


def _times(intent: MovePosition, times: Fraction | int) -> MovePosition:
    low, high = (float(Fraction(edge) * times) for edge in (intent.low, intent.high))
    return replace(intent, low=f"{low:.10g}", high=f"{high:.10g}")
