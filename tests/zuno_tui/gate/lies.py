"""Everything one endpoint can tell wrongly that a signature or its outcome might rest on."""

from collections.abc import Callable
from dataclasses import dataclass

from chain.contracts.abi import encode
from chain.devnet.world.accounts import DEMO_WALLET, STRANGER
from chain.devnet.world.deployment import CONTRACTS, EXIT_GUARD, USDC, WBTC, WETH
from chain.devnet.world.pools import DYNAMIC, SLEEPY, WETH_USDC, WETH_USDC_LOW
from tests.fakes.lying_endpoint import Lie, contract_reads, refused, results
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.lie_parts import (
    GWEI,
    YEARS,
    base_fees,
    block_fields,
    clock_moved,
    code_of,
    doubled_amounts,
    extra_log,
    first_word,
    head_raised,
    older_head,
    pool_word,
    position_info,
    position_liquidity,
    price_moved,
    quoted,
    raised,
    reads,
    receipts,
    refused_after_all,
    reverting,
    scaled,
    simulated,
    succeeds,
    swallowed,
    tips,
    wider,
)
from tests.zuno_tui.gate.unlisted_token import UNLISTED

LieMaker = Callable[[Desk], Lie]


@dataclass(frozen=True)
class TestedLie:
    """A lie with the order on which it would do the most harm."""

    __test__ = False

    recipe: str
    make: LieMaker
    after_signing: bool = False
    """Whether it is told of what was sent, and not of what is to be signed."""


def _always(recipe: str, lie: Lie, *, after_signing: bool = False) -> TestedLie:
    return TestedLie(recipe, lambda _desk: lie, after_signing)


_COINS = "getEthBalance(address)"
_BALANCE = "balanceOf(address)"
_ALLOWED = "allowance(address,address)"
_THROUGH = "allowance(address,address,address)"
_ENDLESS = encode(("uint160", "uint48", "uint48"), (2**160 - 1, 2**48 - 1, 0))
_PAIR = (WETH.address, USDC.address)

LIES: dict[str, TestedLie] = {
    "chain id": _always("collect", results("eth_chainId", lambda _true: "0x1")),
    "head number + 5": _always("collect", head_raised(5)),
    "head is an older block": TestedLie("collect", older_head),
    "head hash": _always("collect", block_fields(hash=lambda _true: "0x" + "ab" * 32)),
    "head time + 10 years": _always("increase", clock_moved(YEARS)),
    "head time + 1 hour": _always("collect", clock_moved(3_600)),
    "head time − 1 hour": _always("collect", clock_moved(-3_600)),
    "base fee × 20": _always("collect", base_fees(scaled(20))),
    "base fee ÷ 7": _always("collect", base_fees(scaled(1, 7))),
    "tip 290 gwei": _always("collect", tips(290 * GWEI)),
    "tip 20 gwei": _always("collect", tips(20 * GWEI)),
    "tip 0": _always("collect", tips(0)),
    "gas price × 100": _always("collect", results("eth_gasPrice", scaled(100))),
    "simulated gas × 8": _always(
        "collect", simulated(lambda call: {**call, "gasUsed": scaled(8)(call["gasUsed"])})
    ),
    "simulated gas 21,000": _always(
        "collect", simulated(lambda call: {**call, "gasUsed": hex(21_000)})
    ),
    "simulation missing": _always("collect", refused("eth_simulateV1", -32601, "not found")),
    "simulation of a failure succeeds": _always("close shut", simulated(succeeds)),
    "simulation with other amounts": _always("collect", simulated(doubled_amounts)),
    "simulation without transfers": _always(
        "collect", simulated(lambda call: {**call, "logs": []})
    ),
    "simulation fails": _always(
        "collect",
        simulated(lambda call: {**call, "status": "0x0", "returnData": "0x", "logs": []}),
    ),
    "coin balance × 100": _always(
        "wrap more than there is",
        reads((CONTRACTS.multicall3,), _COINS, first_word(lambda held: 100 * held))
        | results("eth_getBalance", scaled(100)),
    ),
    "token balance × 100": _always(
        "increase", reads(_PAIR, _BALANCE, first_word(lambda held: 100 * held))
    ),
    "token balance 0": _always("increase", reads(_PAIR, _BALANCE, first_word(lambda _held: 0))),
    "allowance without end": _always(
        "increase", reads(_PAIR, _ALLOWED, first_word(lambda _given: 2**256 - 1))
    ),
    "allowance through Permit2 without end": _always(
        "increase", reads((CONTRACTS.permit2,), _THROUGH, lambda _given: _ENDLESS)
    ),
    "nonce + 1": _always("collect", results("eth_getTransactionCount", raised(1))),
    "nonce − 1": _always("collect", results("eth_getTransactionCount", raised(-1))),
    "pending nonce + 3": _always(
        "collect",
        Lie(
            {
                "eth_getTransactionCount": lambda call, true: raised(3)(true)
                if call["params"][1] == "pending"
                else true
            }
        ),
    ),
    "owner is somebody else": _always(
        "collect",
        reads(
            (CONTRACTS.position_manager,),
            "ownerOf(uint256)",
            first_word(lambda _true: int(STRANGER.address, 16)),
        ),
    ),
    "owner is the wallet": _always(
        "close another's",
        reads(
            (CONTRACTS.position_manager,),
            "ownerOf(uint256)",
            first_word(lambda _true: int(DEMO_WALLET.address, 16)),
        ),
    ),
    "position liquidity × 2": TestedLie(
        "close", lambda desk: position_liquidity(desk, "underpaid", lambda held: 2 * held)
    ),
    "position liquidity ÷ 2": TestedLie(
        "close", lambda desk: position_liquidity(desk, "underpaid", lambda held: held // 2)
    ),
    "range of the position": _always("close", position_info(wider)),
    "pool price + 0.9 %": _always("close", pool_word(SLEEPY.key, "slot0", price_moved(9))),
    "pool price − 5 %": _always("close", pool_word(SLEEPY.key, "slot0", price_moved(-50))),
    "pool liquidity × 10": _always(
        "move with a swap", pool_word(WETH_USDC.key, "liquidity", lambda word: 10 * word)
    ),
    "liquidity of another pool × 10": _always(
        "move with a swap", pool_word(WETH_USDC_LOW.key, "liquidity", lambda word: 10 * word)
    ),
    "price of another pool + 3 %": _always(
        "move with a swap", pool_word(WETH_USDC_LOW.key, "slot0", price_moved(30))
    ),
    "price of another pool − 3 %": _always(
        "move with a swap", pool_word(WETH_USDC_LOW.key, "slot0", price_moved(-30))
    ),
    "pool fee": _always(
        "increase",
        pool_word(DYNAMIC.key, "slot0", lambda word: word & ~(0xFFFFFF << 208) | 1 << 208),
    ),
    "decimals of an unlisted token + 2": _always(
        "increase unlisted",
        reads((UNLISTED,), "decimals()", first_word(lambda true: true + 2)),
    ),
    "decimals of an unlisted token − 2": _always(
        "increase unlisted",
        reads((UNLISTED,), "decimals()", first_word(lambda true: true - 2)),
    ),
    "symbol of an unlisted token": _always(
        "increase unlisted",
        reads((UNLISTED,), "symbol()", lambda _true: encode(("string",), ("USDC",))),
    ),
    "code of a token": _always("collect", code_of(WBTC.address)),
    "code of the PositionManager": _always("collect", code_of(CONTRACTS.position_manager)),
    "code of a hook": _always("close hooked", code_of(EXIT_GUARD)),
    "quoter − 0.9 %": _always("move with a swap", quoted(991, 1000)),
    "quoter − 20 %": _always("move with a swap", quoted(8, 10)),
    "quoter + 20 %": _always("move with a swap", quoted(12, 10)),
    "logs missing": _always("move with a swap", results("eth_getLogs", lambda _true: [])),
    "logs twice": _always("move with a swap", results("eth_getLogs", extra_log)),
    "storage all zero": _always(
        "close",
        contract_reads(
            CONTRACTS.multicall3,
            lambda to, data: to == CONTRACTS.pool_manager,
            lambda data: data[:64] + bytes(len(data) - 64),
        ),
    ),
    "multicall empty": _always(
        "collect",
        Lie(
            {
                "eth_call": lambda call, true: "0x"
                if call["params"][0]["to"].lower() == CONTRACTS.multicall3
                else true
            }
        ),
    ),
    "reverted told as success": TestedLie("close", reverting, after_signing=True),
    "success told as reverted": _always(
        "wrap", receipts(lambda true: {**true, "status": "0x0"}), after_signing=True
    ),
    "success told as reverted, of several steps": _always(
        "increase", receipts(lambda true: {**true, "status": "0x0"}), after_signing=True
    ),
    "receipt missing": _always("wrap", receipts(lambda _true: None), after_signing=True),
    "receipt of another block": _always(
        "wrap",
        receipts(lambda true: {**true, "blockHash": "0x" + "cd" * 32}),
        after_signing=True,
    ),
    "receipt without logs": _always(
        "collect", receipts(lambda true: {**true, "logs": []}), after_signing=True
    ),
    "transaction unknown": _always(
        "wrap", results("eth_getTransactionByHash", lambda _true: None), after_signing=True
    ),
    "send swallowed": _always(
        "wrap",
        Lie({"eth_sendRawTransaction": swallowed}, frozenset({"eth_sendRawTransaction"})),
        after_signing=True,
    ),
    "send refused after acceptance": _always(
        "wrap", Lie({"eth_sendRawTransaction": refused_after_all}), after_signing=True
    ),
    "send answered with another hash": _always(
        "wrap", results("eth_sendRawTransaction", lambda _true: "0x" + "12" * 32),
        after_signing=True,
    ),
    "finalized is the head": TestedLie(
        "wrap",
        lambda desk: Lie(
            {
                "eth_getBlockByNumber": lambda call, true: desk.ask(
                    "eth_getBlockByNumber", "latest", False
                )
                if call["params"][0] == "finalized"
                else true
            }
        ),
        after_signing=True,
    ),
}  # fmt: skip
