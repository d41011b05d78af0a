"""`zuno gas`: what a unit of gas costs now, and a plain transfer with it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from chain.base.quantity import Quantity, Unknown
from chain.prices.ladder import read_prices
from chain.read.gas import read_gas_price
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE, NETWORK
from zuno_tui.present.words import number, worth

if TYPE_CHECKING:
    from zuno_tui.app.session import Session

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
            {"network": session.network.name, "gwei": None, "reason": price.reason},
            code=NETWORK,
        )
    gas = price.value
    coins = Fraction(gas.expected * _TRANSFER, _WEI)
    cost: Quantity[Fraction] = ether.map(lambda dollars: dollars * coins)
    base = None if gas.base_fee is None else gas.base_fee / _GWEI
    burned = "" if base is None else f", of it {base:.4g} burned"
    return CommandAnswer(
        lines=(
            f"{where}: {gas.expected / _GWEI:.4g} gwei a unit of gas{burned}",
            f"a plain transfer costs {float(coins):.4g} {session.network.native_symbol}"
            f" = {worth(cost, unit.USD)}",
        ),
        document={
            "network": session.network.name,
            "chainId": session.network.chain_id,
            "gwei": gas.expected / _GWEI,
            "baseFeeGwei": base,
            "priorityFeeGwei": gas.priority_fee / _GWEI,
            "transferCoins": float(coins),
            "transferUsd": number(cost),
        },
        code=DONE,
    )
