"""What a thief would change in an approved plan, one field at a time or several together.

Each forgery changes a draft in place and tells what it did, or gives None where the plan has
nothing of the kind.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from msgspec.structs import replace

from chain.contracts.abi import encode_call as abi_call
from chain.contracts.networks import NATIVE, Address, Contracts
from chain.devnet.world.accounts import NEIGHBOUR, STRANGER
from chain.devnet.world.deployment import USDC, WBTC, WETH
from chain.execution.decode.decoder import encode_call
from chain.execution.plan.records import Deposit, Multicall, Permit2Approval, TokenApproval
from chain.execution.v4.records import DecodedSweep, ModifyLiquidities, Unsubscribe
from tests.zuno_tui.gate.forged_journal import Draft
from tests.zuno_tui.gate.forgeries_in_calls import (
    LAST_TIME,
    NO_LIMIT,
    amount,
    contract_as_recipient,
    deadline,
    every_recipient,
    expiry,
    hook_data,
    minimum,
    pool,
    recipient,
    spender,
    token,
)

Forgery = Callable[[Draft, Random, Contracts], str | None]


def target(draft: Draft, random: Random, contracts: Contracts) -> str | None:
    """Sent to another contract or account than the one that is meant."""
    place = random.randrange(len(draft.steps))
    router = contracts.universal_router or STRANGER.address
    others = (
        STRANGER.address, router, contracts.position_manager, contracts.permit2,
        WETH.address, USDC.address, WBTC.address, contracts.pool_manager,
    )  # fmt: skip
    step = draft.steps[place]
    to = random.choice([one for one in others if one != step.to])
    taking_back = any(at == place and not one.amount for at, one in draft.records(TokenApproval))
    if taking_back and to in (WETH.address, USDC.address, WBTC.address):
        return None  # nor does this
    draft.change_step(place, to=to)
    draft.terms["tokens"] = list(dict.fromkeys([*draft.terms["tokens"], to]))
    return f"{step.step} to {to}"


def action(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    """Steps in another order, left out or done twice, with the nonces made to fit."""
    revoking = all(not one.amount for _, one in draft.records(TokenApproval, Permit2Approval))
    if len(draft.steps) < 2 or revoking:
        return None
    how = random.choice(("reversed", "rotated", "without the first", "twice", "last exchanged"))
    places = list(range(len(draft.steps)))
    if how == "reversed":
        places.reverse()
    elif how == "rotated":
        places = [*places[1:], places[0]]
    elif how == "without the first":
        places = places[1:]
    elif how == "last exchanged":
        places = [*places[:-2], places[-1], places[-2]]
    else:
        places = [*places, places[-1]]
    _arranged(draft, places)
    return f"steps {how}"


def _arranged(draft: Draft, places: list[int]) -> None:
    first = draft.steps[0].nonce
    draft.deadlines = [draft.deadlines[place] for place in places]
    draft.steps = [
        replace(draft.steps[place], nonce=first + number) for number, place in enumerate(places)
    ]


def gas(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    place = random.randrange(len(draft.steps))
    new = random.choice((2_000_001, 10_000_000, 30_000_000))
    draft.change_step(place, gas=new)
    return f"gas {new}"


def fees(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    """A tip that goes to whoever builds the block, past every cap."""
    place = random.randrange(len(draft.steps))
    new = random.choice((301, 5_000, 1_000_000)) * 10**9
    draft.change_step(place, max_fee_per_gas=new, max_priority_fee_per_gas=new)
    return f"tip {new}"


def value(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    """The chain's own coin sent along for nothing."""
    wrapping = {place for place, _ in draft.records(Deposit)}
    places = [place for place in range(len(draft.steps)) if place not in wrapping]
    if not places:
        return None
    place = random.choice(places)
    more = random.choice((1, 10**15, 10**18))
    draft.change_step(place, value=draft.steps[place].value + more)
    return f"value + {more}"


def nonce(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    by = random.choice((-1, 1, 7))
    if random.random() < 0.5 or len(draft.steps) == 1:
        draft.steps = [replace(one, nonce=one.nonce + by) for one in draft.steps]
        draft.terms["before"]["nonce"] = str(draft.steps[0].nonce)
        return f"all nonces {by:+}"
    place = random.randrange(1, len(draft.steps))
    draft.change_step(place, nonce=draft.steps[place].nonce + by)
    return f"nonce of step {place + 1} {by:+}"


def call(draft: Draft, random: Random, contracts: Contracts) -> str | None:
    """Another function altogether: a transfer, a free hand for somebody, a bundle."""
    place = random.randrange(len(draft.steps))
    thief, wallet = STRANGER.address, draft.steps[place].sender
    token_id = _token_id(draft)
    manager = contracts.position_manager
    thing = random.choice((WETH.address, USDC.address, WBTC.address))
    to, data = random.choice(
        (
            (thing, abi_call("transfer(address,uint256)", thief, 10**6)),
            (thing, encode_call(TokenApproval(thief, NO_LIMIT))),
            (thing, encode_call(TokenApproval(contracts.permit2, NO_LIMIT))),
            (manager, abi_call("transferFrom(address,address,uint256)", wallet, thief, token_id)),
            (manager, abi_call("setApprovalForAll(address,bool)", thief, True)),
            (manager, encode_call(TokenApproval(thief, token_id))),
            (manager, encode_call(Unsubscribe(token_id + 1))),
            (manager, encode_call(Multicall((ModifyLiquidities(_taking(wallet), LAST_TIME),)))),
            (contracts.permit2, encode_call(Permit2Approval(thing, thief, NO_LIMIT, LAST_TIME))),
            (contracts.permit2, abi_call(
                "transferFrom(address,address,uint160,address)", wallet, thief, 1, thing
            )),
            (thief, b""),
            (thief, random.randbytes(36)),
        )
    )  # fmt: skip
    draft.change_step(place, to=to, data=data)
    draft.terms["tokens"] = list(dict.fromkeys([*draft.terms["tokens"], to]))
    return f"{data[:4].hex() or 'no call'} to {to}"


def _token_id(draft: Draft) -> int:
    named = draft.terms["about"]["tokenId"]
    return 27 if named is None else int(named)


def _taking(wallet: Address) -> tuple[Any, ...]:
    return (DecodedSweep(NATIVE, wallet),)


def sender_or_chain(draft: Draft, random: Random, _contracts: Contracts) -> str | None:
    place = random.randrange(len(draft.steps))
    if random.random() < 0.5:
        draft.change_step(place, sender=NEIGHBOUR.address)
        return "sender"
    draft.change_step(place, chain_id=random.choice((1, 8453)))
    return "chain"


def subject(draft: Draft, random: Random, contracts: Contracts) -> str | None:
    """What is read again named as something else, and the bytes bent to go elsewhere."""
    bent = recipient(draft, random, contracts) or spender(draft, random, contracts)
    if bent is None:
        return None
    draft.terms["about"] = {"tokenId": None, "pool": None}
    for field in ("owner", "liquidity", "pool_id", "hook_code", "subscriber"):
        draft.terms["before"][field] = None
    draft.terms["before"] |= {"sqrt_price_x96": None, "pool_fee": None}
    return f"about the wallet alone; {bent}"


FORGERIES: dict[str, Forgery] = {
    "recipient": recipient,
    "every recipient": every_recipient,
    "contract as recipient": contract_as_recipient,
    "token": token,
    "pool": pool,
    "amount": amount,
    "minimum": minimum,
    "deadline": deadline,
    "target": target,
    "order": action,
    "gas": gas,
    "fees": fees,
    "value": value,
    "nonce": nonce,
    "spender": spender,
    "expiry": expiry,
    "hook data": hook_data,
    "call": call,
    "sender or chain": sender_or_chain,
    "subject": subject,
}


def loosen_terms(draft: Draft) -> None:
    """Everything the apply is judged by in the same file, set so that it objects to nothing."""
    terms = draft.terms
    terms["bounds"] |= {
        "lowest_sqrt_price": "0",
        "highest_sqrt_price": str(2**160 - 1),
        "max_fee_per_gas": str(2**64),
        "expires_at": str(2**40),
    }
    terms["kept"] = dict.fromkeys(terms["tokens"], "1000000")
    terms["untold"] = []
    terms["notional"], terms["dailyLimit"] = "0", None
    terms["warnings"] = []
