"""The exit drill, run as a process: what it says would come back is what the position holds."""

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.zuno_tui.conftest import CommandLine


def _ask(devnet: DevnetReady, method: str, *params: object) -> object:
    result: object = node_rpc.ask(devnet.url, method, *params)
    return result


def test_every_way_out_pays_what_the_position_holds(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    held = {
        one["tokenId"]: one for one in zuno("positions", *on_devnet, "--json").data["positions"]
    }

    drill = zuno("exit-drill", *on_devnet, "--json")

    assert drill.code == 0, drill.words
    assert {one["tokenId"] for one in drill.data["positions"]} == set(held)
    for one in drill.data["positions"]:
        position = held[one["tokenId"]]
        assert one["open"]
        assert one["method"] == "eth_simulateV1"
        assert int(one["received0"]) == int(position["amount0"]) + int(position["fees0"])
        assert int(one["received1"]) == int(position["amount1"]) + int(position["fees1"])


def test_a_hook_that_shuts_the_door_is_named(
    zuno: CommandLine, on_devnet: tuple[str, ...], devnet: DevnetReady
) -> None:
    before = _ask(devnet, "evm_snapshot")
    try:
        _ask(devnet, "zuno_setHookFlag", True)
        drill = zuno("exit-drill", *on_devnet)
    finally:
        _ask(devnet, "evm_revert", before)

    assert drill.code == 1
    assert "shut: the pool's hook" in drill.out
    assert "9 of 10 positions can be closed now" in drill.out
