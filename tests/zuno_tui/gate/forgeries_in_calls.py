"""What a thief would change inside the calls of an approved plan: who gets what, how much, when."""

from collections.abc import Callable
from random import Random
from typing import Any

from msgspec.structs import replace

from chain.contracts.networks import Address, Contracts
from chain.contracts.pool_key import DecodedPoolKey
from chain.devnet.world.accounts import NEIGHBOUR, STRANGER
from chain.devnet.world.deployment import FAKE_USDC, USDC, USDT, WBTC, WETH
from chain.execution.plan.records import (
    DecodedPermit2Transfer,
    Execute,
    Permit2Approval,
    TokenApproval,
)
from chain.execution.v4.records import (
    DecodedBurn,
    DecodedCloseCurrency,
    DecodedDecrease,
    DecodedIncrease,
    DecodedMint,
    DecodedSettle,
    DecodedSettlePair,
    DecodedSwapExactIn,
    DecodedSweep,
    DecodedTake,
    DecodedTakePair,
    ModifyLiquidities,
)
from tests.zuno_tui.gate.forged_journal import Draft

Forgery = Callable[[Draft, Random, Contracts], str | None]

YEARS = 10 * 365 * 86_400
NO_LIMIT = 2**160 - 1
LAST_TIME = 2**48 - 1
_TO_SENDER: Address = "0x" + "00" * 19 + "01"
_TO_CONTRACT: Address = "0x" + "00" * 19 + "02"


def _picked(draft: Draft, random: Random, *kinds: type[Any]) -> tuple[int, Any] | None:
    found = draft.records(*kinds)
    return random.choice(found) if found else None


def _stranger(random: Random, contracts: Contracts) -> Address:
    anyone = f"0x{random.getrandbits(160):040x}"
    router = contracts.universal_router or STRANGER.address
    choices = (STRANGER.address, NEIGHBOUR.address, anyone, router, contracts.pool_manager)
    return random.choice(choices)


def recipient(draft: Draft, random: Random, contracts: Contracts) -> str | None:
    """Somebody else gets what comes out, what is left over, or the new position."""
    found = _picked(
        draft,
        random,
        DecodedTakePair,
        DecodedSweep,
        DecodedMint,
        DecodedTake,
        DecodedPermit2Transfer,
    )
    if found is None:
        return None
    place, record = found
    to = _stranger(random, contracts)
    name = "owner" if isinstance(record, DecodedMint) else "recipient"
    draft.rewrite(place, record, replace(record, **{name: to}))
    return f"{type(record).__name__}.{name} = {to}"


def every_recipient(draft: Draft, random: Random, contracts: Contracts) -> str | None:
    """The wallet's address wherever it stands in the bytes, and the word for the sender."""
    to, wallet = _stranger(random, contracts), draft.steps[0].sender
    changed = 0
    for place, step in enumerate(draft.steps):
        data = step.data.replace(bytes.fromhex(wallet[2:]), bytes.fromhex(to[2:]))
        changed += data != step.data
        draft.change_step(place, data=data)
    return f"all of the wallet's places to {to}" if changed else None


def contract_as_recipient(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    """Left in the contract, where anybody may sweep it."""
    found = _picked(draft, random, DecodedTakePair, DecodedSweep, DecodedMint)
    if found is None:
        return None
    place, record = found
    through_router = any(at == place for at, _ in draft.records(Execute))
    to = random.choice((_TO_CONTRACT, _TO_SENDER)) if through_router else _TO_CONTRACT
    name = "owner" if isinstance(record, DecodedMint) else "recipient"
    draft.rewrite(place, record, replace(record, **{name: to}))
    return f"{type(record).__name__}.{name} = {to}"


def token(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    """Another currency than the pair's where one is named."""
    kinds = (
        DecodedTakePair,
        DecodedSettlePair,
        DecodedCloseCurrency,
        DecodedSweep,
        DecodedSettle,
        DecodedTake,
        DecodedMint,
        DecodedSwapExactIn,
        Permit2Approval,
        DecodedPermit2Transfer,
    )
    found = _picked(draft, random, *kinds)
    if found is None:
        return None
    place, record = found
    if isinstance(record, Permit2Approval) and not record.amount:
        return None  # to take another allowance back does no harm
    other = random.choice([one.address for one in (WETH, USDC, USDT, WBTC, FAKE_USDC)])
    changed = _with_token(record, other, random)
    if changed == record:
        return None
    draft.rewrite(place, record, changed)
    draft.terms["tokens"] = list(dict.fromkeys([*draft.terms["tokens"], other]))
    return f"{type(record).__name__} in {other}"


def _with_token(record: Any, other: Address, random: Random) -> Any:
    first = random.random() < 0.5
    match record:
        case DecodedTakePair() | DecodedSettlePair():
            return replace(record, currency0=other) if first else replace(record, currency1=other)
        case DecodedMint(pool=key) | DecodedSwapExactIn(pool=key):
            pair = key._replace(currency0=other) if first else key._replace(currency1=other)
            return replace(record, pool=pair)
        case Permit2Approval() | DecodedPermit2Transfer():
            return replace(record, token=other)
        case _:
            return replace(record, currency=other)


def pool(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    """Another pool of the same pair: one with a dear fee, another spacing or a hook."""
    found = _picked(draft, random, DecodedMint, DecodedSwapExactIn)
    if found is None:
        return None
    place, record = found
    key: DecodedPoolKey = record.pool
    changed = random.choice(
        (
            key._replace(fee=999_999),
            key._replace(tick_spacing=key.tick_spacing + 1),
            key._replace(hooks=f"0x{random.getrandbits(144):036x}3fff"),
        )
    )
    draft.rewrite(place, record, replace(record, pool=changed))
    return f"{type(record).__name__}.pool = {changed.fee} {changed.tick_spacing} {changed.hooks}"


def amount(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    """More taken, moved or allowed than the rest of the plan needs."""
    found = _picked(
        draft,
        random,
        DecodedMint,
        DecodedIncrease,
        DecodedSwapExactIn,
        DecodedPermit2Transfer,
        TokenApproval,
        Permit2Approval,
    )
    if found is None:
        return None
    place, record = found
    factor = random.choice((2, 5, 10, 1_000))
    match record:
        case DecodedMint() | DecodedIncrease():
            name = random.choice(("liquidity", "amount0_max", "amount1_max"))
            if getattr(record, name) == 0:
                return None
        case DecodedSwapExactIn():
            name = "amount_in"
        case _:
            name = "amount"
    value = getattr(record, name)
    new = min(value * factor, 2**127) if value else NO_LIMIT
    if isinstance(record, TokenApproval | Permit2Approval) and random.random() < 0.5:
        new = NO_LIMIT
    draft.rewrite(place, record, replace(record, **{name: new}))
    return f"{type(record).__name__}.{name} {value} → {new}"


def minimum(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    """Less accepted than the limit on slippage lets pass: nothing, or a half.

    A range of a few ticks pays a quarter less of either token within that limit.
    """
    found = [
        (place, record)
        for place, record in draft.records(DecodedBurn, DecodedDecrease, DecodedSwapExactIn)
        if _asks_for_something(record)
    ]
    if not found:
        return None
    place, record = random.choice(found)
    keep = random.choice((0, 10, 50))
    if isinstance(record, DecodedSwapExactIn):
        new: Any = replace(record, amount_out_minimum=record.amount_out_minimum * keep // 100)
    else:
        new = replace(
            record,
            amount0_min=record.amount0_min * keep // 100,
            amount1_min=record.amount1_min * keep // 100,
        )
    draft.rewrite(place, record, new)
    return f"{type(record).__name__} minimums at {keep}%"


def _asks_for_something(record: Any) -> bool:
    if isinstance(record, DecodedSwapExactIn):
        return record.amount_out_minimum > 1
    return bool(record.amount0_min > 100 or record.amount1_min > 100)


def deadline(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    """A time at which whoever holds the bytes may still use them."""
    found = _picked(draft, random, ModifyLiquidities, Execute)
    if found is None:
        return None
    place, record = found
    later = random.choice((3_600, 86_400, YEARS, 2**64))
    ends = record.deadline + later
    draft.rewrite(place, record, replace(record, deadline=ends))
    draft.deadlines[place] = min(ends, 2**62)
    return f"{type(record).__name__}.deadline + {later}"


def spender(draft: Draft, random: Random, contracts: Contracts) -> str | None:
    """Leave given to somebody who is no part of the plan."""
    found = _picked(draft, random, TokenApproval, Permit2Approval)
    if found is None:
        return None
    place, record = found
    to = random.choice((STRANGER.address, NEIGHBOUR.address, contracts.pool_manager))
    most = random.choice((record.amount, NO_LIMIT)) or NO_LIMIT
    new = replace(record, spender=to, amount=most)
    if isinstance(new, Permit2Approval):
        new = replace(new, expiration=max(new.expiration, LAST_TIME))
    draft.rewrite(place, record, new)
    return f"{type(record).__name__} to {to}"


def expiry(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    found = [one for one in draft.records(Permit2Approval) if one[1].amount]
    if not found:
        return None
    place, record = random.choice(found)
    later = random.choice((3_600, YEARS, LAST_TIME))
    ends = min(record.expiration + later, LAST_TIME)
    if ends == record.expiration:
        return None
    draft.rewrite(place, record, replace(record, expiration=ends))
    return f"expiration {ends}"


def hook_data(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    found = _picked(
        draft,
        random,
        DecodedMint,
        DecodedIncrease,
        DecodedDecrease,
        DecodedBurn,
        DecodedSwapExactIn,
    )
    if found is None:
        return None
    place, record = found
    draft.rewrite(place, record, replace(record, hook_data=random.randbytes(32)))
    return f"{type(record).__name__} with data for a hook"
