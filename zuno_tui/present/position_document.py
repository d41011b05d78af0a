"""A wallet's positions as JSON for programs: integers that may pass 2^53 are text."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from chain.base.quantity import Quantity, Unknown
from chain.tokens.pair import pair_of
from zuno_tui.present.price_fields import price_fields, range_fields
from zuno_tui.present.words import number, units

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network
    from chain.math.liquidity import Amounts
    from chain.positions.overview import Overview, Worth
    from chain.positions.performance import Performance
    from chain.positions.snapshot import PositionSnapshot
    from chain.prices.price import PriceBook
    from chain.tokens import Token
    from zuno_tui.present.output import Json


def wallet_document(
    network: Network, overview: Overview, performance: Performance | None
) -> dict[str, Json]:
    wallet, whole = overview.wallet, overview.portfolio
    worths = {one.token_id: one for one in whole.positions}
    return {
        "network": network.name,
        "chainId": network.chain_id,
        "block": wallet.block.number,
        "blockHash": wallet.block.hash,
        "time": wallet.block.timestamp,
        "owner": wallet.owner,
        "found": wallet.found,
        "balanceOf": wallet.balance_of,
        "missing": wallet.missing,
        "operators": list(wallet.operators),
        "operators_known_from_block": wallet.approvals_from,
        "unit": whole.unit.value,
        "total": round(float(whole.total), 8),
        "uncollected": round(float(whole.fees), 8),
        "unpriced": [
            {"address": one.token.address, "amount": str(one.amount), "reason": one.reason}
            for one in whole.unpriced
        ],
        "positions": [
            position_document(
                network,
                position,
                overview.tokens,
                overview.prices,
                worths[position.token_id],
            )
            | ({} if performance is None else performance_document(performance, position))
            for position in wallet.positions
        ],
    }


def position_document(
    network: Network,
    position: PositionSnapshot,
    tokens: Mapping[Address, Token],
    prices: PriceBook,
    value: Worth,
) -> dict[str, Json]:
    pool, identity, key = position.pool, position.identity, position.pool.key
    token0, token1 = tokens[key.currency0], tokens[key.currency1]
    pair = pair_of(network, token0, token1, pool.sqrt_price_x96)
    usd = prices.value(token0, position.amount0), prices.value(token1, position.amount1)
    return {
        "tokenId": str(position.token_id),
        "poolId": pool.pool_id,
        "currency0": key.currency0,
        "currency1": key.currency1,
        "symbol0": token0.label,
        "symbol1": token1.label,
        "decimals0": token0.decimals,
        "decimals1": token1.decimals,
        "fee": key.fee,
        "lpFee": pool.lp_fee,
        "protocolFee": {
            "zeroForOne": pool.protocol_fee.zero_for_one,
            "oneForZero": pool.protocol_fee.one_for_zero,
        },
        "tickSpacing": key.tick_spacing,
        "hooks": key.hooks,
        "hook": {"danger": pool.hook.danger.value, "sentences": list(pool.hook.sentences)},
        "tickLower": identity.tick_lower,
        "tickUpper": identity.tick_upper,
        "tick": pool.tick,
        "sqrtPriceX96": str(pool.sqrt_price_x96),
        **price_fields(pair, pool.sqrt_price_x96),
        **range_fields(pair, identity.tick_lower, identity.tick_upper),
        "liquidity": str(position.liquidity),
        "poolLiquidity": str(pool.liquidity),
        "share": round(float(position.share), 12),
        "amount0": str(position.amount0),
        "amount1": str(position.amount1),
        "fees0": str(position.fees0),
        "fees1": str(position.fees1),
        "delta": str(position.delta),
        "inRange": position.in_range,
        "status": position.status.value,
        "owner": position.owner,
        "approved": position.custody.approved,
        "subscriber": position.custody.subscriber,
        "valueUsd": _sum(*usd),
        "value": number(value.principal),
        "feesValue": number(value.fees),
        "sources": {
            **position.sources,
            "price0": _source(prices.price(key.currency0)),
            "price1": _source(prices.price(key.currency1)),
        },
    }


def _whole(value: Quantity[int]) -> int | None:
    return None if isinstance(value, Unknown) else value.value


def performance_document(performance: Performance, position: PositionSnapshot) -> dict[str, Json]:
    account = performance.accounts[position.token_id]
    daily = performance.daily[position.token_id]
    return {
        "sinceEntry": {
            "ageSeconds": _whole(account.age_seconds),
            "deposited": _amounts(account.deposited),
            "withdrawn": _amounts(account.withdrawn),
            "feesCollected": _amounts(account.fees_collected),
            "feesEarned": _amounts(account.fees_earned),
            "heldInstead": _amounts(account.held_instead),
            "againstHolding1": number(account.against_holding),
            "impermanentLoss": number(account.impermanent_loss),
            "gas": units(account.gas),
            "changes": len(account.changes),
            "unknown": _reasons(account.fees_earned, account.against_holding, account.gas),
        },
        "daily": {
            "measuredSeconds": daily.measured_seconds,
            "fees": _amounts(daily.fees),
            "lvr1": number(daily.lvr),
            "net1": number(daily.net),
            "unknown": _reasons(daily.fees, daily.lvr),
        },
    }


def _sum(*parts: Quantity[Fraction]) -> float | None:
    known = [number(part) for part in parts]
    return None if None in known else round(sum(part or 0.0 for part in known), 8)


def _amounts(value: Quantity[Amounts]) -> Json:
    if isinstance(value, Unknown):
        return None
    return {"amount0": str(value.value.amount0), "amount1": str(value.value.amount1)}


def _reasons(*values: Quantity[object]) -> list[str]:
    return list(dict.fromkeys(one.reason for one in values if isinstance(one, Unknown)))


def _source(price: Quantity[Fraction]) -> str:
    return f"unknown: {price.reason}" if isinstance(price, Unknown) else price.source
