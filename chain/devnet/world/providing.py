"""Liquidity the way a person provides it: through Permit2 and the PositionManager."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from chain.contracts.abi import encode_call
from chain.contracts.calldata import (
    TO_SENDER,
    Burn,
    CloseCurrency,
    Decrease,
    Increase,
    Mint,
    PositionAction,
    SettlePair,
    Sweep,
    TakePair,
    approve_through_permit2,
    approve_token,
    modify_liquidities,
)
from chain.contracts.networks import NATIVE, Address
from chain.devnet.world.accounts import Account
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.market import point_of
from chain.devnet.world.pools import DevnetPool
from chain.devnet.world.price_path import Asset
from chain.devnet.world.writing import BlockDraft, NodeState, UnsignedCall
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick

UNLIMITED = 2**160 - 1
FOR_EVER = 2**48 - 1
_APPROVAL_SECONDS = 1800
_DEADLINE_SECONDS = 900
_SAMPLE = 10**24


class ProvidedPosition(Struct, frozen=True):
    """A position as its maker remembers it."""

    token_id: int
    pool: DevnetPool
    tick_lower: int
    tick_upper: int
    liquidity: int

    def amounts(self, state: NodeState, liquidity: int) -> Amounts:
        """What this much liquidity in its range takes now."""
        ticks = (self.tick_lower, self.tick_upper)
        return _amounts(state, self.pool, ticks, liquidity, round_up=True)


def liquidity_worth(
    state: NodeState,
    pool: DevnetPool,
    ticks: tuple[int, int],
    dollars: int,
    prices: Mapping[Asset, int],
) -> int:
    """The liquidity this many dollars buy in a range."""
    amounts = _amounts(state, pool, ticks, _SAMPLE, round_up=False)
    worth = pool.currency0.dollars(amounts.amount0, prices)
    worth += pool.currency1.dollars(amounts.amount1, prices)
    return _SAMPLE * dollars * 10**6 // worth


def approve_for_good(
    page: BlockDraft, owner: Account, token: Address, spenders: tuple[Address, ...]
) -> None:
    """What a bot does once and forgets; people approve what they spend, when they spend it."""
    page.send(UnsignedCall(owner, token, approve_token(CONTRACTS.permit2, 2**256 - 1)))
    for spender in spenders:
        grant = approve_through_permit2(token, spender, UNLIMITED, FOR_EVER)
        page.send(UnsignedCall(owner, CONTRACTS.permit2, grant))


def approve_exactly(page: BlockDraft, owner: Account, pool: DevnetPool, amounts: Amounts) -> None:
    for currency, amount in zip((pool.currency0, pool.currency1), amounts, strict=True):
        if currency.address == NATIVE or amount == 0:
            continue
        page.send(UnsignedCall(owner, currency.address, approve_token(CONTRACTS.permit2, amount)))
        grant = approve_through_permit2(
            currency.address, CONTRACTS.position_manager, amount, page.timestamp + _APPROVAL_SECONDS
        )
        page.send(UnsignedCall(owner, CONTRACTS.permit2, grant))


def mint(
    page: BlockDraft,
    owner: Account,
    pool: DevnetPool,
    ticks: tuple[int, int],
    liquidity: int,
    *,
    approve: bool = True,
) -> ProvidedPosition:
    state = page.state
    token_id = int.from_bytes(state.call(CONTRACTS.position_manager, encode_call("nextTokenId()")))
    amounts = _amounts(state, pool, ticks, liquidity, round_up=True)
    if approve:
        approve_exactly(page, owner, pool, amounts)
    action = Mint(pool.key, *ticks, liquidity, *amounts, owner.address)
    _modify(page, owner, (action, *_payment(pool)), value=_ether(pool, amounts))
    return ProvidedPosition(token_id, pool, *ticks, liquidity)


def increase(
    page: BlockDraft, owner: Account, holding: ProvidedPosition, liquidity: int
) -> ProvidedPosition:
    amounts = holding.amounts(page.state, liquidity)
    approve_exactly(page, owner, holding.pool, amounts)
    # Fees due are paid out with any change and may exceed what is added, so each side closes alone.
    closing = _close(holding.pool)
    action = Increase(holding.token_id, liquidity, *amounts)
    _modify(page, owner, (action, *closing), value=_ether(holding.pool, amounts))
    return replace(holding, liquidity=holding.liquidity + liquidity)


def decrease(
    page: BlockDraft, owner: Account, holding: ProvidedPosition, liquidity: int
) -> ProvidedPosition:
    action = Decrease(holding.token_id, liquidity, amount0_min=0, amount1_min=0)
    _modify(page, owner, (action, _withdrawal(holding.pool)))
    return replace(holding, liquidity=holding.liquidity - liquidity)


def burn(page: BlockDraft, owner: Account, holding: ProvidedPosition) -> None:
    action = Burn(holding.token_id, amount0_min=0, amount1_min=0)
    _modify(page, owner, (action, _withdrawal(holding.pool)))


def transfer(
    page: BlockDraft, owner: Account, recipient: Account, holding: ProvidedPosition
) -> None:
    data = encode_call(
        "transferFrom(address,address,uint256)", owner.address, recipient.address, holding.token_id
    )
    page.send(UnsignedCall(owner, CONTRACTS.position_manager, data))


def _modify(
    page: BlockDraft, owner: Account, actions: tuple[PositionAction, ...], *, value: int = 0
) -> None:
    data = modify_liquidities(actions, page.timestamp + _DEADLINE_SECONDS)
    page.send(UnsignedCall(owner, CONTRACTS.position_manager, data, value))


def _payment(pool: DevnetPool) -> tuple[PositionAction, ...]:
    key = pool.key
    pair = SettlePair(key.currency0, key.currency1)
    return (pair, Sweep(NATIVE, TO_SENDER)) if key.currency0 == NATIVE else (pair,)


def _close(pool: DevnetPool) -> tuple[PositionAction, ...]:
    key = pool.key
    closing = (CloseCurrency(key.currency0), CloseCurrency(key.currency1))
    return (*closing, Sweep(NATIVE, TO_SENDER)) if key.currency0 == NATIVE else closing


def _withdrawal(pool: DevnetPool) -> TakePair:
    return TakePair(pool.key.currency0, pool.key.currency1, TO_SENDER)


def _ether(pool: DevnetPool, amounts: Amounts) -> int:
    return amounts.amount0 if pool.key.currency0 == NATIVE else 0


def _amounts(
    state: NodeState, pool: DevnetPool, ticks: tuple[int, int], liquidity: int, *, round_up: bool
) -> Amounts:
    lower, upper = (sqrt_price_at_tick(tick) for tick in ticks)
    price = point_of(state, pool).sqrt_price_x96
    return amounts_for_liquidity(price, lower, upper, liquidity, round_up=round_up)
