"""What a plan's options came to be worth, counted a second time: swap by swap from raw logs."""

from dataclasses import dataclass
from itertools import pairwise

from eth_abi.abi import decode
from eth_hash.auto import keccak

from agents.lp.plan import Candidate, Plan
from tests.chain.moves import Moves

_TOPIC = "0x" + keccak(b"Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)").hex()
_DATA = ("int128", "int128", "uint160", "uint128", "int24", "uint24")
HOUR, DAY = 3_600, 86_400


@dataclass(frozen=True)
class LoggedSwap:
    time: int
    root: float
    """√P after it."""
    liquidity: int
    fee: float
    sells0: bool


def logged_swaps(moves: Moves, pool_id: str) -> list[LoggedSwap]:
    manager = moves.network.contracts.pool_manager
    wanted = {"address": manager, "topics": [_TOPIC, pool_id], "fromBlock": "0x0"}
    found = []
    for log in moves.rpc("eth_getLogs", {**wanted, "toBlock": "latest"}):
        block = moves.rpc("eth_getBlockByNumber", log["blockNumber"], False)
        amount0, _, root, liquidity, _, fee = decode(_DATA, bytes.fromhex(log["data"][2:]))
        time = int(block["timestamp"], 16)
        found.append(LoggedSwap(time, root / 2**96, liquidity, fee / 1e6, amount0 < 0))
    return found


@dataclass(frozen=True)
class Recounted:
    """Worths in units of the second token."""

    choice: float
    hold: float
    exit: float
    wide: float
    hedged: tuple[float, float, float, float]
    """Fees − LVR − cost of the same four."""


def recount(plan: Plan, days: int, swaps: list[LoggedSwap]) -> Recounted:
    begin = plan.time + (-plan.time) % HOUR
    end = begin + days * DAY
    before = [swap for swap in swaps if swap.time < begin]
    path = [before[-1], *(swap for swap in swaps if begin <= swap.time < end)]
    assert plan.exit is not None
    unit = _unit(plan, plan.exit)
    have0, have1 = plan.exit.amount0, plan.exit.amount1
    last = path[-1].root
    hold_range = _range(plan.hold)

    def worth(one: Candidate) -> float:
        gas = (one.gas_usd or 0.0) / unit
        if one.tick_lower is None:
            return have0 * last**2 + have1 - gas
        beside0, beside1 = float(one.residual0), float(one.residual1)
        if one.kind == "hold":
            beside0, beside1 = float(have0 - one.amount0), float(have1 - one.amount1)
        return _held(_range(one), last) + beside0 * last**2 + beside1 + fees(_range(one)) - gas

    def fees(mine: tuple[float, float, float]) -> float:
        total0 = total1 = 0.0
        for start, swap in pairwise(path):
            low, high = sorted((start.root, swap.root))
            inside = _overlap(low, high, mine)
            if inside is None:
                continue
            part = mine[2] * swap.fee / (1 - swap.fee)
            if mine != hold_range:
                held = hold_range[2] if _overlap(low, high, hold_range) else 0.0
                part *= swap.liquidity / (max(0.0, swap.liquidity - held) + mine[2])
            if swap.sells0:
                total0 += part * (1 / inside[0] - 1 / inside[1])
            else:
                total1 += part * (inside[1] - inside[0])
        return total0 * last**2 + total1

    hourly = [path[0].root]
    for swap, after in pairwise([*path[1:], None]):
        if swap is not None and (after is None or after.time // HOUR != swap.time // HOUR):
            hourly.append(swap.root)

    def lost(mine: tuple[float, float, float]) -> float:
        """What holding each hour's tokens would have kept."""
        total = 0.0
        for start, end in pairwise(hourly):
            inside = min(max(start, mine[0]), mine[1])
            kept0 = mine[2] * (1 / inside - 1 / mine[1])
            kept1 = mine[2] * (inside - mine[0])
            total += kept0 * end**2 + kept1 - _held(mine, end)
        return total

    def hedged(one: Candidate) -> float:
        cost = (one.cost_usd or 0.0) / unit
        if one.tick_lower is None:
            return -cost
        return fees(_range(one)) - lost(_range(one)) - cost

    wide = _wide(plan, have0, have1)
    dearest = max(one.gas_usd or 0.0 for one in plan.candidates) / unit
    return Recounted(
        choice=worth(plan.recommended),
        hold=worth(plan.hold),
        exit=worth(plan.exit),
        wide=_held(wide, last) + fees(wide) - dearest,
        hedged=(
            hedged(plan.recommended),
            hedged(plan.hold),
            hedged(plan.exit),
            fees(wide) - lost(wide) - dearest - _swapped(plan, wide, have0, have1),
        ),
    )


def _swapped(plan: Plan, wide: tuple[float, float, float], have0: int, have1: int) -> float:
    """What entering the wide range lost."""
    root = _price_root(plan)
    return have0 * root**2 + have1 - _held(wide, root)


def _price_root(plan: Plan) -> float:
    return plan.pools[0].sqrt_price_x96 / 2**96


def _unit(plan: Plan, leaving: Candidate) -> float:
    worth = leaving.amount0 * _price_root(plan) ** 2 + leaving.amount1
    return (leaving.value_usd or 0.0) / worth


def _range(one: Candidate) -> tuple[float, float, float]:
    assert one.tick_lower is not None
    assert one.tick_upper is not None
    return 1.0001 ** (one.tick_lower / 2), 1.0001 ** (one.tick_upper / 2), float(one.liquidity)


def _held(held: tuple[float, float, float], root: float) -> float:
    lower, upper, liquidity = held
    inside = min(max(root, lower), upper)
    return liquidity * ((1 / inside - 1 / upper) * root**2 + inside - lower)


def _overlap(
    low: float, high: float, held: tuple[float, float, float]
) -> tuple[float, float] | None:
    inside = max(low, held[0]), min(high, held[1])
    return inside if inside[0] < inside[1] else None


def _wide(plan: Plan, have0: int, have1: int) -> tuple[float, float, float]:
    """By halving: the most liquidity that what is there can pay for, swapped at the fee."""
    pool, root = plan.pools[0], _price_root(plan)
    price = root * root
    spacing, half = pool.tick_spacing, 1823  # ticks of 20 %
    lower: float = 1.0001 ** (round((pool.tick - half) / spacing) * spacing / 2)
    upper: float = 1.0001 ** (round((pool.tick + half) / spacing) * spacing / 2)
    kept = 1 - pool.lp_fee / 1e6

    def affordable(liquidity: float) -> bool:
        spare0 = have0 - liquidity * (1 / root - 1 / upper)
        spare1 = have1 - liquidity * (root - lower)
        if spare0 >= 0:
            return spare1 + spare0 * price * kept >= 0
        return spare1 * kept >= -spare0 * price

    few, many = 0.0, 1e30
    for _ in range(200):
        middle = (few + many) / 2
        few, many = (middle, many) if affordable(middle) else (few, middle)
    return lower, upper, few
