"""`zuno watch-ids`: what a person names is read with every look, if it is the wallet's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.zuno_tui.conftest import CommandLine

STRANGE_WALLET = "0x" + "77" * 20


def test_the_wallets_own_are_kept_and_others_are_told(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    held = [
        int(one["tokenId"]) for one in zuno("positions", *on_devnet, "--json").data["positions"]
    ]
    named = zuno("watch-ids", str(held[0]), f"#{held[1]}", "99999999", *on_devnet, "--json")

    assert named.code == 0, named.words
    assert named.data["named"] == [str(one) for one in sorted(held[:2])]
    owners = {one["tokenId"]: one["owner"] for one in named.data["positions"]}
    assert owners["99999999"] is None
    assert owners[str(held[0])] == owners[str(held[1])] == named.data["address"]


def test_what_is_anothers_is_refused_with_a_next_step(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    spoken = zuno("watch-ids", "1", *on_devnet, "--address", STRANGE_WALLET)

    assert spoken.code == 1
    assert "--address" in spoken.words


def test_a_number_is_asked_for(zuno: CommandLine, on_devnet: tuple[str, ...]) -> None:
    assert zuno("watch-ids", *on_devnet).code == 2
    assert zuno("watch-ids", "seven", *on_devnet).code == 2
