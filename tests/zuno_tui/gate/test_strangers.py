"""Nothing goes to anybody but the wallet, on the way to anybody but the PositionManager."""

from __future__ import annotations

import pytest

from chain.contracts.networks import network_named
from chain.execution.decode.parties import Parties
from zuno_tui.gate.judgment import refuse_strangers
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

NETWORK = network_named("base")
MANAGER = NETWORK.contracts.position_manager
WALLET, STRANGER = "0x" + "aa" * 20, "0x" + "66" * 20


def parties(recipients: tuple[str, ...], between: tuple[str, ...]) -> Parties:
    return Parties(WALLET, recipients, between, (), (), (), ())


@pytest.mark.parametrize(
    ("recipients", "between"),
    [((), ()), ((WALLET,), ()), ((WALLET,), (MANAGER,)), ((), (MANAGER, MANAGER))],
)
def test_what_stays_with_the_wallet_is_let_through(
    recipients: tuple[str, ...], between: tuple[str, ...]
) -> None:
    refuse_strangers(NETWORK, parties(recipients, between))


@pytest.mark.parametrize(
    ("recipients", "between"),
    [
        ((STRANGER,), ()),
        ((WALLET, STRANGER), (MANAGER,)),
        ((WALLET,), (STRANGER,)),
        ((WALLET,), (MANAGER, STRANGER)),
        ((WALLET,), (WALLET,)),
        ((MANAGER,), ()),
    ],
)
def test_whatever_goes_elsewhere_is_refused(
    recipients: tuple[str, ...], between: tuple[str, ...]
) -> None:
    with pytest.raises(GateRefusedError) as refused:
        refuse_strangers(NETWORK, parties(recipients, between))

    assert refused.value.code is RefusalCode.FOREIGN_RECIPIENT
