"""Every action, to every recipient, at every target, in every place of every recipe."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from eth_abi.abi import decode as abi_decode
from eth_abi.abi import encode as abi_encode
from msgspec.structs import replace

from chain.contracts.networks import Address
from chain.execution.decode.decoder import decode_call
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import Call, DecodedStep
from chain.execution.policy.policy import Allowed, check
from tests.chain.execution.made_up_plans import NETWORK, ROUTER, WETH
from tests.chain.execution.policy_bench import STRANGER, Bench

MANAGER = NETWORK.contracts.position_manager
OPCODES = range(0x20)
"""Uniswap defines up to 0x1a; the rest stands for whatever comes after."""
SENDER, CONTRACT, ZERO = ("0x" + f"{number:040x}" for number in (1, 2, 0))
TARGETS = (
    MANAGER, ROUTER, NETWORK.contracts.permit2, NETWORK.contracts.pool_manager, WETH, STRANGER,
)  # fmt: skip

# Written down here a second time, from the issue and not from the policy.
DIRECT = {"03021212", "0311", "0111", "001212", "00121214", "020d", "020d14"}
SWAP, ENTER = "060b0e", "020b0b1414"

NAMES = ("close", "collect", "decrease", "move", "increase", "compound", "create", "swap")

KEY = "(address,address,uint24,int24,address)"
LAYOUTS = {
    0x00: ("uint256", "uint256", "uint128", "uint128", "bytes"),
    0x01: ("uint256", "uint256", "uint128", "uint128", "bytes"),
    0x02: (KEY, "int24", "int24", "uint256", "uint128", "uint128", "address", "bytes"),
    0x03: ("uint256", "uint128", "uint128", "bytes"),
    0x06: (f"({KEY},bool,uint128,uint128,bytes)",),
    0x0B: ("address", "uint256", "bool"),
    0x0D: ("address", "address"),
    0x0E: ("address", "address", "uint256"),
    0x11: ("address", "address", "address"),
    0x12: ("address",),
    0x14: ("address", "address"),
}
RECIPIENT_AT = {0x02: 6, 0x0E: 1, 0x11: 2, 0x14: 1}


@dataclass(frozen=True)
class Part:
    """The actions of one plan inside an honest calldata, and how to put others in their place."""

    name: str
    codes: bytes
    params: tuple[bytes, ...]
    through_router: bool
    allowed: frozenset[str]
    recipients: frozenset[Address]

    def variants(self, samples: dict[int, bytes], recipient: Address) -> Iterator[tuple[int, Part]]:
        for slot in range(len(self.codes)):
            for opcode in OPCODES:
                own = opcode == self.codes[slot]
                params = self.params[slot] if own else samples.get(opcode, self.params[slot])
                changed = dataclasses.replace(
                    self,
                    codes=self.codes[:slot] + bytes([opcode]) + self.codes[slot + 1 :],
                    params=(
                        *self.params[:slot],
                        with_recipient(opcode, params, recipient),
                        *self.params[slot + 1 :],
                    ),
                )
                yield slot, changed


def with_recipient(opcode: int, params: bytes, recipient: Address) -> bytes:
    place = RECIPIENT_AT.get(opcode)
    if place is None:
        return params
    values = list(abi_decode(LAYOUTS[opcode], params))
    values[place] = recipient
    return abi_encode(LAYOUTS[opcode], values)


def opened(plan: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    codes, params = abi_decode(("bytes", "bytes[]"), plan)
    return codes, tuple(params)


def parts_of(name: str, data: bytes, owner: Address) -> Iterator[tuple[Part, int]]:
    """The lists of actions in a calldata, each with the place of its command."""
    if name != "swap":
        plan, _ = abi_decode(("bytes", "uint256"), data[4:])
        yield Part(name, *opened(plan), False, frozenset(DIRECT), frozenset({owner, SENDER})), 0
        return
    _, inputs, _ = abi_decode(("bytes", "bytes[]", "uint256"), data[4:])
    yield Part("swap", *opened(inputs[0]), True, frozenset({SWAP}), frozenset({MANAGER})), 0
    plan, _ = abi_decode(("bytes", "uint256"), inputs[-1][4:])
    last = len(inputs) - 1
    yield Part("enter", *opened(plan), True, frozenset({ENTER}), frozenset({owner})), last


def closed(part: Part, command: int, data: bytes) -> bytes:
    """The calldata with the part's actions in the place of its own."""
    plan = abi_encode(("bytes", "bytes[]"), (part.codes, part.params))
    if not part.through_router:
        _, deadline = abi_decode(("bytes", "uint256"), data[4:])
        return data[:4] + abi_encode(("bytes", "uint256"), (plan, deadline))
    codes, inputs, deadline = abi_decode(("bytes", "bytes[]", "uint256"), data[4:])
    changed = list(inputs)
    if part.name == "enter":
        _, inner = abi_decode(("bytes", "uint256"), inputs[command][4:])
        plan = inputs[command][:4] + abi_encode(("bytes", "uint256"), (plan, inner))
    changed[command] = plan
    return data[:4] + abi_encode(("bytes", "bytes[]", "uint256"), (codes, changed, deadline))


def read(data: bytes) -> Call | None:
    try:
        return decode_call(data)
    except DecodingError:
        return None


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def samples_of(bench: Bench) -> dict[int, bytes]:
    """Honest parameters of each action, so that only its place can be wrong."""
    found: dict[int, bytes] = {}
    for name in ("decrease", "close", "increase", "create", "move", "swap"):
        steps, context = bench.plans[name]
        for part, _ in parts_of(name, steps[-1].transaction.data, context.owner):
            for code, params in zip(part.codes, part.params, strict=True):
                found.setdefault(code, params)
    return found


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.soak), 40])
def test_exactly_the_allowed_combinations_pass(bench: Bench, every: int) -> None:
    """Of all variants each at its own target, and one in so many at all other targets too."""
    samples = samples_of(bench)
    assert set(samples) == set(LAYOUTS)
    counted: Counter[bool] = Counter()
    for name in NAMES:
        steps, context = bench.plans[name]
        last = steps[-1].transaction
        alone = replace(context, nonce=last.nonce)
        recipients = (context.owner, SENDER, CONTRACT, ZERO, MANAGER, ROUTER, STRANGER)
        for part, command in parts_of(name, last.data, context.owner):
            for recipient in recipients:
                for slot, variant in part.variants(samples, recipient):
                    opcode = variant.codes[slot]
                    if opcode not in RECIPIENT_AT and recipient != context.owner:
                        continue  # the same bytes once more
                    shaped = variant.codes.hex() in variant.allowed
                    sent_home = opcode not in RECIPIENT_AT or recipient in variant.recipients
                    call = read(closed(variant, command, last.data))
                    for target in TARGETS if not counted.total() % every else (last.to,):
                        expected = shaped and sent_home and target == last.to
                        passed = call is not None and isinstance(
                            check([DecodedStep(replace(last, to=target), call)], alone), Allowed
                        )
                        assert passed == expected, (name, slot, opcode, recipient, target)
                        counted[passed] += 1
    print(f"{counted.total()} combinations: {counted[True]} pass, {counted[False]} refused")  # noqa: T201
    assert counted.total() > 2_000 // every
    assert counted[True] > 30
