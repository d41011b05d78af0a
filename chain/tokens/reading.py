"""Reading tokens nobody listed, believed no further than themselves, and what a wallet holds."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.clean_text import SYMBOL_LIMIT, clean_symbol
from chain.base.store import Store
from chain.base.units import Known, Quantity, Unknown
from chain.contracts.abi import WORD, AbiError, decode, encode_call
from chain.contracts.networks import NATIVE, Address, Network
from chain.read.block_reader import OneBlock
from chain.rpc.errors import Reverted, RpcRefused, TooLarge
from chain.rpc.records import Block, BlockRef
from chain.rpc.requests import Call, CallOutcome, Reader, multicall
from chain.tokens.token import MOST_DECIMALS, Token, listed_symbols, listed_token

if TYPE_CHECKING:
    from chain.rpc.client import RpcClient

# Any number of tokens is one multicall. A token may answer anything or nothing; it stays a token
# with an address, and whatever cannot be used of its answer is left out.
# A small table of our own for the letters that token symbols use. It need not hold every
# confusable letter there is: an unlisted token is never shown as a known one, whatever it calls
# itself.
_LOOKS_LIKE = {
    "a": "ΑαАаᎪᗅꓮⲀɑᴀΛ₳",
    "b": "ΒВвᏴᗷꓐⲂЬьƄʙß₿",
    "c": "ϹСсᏟᑕꓚⲤϲᴄ¢©₵",
    "d": "ĐđÐðᎠᗞꓓԁɖɗƊᴅ₫",
    "e": "ΕЕеᎬꓰⲈҽєεℯᴇ€ƐΞΣ",
    "f": "ϜҒғᖴꓝƑƒꜰ₣",
    "g": "ԌᏀꓖɡցɢ₲",
    "h": "ΗНнᎻꓧⲎһհҺʜĦħ",
    "i": "ΙІіӀıιᎥꓲⲒɪℹ|!¡",
    "j": "ЈјᎫꓙϳᴊ",
    "k": "ΚКкᏦꓗⲔκᴋ₭",
    "l": "ԼⅼᏞꓡⳐʟŁłℓ£₤",
    "m": "ΜМмᎷꓟⲘᴍ₥",
    "n": "ΝꓠⲚɴոռηпŊŋ₦",
    "o": "ΟОоՕօꓳⲞσοᴏØøө",
    "p": "ΡРрᏢꓑⲢρᴘ₱",
    "q": "ԚԛႭզ",
    "r": "ᎡᖇꓣГгɼʀ®",
    "s": "ЅѕՏᏚꓢꜱ§$ʂ",
    "t": "ΤТтᎢꓔⲦτᴛŦŧ₮₸†",
    "u": "ՍսᑌꓴυᴜμՄ",
    "v": "ᏙꓦѴѵνᴠ√",
    "w": "ԜԝᎳꓪωшШᴡѡ₩",
    "x": "ΧХхᚷꓫⲬχ×",
    "y": "ΥҮүУуᎩꓬⲨγʏ¥",
    "z": "ΖᏃꓜⲌᴢƵƶ",
}
_TO_ASCII = {
    **{ord(alike): letter for letter, group in _LOOKS_LIKE.items() for alike in group},
    # Letters in filled circles and squares, and the letters that make flags, are no letters by
    # their compatibility form, though a person reads them as such.
    **{
        first + index: chr(ord("a") + index)
        for first in (0x1F150, 0x1F170, 0x1F1E6)
        for index in range(26)
    },
}
# One drawing for several: zero and O, one and I and l, five and S, eight and B, two and Z.
_SAME_DRAWING = str.maketrans("0158i2", "olsblz")
_PAIRS_THAT_DRAW_ONE = (("vv", "w"), ("rn", "m"), ("nn", "m"))
_CONFUSABLE_SCRIPTS = frozenset(("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"))


# What people hang on a name without making it another: "$USDC", "USDC.", "(USDC)".
_ADORNMENTS = "$€£¥.,:;-_~*'\"()[]{}<>! "


def skeletons(symbol: str) -> frozenset[str]:
    """What is left of a symbol once all that the eye may confuse is made the same."""
    return frozenset((_drawn(symbol), _drawn(symbol.strip(_ADORNMENTS)))) - {""}


def mixes_scripts(symbol: str) -> bool:
    """Latin letters beside those of a script that shares their drawings: never by chance."""
    scripts = {
        unicodedata.name(letter, "").partition(" ")[0] for letter in symbol if letter.isalpha()
    }
    return "LATIN" in scripts and not scripts.isdisjoint(_CONFUSABLE_SCRIPTS)


def _drawn(symbol: str) -> str:
    folded = unicodedata.normalize("NFKD", symbol).translate(_TO_ASCII).casefold()
    drawn = "".join(letter for letter in folded if letter.isascii() and letter.isalnum())
    for pair, single in _PAIRS_THAT_DRAW_ONE:
        drawn = drawn.replace(pair, single)
    return drawn.translate(_SAME_DRAWING)


_REMEMBERED = "tokens"
_SYMBOL_BYTES = SYMBOL_LIMIT * 8
_CALLS_A_TOKEN = 2


class TokenQuestion(Struct, frozen=True):
    """What must be asked of the chain about some tokens, to be put into any multicall."""

    network: Network
    known: Mapping[Address, Token]
    """Those the list or the memory already answers."""
    asked: tuple[Address, ...]

    @property
    def calls(self) -> tuple[Call, ...]:
        """Two calls for each token asked about, in order."""
        return tuple(
            Call(address, encode_call(signature))
            for address in self.asked
            for signature in ("symbol()", "decimals()")
        )

    def read_outcomes(
        self, outcomes: Sequence[CallOutcome], store: Store | None, *, now: float
    ) -> dict[Address, Token]:
        """All the tokens, from the outcomes of `calls`; a store remembers what was read well."""
        if len(outcomes) != len(self.asked) * _CALLS_A_TOKEN:
            raise ValueError(f"{len(outcomes)} outcomes do not answer {len(self.asked)} tokens")
        tokens = dict(self.known)
        lasting: dict[str, object] = {}
        for index, address in enumerate(self.asked):
            symbol, decimals = outcomes[index * _CALLS_A_TOKEN : (index + 1) * _CALLS_A_TOKEN]
            raw_symbol = _raw_symbol(symbol)
            whole_decimals = _decimals(decimals)
            tokens[address] = unlisted_token(
                self.network, address, raw_symbol or b"", whole_decimals
            )
            # A call may have failed for want of gas: only answers are facts.
            if raw_symbol is not None and whole_decimals is not None:
                lasting[_key(self.network, address)] = {
                    "symbol": raw_symbol.hex(),
                    "decimals": whole_decimals,
                }
        if store is not None:
            store.put_many(_REMEMBERED, lasting, now=now)
        return tokens


def ask_tokens(
    network: Network, addresses: Iterable[Address], store: Store | None = None
) -> TokenQuestion:
    """What is known of these tokens, and what has to be asked."""
    wanted = dict.fromkeys(addresses)
    known: dict[Address, Token] = {}
    for address in wanted:
        listed = listed_token(network, address)
        if listed is not None:
            known[address] = listed.token
    unlisted = [address for address in wanted if address not in known]
    if store is not None and unlisted:
        remembered = store.get_many(_REMEMBERED, (_key(network, address) for address in unlisted))
        for address in unlisted:
            token = _recalled(network, address, remembered.get(_key(network, address)))
            if token is not None:
                known[address] = token
    return TokenQuestion(network, known, tuple(a for a in wanted if a not in known))


async def read_tokens(
    client: Reader,
    network: Network,
    addresses: Iterable[Address],
    at: BlockRef,
    *,
    store: Store | None = None,
    remember: bool = True,
    now: float,
) -> dict[Address, Token]:
    """These tokens, with one request for all that are unknown.

    Decimals scale every amount: where several endpoints are set, one of them alone is not
    remembered.
    """
    question = ask_tokens(network, addresses, store)
    outcomes = await _outcomes(client, network, question.calls, at)
    return question.read_outcomes(outcomes, store if remember else None, now=now)


def remembered_tokens(store: Store, network: Network) -> dict[Address, Token]:
    """Every token of a network that is remembered without being listed."""
    found = {}
    for key, value in store.items(_REMEMBERED).items():
        chain_id, _, address = key.partition(":")
        token = _recalled(network, address, value) if chain_id == str(network.chain_id) else None
        if token is not None:
            found[address] = token
    return found


def forget_token(store: Store, network: Network, address: Address) -> bool:
    """Whether there was anything to forget."""
    return store.forget_key(_REMEMBERED, _key(network, address))


def unlisted_token(
    network: Network, address: Address, raw_symbol: bytes, decimals: int | None
) -> Token:
    """A token that no list vouches for, marked when its symbol passes for one listed there."""
    symbol = clean_symbol(raw_symbol)
    imitates = not skeletons(symbol.text).isdisjoint(_listed_skeletons(network))
    return Token(
        address=address,
        symbol=symbol.text,
        decimals=decimals,
        verified=False,
        suspicious=symbol.altered or imitates or mixes_scripts(symbol.text),
    )


async def _outcomes(
    client: Reader, network: Network, calls: Sequence[Call], at: BlockRef
) -> list[CallOutcome]:
    """The outcomes of these calls; one that spoils the request for all is found by halving."""
    if not calls:
        return []
    try:
        return await client.ask(multicall(network.contracts.multicall3, calls, at))
    except (Reverted, RpcRefused, TooLarge):
        if len(calls) == 1:
            return [CallOutcome(success=False, data=b"")]
    middle = len(calls) // 2
    first = await _outcomes(client, network, calls[:middle], at)
    return first + await _outcomes(client, network, calls[middle:], at)


def _raw_symbol(outcome: CallOutcome) -> bytes | None:
    """The bytes of a symbol, whether declared `string` or, as the oldest tokens do, `bytes32`."""
    if not outcome.success or not outcome.data:
        return None
    if len(outcome.data) == WORD:
        return outcome.data.rstrip(b"\0")
    try:
        (symbol,) = decode(("string",), outcome.data)
    except AbiError:
        return None
    return bytes(symbol[:_SYMBOL_BYTES])


def _decimals(outcome: CallOutcome) -> int | None:
    if not outcome.success or len(outcome.data) != WORD:
        return None
    return _usable(int.from_bytes(outcome.data, "big"))


def _usable(decimals: object) -> int | None:
    if isinstance(decimals, int) and 0 <= decimals <= MOST_DECIMALS:
        return decimals
    return None


def _recalled(network: Network, address: Address, value: object) -> Token | None:
    match value:
        case {"symbol": str(written), "decimals": int(decimals)}:
            try:
                symbol = bytes.fromhex(written)
            except ValueError:
                return None
            return unlisted_token(network, address, symbol, _usable(decimals))
    return None


def _key(network: Network, address: Address) -> str:
    return f"{network.chain_id}:{address}"


@cache
def _listed_skeletons(network: Network) -> frozenset[str]:
    return frozenset().union(*map(skeletons, listed_symbols(network)))


class Balances(Struct, frozen=True):
    owner: Address
    block: Block
    held: Mapping[Address, Quantity[int]]
    """In the smallest units, for every token asked about."""


async def read_balances(
    client: RpcClient, network: Network, owner: Address, tokens: Iterable[Address]
) -> Balances:
    wanted = tuple(dict.fromkeys(tokens))
    here = OneBlock(client, network)
    answers = await here.read([balance_call(network, owner, token) for token in wanted])
    return Balances(
        owner,
        here.block,
        {
            token: balance_of(outcome, here.block)
            for token, outcome in zip(wanted, answers.outcomes, strict=True)
        },
    )


def balance_call(network: Network, owner: Address, token: Address) -> Call:
    """What to ask for the balance of a token, or of the chain's own coin."""
    if token == NATIVE:
        return Call(network.contracts.multicall3, encode_call("getEthBalance(address)", owner))
    return Call(token, encode_call("balanceOf(address)", owner))


def balance_of(outcome: CallOutcome, block: Block) -> Quantity[int]:
    """The balance such a call told."""
    # Where there is no contract a call succeeds and returns nothing.
    if not outcome.success or len(outcome.data) != WORD:
        return Unknown("its contract does not report balances")
    amount = int.from_bytes(outcome.data, "big")
    return Known(amount, "balanceOf", block.number, float(block.timestamp))
