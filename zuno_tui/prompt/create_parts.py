"""What a create phrase is made of: amounts, tokens, conditions, and words nobody knows."""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from functools import cache

from msgspec import Struct

from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import ExposureBias
from chain.base.units import PIPS, Numeral, NumeralError, read_numeral
from chain.contracts.networks import Address, Network, all_networks
from chain.protocols.rows import PROTOCOLS
from chain.tokens.token import TokenClass, all_listed_symbols, listed_tokens
from zuno_tui.intents.pieces import SEPARATOR, PhrasePiece, PieceKind, Words, longest, past


class Part(Enum):
    """What a word does in a phrase when it is no condition of its own."""

    FILLER = auto()
    """Says nothing, and separates what stands around it."""
    LINK = auto()
    """Says nothing, and may stand between an amount and its token."""
    PARTNER = auto()
    """The other token of the pair follows."""
    KEEP = auto()
    """The token to stay long in follows."""
    BASIS_POINTS = auto()
    """The number before it is a fee."""
    BETWEEN = auto()
    """The two prices of a range follow."""


class Refusal(Struct, frozen=True):
    """Words that mean something, but nothing zuno would guess at."""

    sentence: str


Meaning = RiskProfile | ExposureBias | Part | Refusal

_WIDTHS = Refusal("The risk decides the width: say conservative, balanced or aggressive.")
_NUMBERS = Refusal("Amounts are numbers, like 0.5 WETH or 1,000 USDC.")

_RISKS: tuple[tuple[RiskProfile, Words], ...] = (
    (
        RiskProfile.CONSERVATIVE,
        ("conservative", "passive", "safe", "cautious", "careful", "defensive"),
    ),
    (RiskProfile.BALANCED, ("balanced", "moderate", "medium", "normal")),
    (RiskProfile.AGGRESSIVE, ("aggressive", "active", "yolo", "degen", "spicy", "risky")),
)
"""Each may end in -ly."""

_PHRASES: tuple[tuple[Meaning, Words], ...] = (
    (RiskProfile.BALANCED, ("neutral risk", "risk neutral")),
    (ExposureBias.NEUTRAL, ("neutral", "50/50")),
    (ExposureBias.LONG_TOKEN, ("stay long", "stay in", "long exposure", "long token")),
    (ExposureBias.LONG_TOKEN, ("don't sell", "dont sell", "do not sell")),
    (Part.FILLER, ("create", "open", "mint", "provide", "add", "deposit", "please", "new", "and")),
    (Part.FILLER, ("position", "lp", "liquidity", "range", "pool", "pair", "network", "chain")),
    (Part.FILLER, ("into", "using", "in", "at", "fee", "tier", "risk", "profile", "exposure")),
    (Part.LINK, ("a", "an", "of", "the", "my")),
    (Part.PARTNER, ("with", "against", "vs")),
    (Part.KEEP, ("keep", "hold")),
    (Part.BETWEEN, ("between", "from")),
    (Part.BASIS_POINTS, ("bps", "bp", "bips", "basis points")),
    (_WIDTHS, ("stay in range", "wide", "wider", "narrow", "narrower", "tight", "tighter")),
    (_NUMBERS, ("half", "all", "everything", "max", "some")),
)


def _by_words() -> dict[Words, Meaning]:
    meanings: dict[Words, Meaning] = {}
    for meaning, phrases in _PHRASES:
        meanings.update((tuple(phrase.split()), meaning) for phrase in phrases)
    for profile, words in _RISKS:
        meanings.update(((form,), profile) for word in words for form in (word, f"{word}ly"))
    return meanings


MEANINGS = _by_words()
EXPOSURES = tuple(
    words
    for words, meaning in MEANINGS.items()
    if meaning is ExposureBias.LONG_TOKEN and words[0] == "stay"
)
INTRODUCES_KEPT = frozenset(("in", "to", "my", "the", "of"))
"""What may stand between `stay long` and the token it speaks of."""


class KnownToken(Struct, frozen=True):
    address: Address
    symbol: str
    decimals: int
    stable: bool
    """Whether it follows a currency: then `stay long` alone hardly means this one."""


@cache
def known_tokens(network: Network) -> dict[str, KnownToken]:
    """The network's bundled tokens, by symbol and by address, both in small letters."""
    known = [
        KnownToken(
            item.token.address,
            item.token.symbol,
            item.token.decimals,
            stable=item.kind in (TokenClass.DOLLAR, TokenClass.EURO),
        )
        for item in listed_tokens(network).tokens
        if item.token.decimals is not None
    ]
    by_symbol = {token.symbol.lower(): token for token in known}
    return by_symbol | {token.address: token for token in known}


@cache
def known_symbols(network: Network) -> Words:
    return tuple(dict.fromkeys(token.symbol for token in known_tokens(network).values()))


@cache
def vocabulary(network: Network) -> Words:
    """All that can be offered in place of a word nobody knows."""
    meant = (words for words, meaning in MEANINGS.items() if not isinstance(meaning, Refusal))
    networks = (f"on {known.name}" for known in all_networks())
    return (*known_symbols(network), *(" ".join(words) for words in meant), *networks)


_JOINS = ("/", "-")
_BETWEEN_PRICES = frozenset(("and", "to", "-", "$", "usd", "the"))
_MARKS_REFUSED = {
    "%": "'%' needs a number before it, like 0.3%.",
    "$": "'$' is not a token: name the one you have, like 1,000 USDC.",
}
# Fees are counted in pips: ten to the fourth of them in a percent, a hundred in a basis point.
_PERCENT_PLACES = 4
_BASIS_POINT_PLACES = 2


class Separator(Struct, frozen=True):
    """Nothing in itself, but no amount reaches over it for its token."""


class Mention(Struct, frozen=True):
    token: KnownToken
    partner: bool
    """Introduced as the other side of the pair."""


class NamedPair(Struct, frozen=True):
    first: KnownToken
    second: KnownToken

    @property
    def name(self) -> str:
        return f"{self.first.symbol}/{self.second.symbol}"


class Exposure(Struct, frozen=True):
    bias: ExposureBias
    kept: KnownToken | None
    """The token to stay long in, where it was named."""


class Fee(Struct, frozen=True):
    pips: int


class OnProtocol(Struct, frozen=True):
    """Whose pools are meant, like `in a v3 pool`."""

    name: str


class PriceBounds(Struct, frozen=True):
    """The two prices between which liquidity is to work."""

    low: Numeral
    high: Numeral


class UnknownWord(Struct, frozen=True):
    text: str


class UnknownToken(Struct, frozen=True):
    """A word where a token belongs, but none of the network's list."""

    text: str


class Wrong(Struct, frozen=True):
    """Something that is understood and cannot be followed."""

    sentence: str


Named = Mention | NamedPair | Exposure | Fee | OnProtocol | PriceBounds | RiskProfile | Numeral
PhrasePart = Named | Separator | UnknownWord | UnknownToken | Wrong


_PROTOCOLS = frozenset(row.name for row in PROTOCOLS)


def read_parts(pieces: Sequence[PhrasePiece], network: Network) -> tuple[PhrasePart, ...]:
    """A phrase in order; each piece ends up in a part, and only words that say nothing are left."""
    return tuple(_Reader(pieces, known_tokens(network)).parts())


class _Reader:
    """Walks over the pieces once, always taking the longest thing that begins where it stands."""

    def __init__(self, pieces: Sequence[PhrasePiece], tokens: Mapping[str, KnownToken]) -> None:
        self._pieces = pieces
        self._tokens = tokens
        self._at = 0

    def parts(self) -> list[PhrasePart]:
        parts: list[PhrasePart] = []
        partner = False
        while self._at < len(self._pieces):
            known = self._meaning()
            if known is None:
                parts.append(self._named(partner=partner))
                partner = False
                continue
            meaning, end = known
            typed = " ".join(piece.text for piece in self._pieces[self._at : end])
            self._at = end
            if meaning is not Part.LINK:
                between = meaning is Part.BETWEEN
                parts.append(self._between(typed) if between else self._meant(meaning, typed))
                partner = meaning is Part.PARTNER
        return parts

    def _meant(self, meaning: Meaning, typed: str) -> PhrasePart:
        """What words of the tables say; some of them look at what follows."""
        match meaning:
            case RiskProfile():
                return meaning
            case ExposureBias.NEUTRAL:
                return Exposure(meaning, None)
            case ExposureBias.LONG_TOKEN:
                return self._stay_long()
            case Part.KEEP:
                return self._keep(typed)
            case Refusal(sentence):
                return Wrong(f"{typed!r} is not understood. {sentence}")
        lonely = Wrong(f"{typed!r} needs a number before it, like 30bps.")
        return lonely if meaning is Part.BASIS_POINTS else Separator()

    def _named(self, *, partner: bool) -> PhrasePart:
        """A number, a token, a mark, or something nobody knows."""
        piece = self._pieces[self._at]
        self._at += 1
        if piece.kind is PieceKind.NUMBER:
            return self._number(piece)
        if piece.kind is PieceKind.MARK:
            sentence = _MARKS_REFUSED.get(piece.text)
            return Wrong(sentence) if sentence else Separator()
        if piece.word in _PROTOCOLS:
            return OnProtocol(piece.word)
        token = self._tokens.get(piece.word)
        if token is None:
            expected = partner or self._token_expected(self._at - 1)
            return UnknownToken(piece.text) if expected else UnknownWord(piece.text)
        second = self._joined(self._at)
        if second is None:
            return Mention(token, partner)
        self._at += 2
        return NamedPair(token, second)

    def _number(self, piece: PhrasePiece) -> PhrasePart:
        places, unit = self._fee_unit()
        try:
            numeral = read_numeral(piece.text)
        except NumeralError as error:
            return Wrong(str(error))
        if not unit:
            return numeral
        pips = numeral.scale(places)
        if pips is None:
            return Wrong(f"No pool charges {piece.text}{unit}: fees go in steps of 0.0001%.")
        if not 0 <= pips <= PIPS:
            return Wrong(f"No pool charges {piece.text}{unit}: a fee lies between 0% and 100%.")
        return Fee(pips)

    def _fee_unit(self) -> tuple[int, str]:
        """Steps over what makes the number before it a fee; an empty unit where it is none."""
        if self._word(self._at) == "%":
            self._at += 1
            return _PERCENT_PLACES, "%"
        known = self._meaning()
        if known is None or known[0] is not Part.BASIS_POINTS:
            return 0, ""
        self._at = known[1]
        return _BASIS_POINT_PLACES, "bps"

    def _keep(self, typed: str) -> PhrasePart:
        place = past(self._pieces, self._at, INTRODUCES_KEPT)
        if self._word(place) in self._tokens or self._is_number(place):
            return self._stay_long()
        return Wrong(f"{typed!r} needs the token to keep after it, like keep my WETH.")

    def _between(self, typed: str) -> PhrasePart:
        """Two prices, as in `between 2900 and 3300`, `from 2900 to 3300` or `between 2.9k-3.3k`."""
        refused = Wrong(f"{typed!r} needs two prices after it, like between 2900 and 3300.")
        found: list[Numeral] = []
        for _ in range(2):
            self._at = past(self._pieces, self._at, _BETWEEN_PRICES)
            if not self._is_number(self._at):
                return refused
            try:
                found.append(read_numeral(self._pieces[self._at].text.lstrip("-")))
            except NumeralError as error:
                return Wrong(str(error))
            self._at += 1
        found[0] = _with_scale_of(found[1], found[0])
        low, high = sorted(found, key=lambda numeral: numeral.value)
        return refused if low.digits <= 0 else PriceBounds(low, high)

    def _stay_long(self) -> Exposure:
        """Staying long, in the token that follows if one does."""
        place = past(self._pieces, self._at, INTRODUCES_KEPT)
        kept = self._tokens.get(self._word(place))
        if kept is None or self._joined(place + 1) is not None:
            return Exposure(ExposureBias.LONG_TOKEN, None)
        self._at = place + 1
        return Exposure(ExposureBias.LONG_TOKEN, kept)

    def _joined(self, place: int) -> KnownToken | None:
        """The second token of a pair, where its slash or hyphen stands here."""
        return self._tokens.get(self._word(place + 1)) if self._word(place) in _JOINS else None

    def _token_expected(self, place: int) -> bool:
        """Whether a token belongs here: beside an amount or a slash, or it is one elsewhere."""
        word = self._word(place)
        before = self._pieces[place - 1] if place else SEPARATOR
        return (
            before.kind is PieceKind.NUMBER
            or "/" in (before.text, self._word(place + 1))
            or word.startswith("0x")
            or word in _symbols_anywhere()
        )

    def _meaning(self) -> tuple[Meaning, int] | None:
        return longest(self._pieces, self._at, MEANINGS)

    def _is_number(self, place: int) -> bool:
        return place < len(self._pieces) and self._pieces[place].kind is PieceKind.NUMBER

    def _word(self, place: int) -> str:
        return self._pieces[place].word if place < len(self._pieces) else ""


def _with_scale_of(high: Numeral, low: Numeral) -> Numeral:
    """`between 2.8 and 3.4k`: the scale of the second is the first's too."""
    scaled = f"{low.text}{high.text[-1]}"
    if high.text[-1].isdigit() or not low.text[-1].isdigit() or low.value >= high.value:
        return low
    return read_numeral(scaled) if read_numeral(scaled).value < high.value else low


@cache
def _symbols_anywhere() -> frozenset[str]:
    return frozenset(symbol.lower() for symbol in all_listed_symbols())
