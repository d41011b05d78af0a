"""Plans of Uniswap v3, built from what the chain tells, judged by the policy and carried out."""

from collections.abc import Sequence
from dataclasses import dataclass

from chain.contracts import abi
from chain.contracts.networks import NATIVE, Address
from chain.devnet.world.accounts import MEDIUM_PROVIDER, Account
from chain.devnet.world.writing import sign_transaction
from chain.execution import protocols
from chain.execution.build.builder import Built, build
from chain.execution.chain_facts import read_chain_facts
from chain.execution.decode.decoder import decode
from chain.execution.plan.context import PolicyContext, PolicyLimits, key_of
from chain.execution.plan.facts import ChainFacts, PoolFacts, PositionFacts, position_facts
from chain.execution.plan.records import DecodedStep
from chain.execution.plan.requests import CallRequest, swap_in
from chain.execution.policy.policy import PolicyRefused, check
from chain.pools.depth import Depth, quote_at_most, read_depths, read_states
from chain.positions.batch_reader import read_positions
from chain.protocols.reference import v3_position
from chain.protocols.snapshot import PositionSnapshot
from chain.protocols.v3.pool_key import V3PoolKey, v3_pool_key
from chain.read.block_reader import OneBlock
from tests import node_rpc
from tests.chain.conftest import Desk
from tests.chain.execution.made_up_plans import positions_of
from tests.chain.v3_moves import V3Moves

OWNER = MEDIUM_PROVIDER
CODE = "0x" + "ab" * 32
_PLENTY = 10**40


@dataclass(frozen=True)
class V3Desk:
    """A wallet of the embedded chain with its positions of v3."""

    desk: Desk
    v3: V3Moves
    owner: Account = OWNER

    def key(self, token0: Address, token1: Address, fee: int, spacing: int) -> V3PoolKey:
        return v3_pool_key(self.v3.contracts.factory, token0, token1, fee, spacing)

    async def snapshot(self, token_id: int) -> PositionSnapshot | None:
        ref, desk = v3_position(token_id), self.desk
        found = await read_positions(desk.client, desk.network, desk.memory, [ref])
        return found.get(ref)

    async def position(self, token_id: int) -> PositionFacts:
        snapshot = await self.snapshot(token_id)
        assert snapshot is not None
        return position_facts(snapshot)

    async def pool(self, key: V3PoolKey) -> PoolFacts:
        state = (await self.depth(key)).state
        return PoolFacts(key, state.sqrt_price_x96, state.lp_fee)

    async def depth(self, key: V3PoolKey) -> Depth:
        here = OneBlock(self.desk.client, self.desk.network)
        (state,) = (await read_states(here, self.desk.network, [key])).states
        depths = await read_depths(here, self.desk.network, [state], reach=5_000)
        return depths[key.pool_id]

    async def quote(self, key: V3PoolKey, amount: int, *, zero_for_one: bool) -> int:
        return quote_at_most(await self.depth(key), amount, zero_for_one=zero_for_one).amount_out

    async def facts(self, *tokens: Address) -> ChainFacts:
        head = await self.desk.client.head()
        return await read_chain_facts(
            self.desk.client, self.desk.network, self.owner.address, tokens, head
        )

    def held(self, token: Address) -> int:
        if token == NATIVE:
            return int(self.v3.moves.rpc("eth_getBalance", self.owner.address, "latest"), 16)
        data = "0x" + abi.encode_call("balanceOf(address)", self.owner.address).hex()
        return int(self.v3.moves.rpc("eth_call", {"to": token, "data": data}, "latest"), 16)

    async def built(self, request: CallRequest) -> Built:
        return build(request, await self.facts(*self.tokens(request)))

    def tokens(self, request: CallRequest) -> tuple[Address, ...]:
        pools = [position.pool for position in positions_of(request)]
        pools += [pool for name in ("pool", "into") if (pool := getattr(request, name, None))]
        pairs = [(pool.key.currency0, pool.key.currency1) for pool in pools]
        return tuple(dict.fromkeys(token for pair in pairs for token in pair))

    def judged(
        self, steps: Sequence[DecodedStep], request: CallRequest, facts: ChainFacts
    ) -> tuple[str, ...]:
        """Why the policy refuses these steps; nothing where it lets them through."""
        verdict = check(steps, self.context(request, facts))
        return verdict.reasons if isinstance(verdict, PolicyRefused) else ()

    def context(self, request: CallRequest, facts: ChainFacts) -> PolicyContext:
        positions = positions_of(request)
        pools = [position.pool for position in positions]
        pools += [pool for name in ("pool", "into") if (pool := getattr(request, name, None))]
        swap, tokens = swap_in(request), frozenset(self.tokens(request))
        called = {address for each in protocols.ALL for address in each.contracts(facts.network)}
        codes = dict.fromkeys({*called, *tokens}, CODE)
        return PolicyContext(
            network=facts.network,
            allowed_chain_ids=frozenset({facts.network.chain_id}),
            owner=facts.sender,
            head_time=facts.head_time,
            nonce=facts.nonce,
            limits=PolicyLimits(facts.fees.max_fee_per_gas, value=_PLENTY),
            tokens=tokens,
            code_hashes=codes,
            pinned_code_hashes=codes,
            pools={key_of(pool.key): pool for pool in pools},
            positions={position.ref: position for position in positions},
            quotes=() if swap is None else (swap,),
        )

    async def carried_out(self, request: CallRequest) -> tuple[Built, dict[Address, int], int]:
        """The plan, what the wallet holds more or less for it, gas given back, and the gas."""
        facts = await self.facts(*self.tokens(request))
        built = build(request, facts)
        steps = [decode(each) for each in built.transactions]
        assert not (faults := self.judged(steps, request, facts)), faults
        before = {token: self.held(token) for token in facts.balances}
        paid = used = 0
        for each in built.transactions:
            signed = sign_transaction(
                self.owner.key,
                nonce=each.nonce,
                to=each.to,
                gas=each.gas,
                max_fee_per_gas=each.max_fee_per_gas,
                max_priority_fee_per_gas=each.max_priority_fee_per_gas,
                value=each.value,
                data=each.data,
            )
            url = self.v3.moves.url
            sent = self.v3.moves.rpc("eth_sendRawTransaction", "0x" + signed.raw.hex())
            receipt = node_rpc.receipt(url, sent)
            assert int(receipt["status"], 16) == 1, each.step
            used += int(receipt["gasUsed"], 16)
            paid += int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
        changes = {token: self.held(token) - held for token, held in before.items()}
        changes[NATIVE] += paid
        return built, changes, used
