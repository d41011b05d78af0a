"""What the gate makes of code and allowances read from the chain."""

from typing import cast

from chain.base.store import Store
from chain.contracts.addresses import keccak
from chain.contracts.networks import network_named, shipped_code_hashes
from chain.execution.plan.facts import SpenderAllowance, TokenAllowances
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from tests.fakes.told_reader import ToldReader
from zuno_tui.gate.allowances import GivenAllowance, allowances_given
from zuno_tui.gate.contract_code import read_code_hashes

BASE = network_named("base")
PERMIT2, MANAGER = BASE.contracts.permit2, BASE.contracts.position_manager
TOKEN, OTHER = "0x" + "aa" * 20, "0x" + "bb" * 20
NOW = 1000


def test_only_what_is_allowed_and_has_not_expired_is_given() -> None:
    def through(amount: int, expiration: int) -> TokenAllowances:
        return TokenAllowances(0, {MANAGER: SpenderAllowance(amount, expiration)})

    def given(found: TokenAllowances) -> tuple[GivenAllowance, ...]:
        return allowances_given(BASE, {TOKEN: found}, NOW)

    lasting = (GivenAllowance(TOKEN, MANAGER, "PositionManager", True, 7, NOW),)
    assert given(TokenAllowances(5, {})) == (
        GivenAllowance(TOKEN, PERMIT2, "Permit2", False, 5, None),
    )
    assert given(TokenAllowances(0, {})) == ()
    assert given(through(7, NOW)) == lasting
    assert given(through(7, NOW - 1)) == given(through(0, NOW + 1)) == ()


async def test_code_is_known_as_shipped_as_met_before_or_from_now_on() -> None:
    codes = {PERMIT2: b"\x01", TOKEN: b"\x02", OTHER: b""}
    reader = ToldReader(lambda _method, params: codes[str(params[0])])
    store, pins = Store.in_memory(), Store.in_memory()
    sources = Sources(cast("RpcClient", reader), BASE, store, None, lambda: float(NOW))
    first = await read_code_hashes(sources, codes, "latest", pins=pins)
    again = await read_code_hashes(sources, codes, "latest", pins=store)

    hashes = {each: "0x" + keccak(code).hex() for each, code in codes.items() if code}
    shipped = shipped_code_hashes(BASE)[PERMIT2]
    assert first.now == again.now == hashes
    assert first.pinned == again.pinned == {PERMIT2: shipped, TOKEN: hashes[TOKEN]}
    assert first.shipped == again.shipped == {PERMIT2}
    assert first.first_met == {TOKEN}
    assert again.first_met == set()
