"""What people do with Uniswap v3 on the embedded chain in these tests."""

from dataclasses import dataclass

from chain.contracts import abi
from chain.contracts.networks import Address, V3Contracts
from chain.devnet.world.accounts import Account
from chain.devnet.world.v3_life import SWAP_ROUTER
from chain.protocols.v3.pool_key import v3_pool_address
from tests.chain.moves import NEVER, CallFailedError, Moves

MOST = 2**128 - 1
_CREATE = "createAndInitializePoolIfNecessary(address,address,uint24,uint160)"
_MINT = "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))"
_DECREASE = "decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))"
_INCREASE = "increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))"
_COLLECT = "collect((uint256,address,uint128,uint128))"
_SWAP = "exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))"


@dataclass(frozen=True)
class V3Moves:
    moves: Moves

    @property
    def contracts(self) -> V3Contracts:
        contracts = self.moves.network.v3
        assert contracts is not None
        return contracts

    @property
    def manager(self) -> Address:
        return self.contracts.position_manager

    def pool(self, token0: Address, token1: Address, fee: int) -> Address:
        return v3_pool_address(self.contracts.factory, token0, token1, fee)

    def approve(self, account: Account, *tokens: Address) -> None:
        for token in tokens:
            for spender in (self.manager, SWAP_ROUTER):
                data = abi.encode_call("approve(address,uint256)", spender, 2**256 - 1)
                self.moves.send(account, token, data)

    def create(
        self, account: Account, token0: Address, token1: Address, fee: int, sqrt_price: int
    ) -> Address:
        data = abi.encode_call(_CREATE, token0, token1, fee, sqrt_price)
        self.moves.send(account, self.manager, data, gas=6_000_000)
        return self.pool(token0, token1, fee)

    def mint(
        self,
        payer: Account,
        pair: tuple[Address, Address, int],
        ticks: tuple[int, int],
        amounts: tuple[int, int],
        owner: Address,
    ) -> int:
        """A position for anybody, paid for by somebody; its token id."""
        values = (*pair, *ticks, *amounts, 0, 0, owner, NEVER)
        made = self.ask(payer.address, abi.encode_call(_MINT, values))
        self.moves.send(payer, self.manager, abi.encode_call(_MINT, values))
        return int.from_bytes(made[:32], "big")

    def mint_many(
        self,
        payer: Account,
        pair: tuple[Address, Address, int],
        ranges: list[tuple[int, int]],
        amounts: tuple[int, int],
        owner: Address,
    ) -> list[int]:
        """Several in one transaction."""
        mints = [
            abi.encode_call(_MINT, (*pair, *ticks, *amounts, 0, 0, owner, NEVER))
            for ticks in ranges
        ]
        data = abi.encode_call("multicall(bytes[])", tuple(mints))
        (made,) = abi.decode(("bytes[]",), self.ask(payer.address, data))
        self.moves.send(payer, self.manager, data, gas=15_000_000)
        return [int.from_bytes(one[:32], "big") for one in made]

    def swap(self, trader: Account, tokens: tuple[Address, Address], fee: int, amount: int) -> None:
        values = (*tokens, fee, trader.address, NEVER, amount, 0, 0)
        self.moves.send(trader, SWAP_ROUTER, abi.encode_call(_SWAP, values))

    def bought(
        self, trader: Account, tokens: tuple[Address, Address], fee: int, amount: int
    ) -> int:
        """What such a swap would pay out."""
        values = (*tokens, fee, trader.address, NEVER, amount, 0, 0)
        data = "0x" + abi.encode_call(_SWAP, values).hex()
        call = {"from": trader.address, "to": SWAP_ROUTER, "data": data}
        return int(self.moves.rpc("eth_call", call, "latest"), 16)

    def decrease(self, account: Account, token_id: int, liquidity: int) -> None:
        data = abi.encode_call(_DECREASE, (token_id, liquidity, 0, 0, NEVER))
        self.moves.send(account, self.manager, data)

    def collect(
        self, account: Account, token_id: int, at_most: tuple[int, int] = (MOST, MOST)
    ) -> None:
        data = abi.encode_call(_COLLECT, (token_id, account.address, *at_most))
        self.moves.send(account, self.manager, data)

    def increase(self, account: Account, token_id: int, amounts: tuple[int, int]) -> None:
        data = abi.encode_call(_INCREASE, (token_id, *amounts, 0, 0, NEVER))
        self.moves.send(account, self.manager, data)

    def burn(self, account: Account, token_id: int, liquidity: int) -> None:
        """With all that is in it."""
        steps = [
            *[abi.encode_call(_DECREASE, (token_id, liquidity, 0, 0, NEVER))] * bool(liquidity),
            abi.encode_call(_COLLECT, (token_id, account.address, MOST, MOST)),
            abi.encode_call("burn(uint256)", token_id),
        ]
        data = abi.encode_call("multicall(bytes[])", tuple(steps))
        self.moves.send(account, self.manager, data)

    def takes_out(self, owner: Address, token_id: int, liquidity: int) -> tuple[int, int]:
        """What a decrease would add to what the token is owed."""
        data = abi.encode_call(_DECREASE, (token_id, liquidity, 0, 0, NEVER))
        told = self.ask(owner, data)
        return int.from_bytes(told[:32], "big"), int.from_bytes(told[32:], "big")

    def ask_pool(self, pool: Address, signature: str) -> bytes:
        call = {"to": pool, "data": "0x" + abi.encode_call(signature).hex()}
        return bytes.fromhex(self.moves.rpc("eth_call", call, "latest")[2:])

    def give(self, owner: Account, recipient: Address, token_id: int) -> None:
        signature = "transferFrom(address,address,uint256)"
        data = abi.encode_call(signature, owner.address, recipient, token_id)
        self.moves.send(owner, self.manager, data)

    def collected(
        self, owner: Address, token_id: int, at_most: tuple[int, int] = (MOST, MOST)
    ) -> tuple[int, int]:
        """What `collect` alone would pay."""
        told = self.ask(owner, abi.encode_call(_COLLECT, (token_id, owner, *at_most)))
        return int.from_bytes(told[:32], "big"), int.from_bytes(told[32:], "big")

    def withdrawn(self, owner: Address, token_id: int, liquidity: int) -> tuple[int, int]:
        """What taking everything out and collecting it would pay, and that `burn` then agrees."""
        collect = abi.encode_call(_COLLECT, (token_id, owner, MOST, MOST))
        burn = abi.encode_call("burn(uint256)", token_id)
        decrease = abi.encode_call(_DECREASE, (token_id, liquidity, 0, 0, NEVER))
        steps = (decrease, collect, burn) if liquidity else (collect, burn)
        told = self.ask(owner, abi.encode_call("multicall(bytes[])", steps))
        (results,) = abi.decode(("bytes[]",), told)
        paid = results[-2]
        return int.from_bytes(paid[:32], "big"), int.from_bytes(paid[32:], "big")

    def ask(self, sender: Address, data: bytes) -> bytes:
        call = {"from": sender, "to": self.manager, "data": "0x" + data.hex()}
        answer = self.moves.rpc("eth_call", call, "latest")
        if not isinstance(answer, str):
            raise CallFailedError(answer)
        return bytes.fromhex(answer[2:])
