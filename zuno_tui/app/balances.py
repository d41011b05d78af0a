"""`zuno balances`: what the wallet holds, and what it is worth."""

from fractions import Fraction

from chain.base.units import Quantity, Unknown
from chain.contracts.addresses import shortened
from chain.prices.ladder import read_prices
from chain.prices.price import PriceBook
from chain.tokens import Token, every_listed_token
from chain.tokens.reading import read_balances
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import table
from zuno_tui.present.terminal import columns
from zuno_tui.present.words import amount_of, number, units, worth

_COLUMNS = columns("TOKEN", "BALANCE>", "PRICE>", "VALUE>", "PRICE FROM")


async def wallet_balances(session: Session) -> CommandAnswer:
    tokens = {item.token.address: item.token for item in every_listed_token(session.network)}
    async with session.connect() as client, session.market() as coingecko:
        balances = await read_balances(client, session.network, session.address, tokens)
        shown = [token for token in tokens.values() if _is_shown(balances.held[token.address])]
        wanted = [token.address for token in shown]
        prices = await read_prices(
            client, session.network, wanted, coingecko=coingecko, at=balances.block.hash
        )
    where = f"{session.network.title} · block {balances.block.number:,}"
    nothing = "This wallet holds none of the tokens listed for this network."
    rows = [_row(token, balances.held[token.address], prices, session) for token in shown]
    unit = session.settings.unit
    return CommandAnswer(
        heading=(
            f"{where} · {shortened(balances.owner)}",
            *(() if rows else (nothing,)),
            *prices.dispute_words(tokens),
        ),
        lines=tuple(table(_COLUMNS, rows)) if rows else (),
        document={
            "network": session.network.name,
            "chainId": session.network.chain_id,
            "block": balances.block.number,
            "owner": balances.owner,
            "unit": unit.value,
            "balances": [
                {
                    "address": token.address,
                    "symbol": token.symbol,
                    "decimals": token.decimals,
                    "verified": token.verified,
                    "amount": units(balances.held[token.address]),
                    "value": number(_value(token, balances.held[token.address], prices, session)),
                    "price": number(prices.price(token.address, unit)),
                    "source": _source(prices.price(token.address, unit)),
                }
                for token in shown
            ],
        },
    )


def _is_shown(held: Quantity[int]) -> bool:
    return isinstance(held, Unknown) or held.value > 0


def _value(
    token: Token, held: Quantity[int], prices: PriceBook, session: Session
) -> Quantity[Fraction]:
    if isinstance(held, Unknown):
        return held
    return prices.value(token, held.value, session.settings.unit)


def _row(token: Token, held: Quantity[int], prices: PriceBook, session: Session) -> tuple[str, ...]:
    unit = session.settings.unit
    price = prices.price(token.address, unit)
    amount = "unknown" if isinstance(held, Unknown) else amount_of(held.value, token)
    source = price.reason if isinstance(price, Unknown) else price.source
    value = _value(token, held, prices, session)
    return token.label, amount, worth(price, unit), worth(value, unit), source


def _source(price: Quantity[Fraction]) -> str:
    return f"unknown: {price.reason}" if isinstance(price, Unknown) else price.source
