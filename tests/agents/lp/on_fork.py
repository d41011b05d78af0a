"""A candidate carried out by the real contracts, on a copy of the chain that is thrown away."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agents.lp.facts import ObservedPoolFacts, key_of
from agents.lp.plan import Candidate, PrepAction
from chain.contracts import abi
from chain.contracts.calldata import (
    TO_SENDER,
    Burn,
    Mint,
    SettlePair,
    SwapExactIn,
    Sweep,
    TakePair,
    approve_through_permit2,
    approve_token,
    execute,
    modify_liquidities,
    swap_exact_in,
)
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.math.liquidity import Amounts
from chain.rpc.requests import Call, aggregate, decode_aggregate
from tests import node_rpc
from tests.agents.lp.debating import DEVNET

QUOTE = "quoteExactInputSingle(((address,address,uint24,int24,address),bool,uint128,bytes))"
NEVER = 2**48 - 1
_UNLIMITED = 2**160 - 1


class Executed(NamedTuple):
    """How the wallet's two balances changed at each step, and what the quoter had said."""

    burned: Amounts
    quoted: int | None
    swapped: Amounts
    minted: Amounts


@dataclass
class Fork:
    """Calls of one wallet, one after the other, on top of one block."""

    url: str
    block: int
    owner: str
    pool: ObservedPoolFacts
    others: Sequence[ObservedPoolFacts] = ()
    """What a swap may go through instead."""
    _calls: list[dict[str, str]] = field(default_factory=list)

    def there_and_back(
        self, candidate: Candidate, trader: str, back: SwapExactIn, token_id: int
    ) -> Amounts:
        """How the wallet's balances change: swap, mint, a trader moves the price back, burn."""
        contracts, key = DEVNET.contracts, self.key
        assert contracts.universal_router is not None
        self._approve_all()
        before = self._look()
        assert candidate.prep_action is not None
        self._swap(candidate.prep_action)
        self._mint(candidate)
        owner, self.owner = self.owner, trader
        self._approve_all()
        self._call(contracts.universal_router, execute([swap_exact_in(back)], NEVER))
        self.owner = owner
        leaving = (Burn(token_id, 0, 0), TakePair(key.currency0, key.currency1, TO_SENDER))
        self._call(contracts.position_manager, modify_liquidities(leaving, NEVER))
        after = self._look()
        returned = self._run()
        return _change(_balances(returned[before]), _balances(returned[after]))

    @property
    def key(self) -> PoolKey:
        return key_of(self.pool)

    def execute(self, candidate: Candidate, *, burning: int | None, wrapping: int = 0) -> Executed:
        """Burn, swap and mint; each revert fails the test that asked for it."""
        contracts, key = DEVNET.contracts, self.key
        pair = (key.currency0, key.currency1)
        self._approve_all()
        if wrapping:
            assert DEVNET.wrapped_native is not None
            self._call(DEVNET.wrapped_native, abi.encode_call("deposit()"), wrapping)
        looks = [self._look()]
        if burning is not None:
            exit_all = (Burn(burning, 0, 0), TakePair(*pair, TO_SENDER))
            self._call(contracts.position_manager, modify_liquidities(exit_all, NEVER))
        looks.append(self._look())
        quote = None if candidate.prep_action is None else self._swap(candidate.prep_action)
        looks.append(self._look())
        self._mint(candidate)
        looks.append(self._look())
        returned = self._run()
        before, burned, swapped, minted = (_balances(returned[index]) for index in looks)
        quoted = None if quote is None else abi.decode(("uint256", "uint256"), returned[quote])[0]
        return Executed(
            burned=_change(before, burned),
            quoted=None if quoted is None else int(str(quoted)),
            swapped=_change(burned, swapped),
            minted=_change(swapped, minted),
        )

    def _mint(self, candidate: Candidate) -> None:
        contracts, key = DEVNET.contracts, self.key
        assert candidate.tick_lower is not None
        assert candidate.tick_upper is not None
        mint = Mint(
            key,
            candidate.tick_lower,
            candidate.tick_upper,
            candidate.liquidity,
            # A unit more than foretold would be refused.
            candidate.amount0,
            candidate.amount1,
            self.owner,
        )
        native = key.currency0 == NATIVE
        sweep = (Sweep(NATIVE, TO_SENDER),) if native else ()
        data = modify_liquidities((mint, SettlePair(key.currency0, key.currency1), *sweep), NEVER)
        self._call(contracts.position_manager, data, candidate.amount0 if native else 0)

    def _swap(self, swap: PrepAction) -> int:
        """Ask the quoter, then swap; the place of the quoter's answer."""
        contracts, others = DEVNET.contracts, {pool.pool_id: key_of(pool) for pool in self.others}
        key = self.key if swap.pool_id is None else others[swap.pool_id]
        assert contracts.universal_router is not None
        asked = abi.encode_call(QUOTE, (key.values, swap.zero_for_one, swap.amount_in, b""))
        quote = self._call(contracts.quoter, asked)
        command = swap_exact_in(SwapExactIn(key, swap.zero_for_one, swap.amount_in, 0))
        sold = key.currency0 if swap.zero_for_one else key.currency1
        value = swap.amount_in if sold == NATIVE else 0
        self._call(contracts.universal_router, execute([command], NEVER), value)
        return quote

    def _approve_all(self) -> None:
        contracts = DEVNET.contracts
        for token in (self.key.currency0, self.key.currency1):
            if token == NATIVE:
                continue
            self._call(token, approve_token(contracts.permit2, 2**256 - 1))
            for spender in (contracts.position_manager, contracts.universal_router):
                assert spender is not None
                grant = approve_through_permit2(token, spender, _UNLIMITED, NEVER)
                self._call(contracts.permit2, grant)

    def _look(self) -> int:
        multicall3 = DEVNET.contracts.multicall3
        calls = [
            Call(multicall3, abi.encode_call("getEthBalance(address)", self.owner))
            if currency == NATIVE
            else Call(currency, abi.encode_call("balanceOf(address)", self.owner))
            for currency in (self.key.currency0, self.key.currency1)
        ]
        return self._call(multicall3, aggregate(calls))

    def _call(self, to: str, data: bytes, value: int = 0) -> int:
        call = {"from": self.owner, "to": to, "data": "0x" + data.hex(), "value": hex(value)}
        self._calls.append({**call, "gas": hex(1_500_000)})
        return len(self._calls) - 1

    def _run(self) -> list[bytes]:
        order = {"blockStateCalls": [{"calls": self._calls}]}
        [block] = node_rpc.ask(self.url, "eth_simulateV1", order, hex(self.block))
        for call in block["calls"]:
            assert int(call["status"], 16) == 1, call
        return [bytes.fromhex(call["returnData"][2:]) for call in block["calls"]]


def _balances(answer: bytes) -> Amounts:
    first, second = decode_aggregate(answer)
    return Amounts(int.from_bytes(first.data, "big"), int.from_bytes(second.data, "big"))


def _change(before: Amounts, after: Amounts) -> Amounts:
    return Amounts(after.amount0 - before.amount0, after.amount1 - before.amount1)
