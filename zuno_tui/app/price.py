"""`zuno price SYMBOL`: what a token is worth now, and where that is from."""

from fractions import Fraction

from msgspec import Struct

from chain.base.units import Quantity, Unknown
from chain.contracts.networks import Address, Network
from chain.prices.ladder import read_prices
from chain.prices.price import WorthUnit
from chain.read.gas import read_gas_price
from chain.tokens import Token, listed_tokens, named_tokens
from zuno_tui.app.session import Session
from zuno_tui.intents.phrase_error import PhraseError
from zuno_tui.intents.pieces import list_names
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK
from zuno_tui.present.words import money_figure, worth
from zuno_tui.prompt.slots import names_symbol


class TokenPrice(Struct, frozen=True):
    network: str
    chain_id: int
    symbol: str
    address: Address
    unit: WorthUnit
    price: Quantity[Fraction]
    source: str
    """Who says it, or why nobody does."""
    disputed: tuple[str, ...]


class GasNow(Struct, frozen=True):
    network: str
    chain_id: int
    gwei: float | Unknown
    base_fee_gwei: float | None = None
    priority_fee_gwei: float | None = None
    transfer_coins: float | None = None
    """What a plain transfer costs, in the network's coin."""
    transfer_usd: Quantity[Fraction] | None = None


async def token_price(session: Session, symbol: str) -> CommandAnswer:
    unit = session.settings.unit
    token = token_called(session.network, symbol)
    async with session.connect() as client, session.market() as coingecko:
        prices = await read_prices(client, session.network, [token.address], coingecko=coingecko)
    price = prices.price(token.address, unit)
    unknown = isinstance(price, Unknown)
    disputes = prices.dispute_words({token.address: token})
    source = price.reason if isinstance(price, Unknown) else price.source
    return CommandAnswer(
        lines=(f"{token.label} {worth(price, unit)} on {session.network.title} ({source})",),
        remarks=disputes,
        document=document(
            TokenPrice(
                session.network.name,
                session.network.chain_id,
                token.symbol,
                token.address,
                unit,
                price,
                source,
                disputes,
            )
        ),
        code=FAILED if unknown else DONE,
    )


def token_called(network: Network, symbol: str) -> Token:
    """By its own symbol first, then by what people call it: BTC may be WBTC."""
    tokens = [item.token for item in listed_tokens(network).tokens]
    named = [item.token for item in named_tokens(network)]
    exact = (token for token in named if token.symbol.upper() == symbol.upper())
    called = (token for token in tokens if names_symbol(symbol, token.symbol))
    found = next(exact, None) or next(called, None)
    if found is None:
        known = list_names(token.symbol for token in tokens) if tokens else "none"
        raise PhraseError(f"{network.title} lists no token {symbol!r}. It lists {known}.", "")
    return found


_GWEI = 10**9
_WEI = 10**18
_TRANSFER = 21_000
"""Gas of the smallest transaction there is."""


async def gas_now(session: Session) -> CommandAnswer:
    unit = session.settings.unit
    async with session.connect() as client, session.market() as coingecko:
        price = await read_gas_price(client)
        ether = (await read_prices(client, session.network, (), coingecko=coingecko)).ether
    where = session.network.title
    if isinstance(price, Unknown):
        return CommandAnswer(
            (f"{where}: gas is unknown: {price.reason}",),
            document(GasNow(session.network.name, session.network.chain_id, price)),
            code=NETWORK,
        )
    gas = price.value
    coins = Fraction(gas.usual_price * _TRANSFER, _WEI)
    cost: Quantity[Fraction] = ether.map(lambda dollars: dollars * coins)
    base = None if gas.base_fee is None else gas.base_fee / _GWEI
    burned = "" if base is None else f", of it {base:.4g} burned"
    return CommandAnswer(
        lines=(
            f"{where}: {gas.usual_price / _GWEI:.4g} gwei a unit of gas{burned}",
            f"a plain transfer costs {money_figure(coins, WorthUnit.ETH)} "
            f"{session.network.native_symbol}"
            f" = {worth(cost, unit.USD)}",
        ),
        document=document(
            GasNow(
                session.network.name,
                session.network.chain_id,
                gas.usual_price / _GWEI,
                base,
                gas.priority_fee / _GWEI,
                float(coins),
                cost,
            )
        ),
        code=DONE,
    )
