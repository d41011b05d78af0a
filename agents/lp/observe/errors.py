"""Why nothing could be observed, each as a sentence and a next step."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agents.bus.payload import FailureCause
from agents.bus.worker import StageFailedError
from chain.base.errors import Failure, ZunoError
from chain.base.store import StoreError
from chain.contracts.abi import AbiError
from chain.rpc.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.contracts.networks import Network


class ObservationError(StageFailedError):
    """There are no facts to argue from; a handler may let it through as it is."""


class NoSuchPositionError(ZunoError, ObservationError):
    failure = Failure.REFUSED

    def __init__(self, token_id: int, network: Network) -> None:
        super().__init__(
            f"There is no position {token_id} on {network.title}: it was burned, or never minted."
            " See which there are: zuno positions"
        )


class NoFittingPoolError(ObservationError):
    def __init__(self, network: Network, *, pair_named: bool, fee_named: bool) -> None:
        named = [word for word, given in (("pair", pair_named), ("fee", fee_named)) if given]
        wanted = f", with the {' and the '.join(named)} that was named," if named else ""
        super().__init__(
            f"No pool found on {network.title}{wanted} can hold this capital."
            " Name other tokens or another fee; see what there is: zuno pools"
        )


class GasUnknownError(ZunoError, ObservationError):
    failure = Failure.NETWORK

    cause = FailureCause.UNREADABLE

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"What a move would cost is unknown: {reason}."
            " Set another endpoint: zuno --network NAME --rpc URL"
        )


class ChainUnreadableError(ZunoError, ObservationError):
    """The chain did not answer, or not with what the contracts answer."""

    failure = Failure.NETWORK

    cause = FailureCause.UNREADABLE


@contextmanager
def chain_faults_told(network: Network) -> Iterator[None]:
    """Whatever a read of the chain can raise, as an error that a person may be shown."""
    try:
        yield
    except RpcError as error:
        told = " ".join(part for part in (error.sentence, error.next_step) if part)
        raise ChainUnreadableError(told) from error
    except StoreError as error:
        raise ChainUnreadableError(str(error)) from error
    except AbiError as error:
        raise ChainUnreadableError(
            f"{network.title} answered with what no Uniswap v4 contract answers: {error}"
            " See what answers and what does not: zuno doctor"
        ) from error
