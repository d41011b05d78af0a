"""`zuno balances`: what the wallet holds, and what it is worth."""

from chain.base.units import Quantity, Unknown
from chain.prices.ladder import read_prices
from chain.tokens import every_listed_token
from chain.tokens.reading import read_balances
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document
from zuno_tui.present.pages.balances import TokenBalance, WalletBalances, balances_page


async def wallet_balances(session: Session) -> CommandAnswer:
    tokens = {item.token.address: item.token for item in every_listed_token(session.network)}
    async with session.connect() as client, session.market() as coingecko:
        balances = await read_balances(client, session.network, session.address, tokens)
        shown = [token for token in tokens.values() if _is_shown(balances.held[token.address])]
        wanted = [token.address for token in shown]
        prices = await read_prices(
            client, session.network, wanted, coingecko=coingecko, at=balances.block.hash
        )
    unit = session.settings.unit
    held = WalletBalances(
        network=session.network.name,
        chain_id=session.network.chain_id,
        block=balances.block.number,
        owner=balances.owner,
        unit=unit,
        balances=tuple(
            TokenBalance(
                token,
                amount := balances.held[token.address],
                price := prices.price(token.address, unit),
                amount if isinstance(amount, Unknown) else prices.value(token, amount.value, unit),
                f"unknown: {price.reason}" if isinstance(price, Unknown) else price.source,
            )
            for token in shown
        ),
        disputes=tuple(prices.dispute_words(tokens)),
    )
    return CommandAnswer((), document(held), view=balances_page(held, session.network.title))


def _is_shown(held: Quantity[int]) -> bool:
    return isinstance(held, Unknown) or held.value > 0
