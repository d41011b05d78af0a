"""The book of orders: what is written together stands together or not at all."""

import resource
from pathlib import Path

import pytest

from chain.standing_orders.book import StandingOrders, StandingOrdersError
from chain.standing_orders.order import PricePast, StandingOrder

MOST_BYTES = 8_192


def signed(delegation: str) -> StandingOrder:
    return StandingOrder(
        version=2,
        number=0,
        chain_id=1,
        delegation=delegation,
        condition=PricePast("4339505179874779662909440", falls=True),
        made_at=0.0,
        liquidity="123456789",
        hook_code=None,
        hold_seconds=120,
        pair=("WETH", "USDC"),
        decimals=(18, 6),
        secret="000102030405060708090a0b0c0d0e0f",
    )


def test_a_page_of_orders_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "orders"
    book = StandingOrders(folder)
    [before] = book.add_all([signed("0x01")])
    page = [signed("0x02"), signed("0x" + "03" * MOST_BYTES)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, hard))
    try:
        with pytest.raises(StandingOrdersError, match="none was kept"):
            book.add_all(page)
        stands = [path.name for path in folder.glob("*.json")]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    kept = book.add_all(page)

    assert stands == [f"{before.number}.json"]
    assert [order.delegation for order in kept] == [order.delegation for order in page]
    assert len({order.number for order in (before, *kept)}) == 3
