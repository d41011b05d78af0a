"""What a failed command tells: which exit code, a sentence, a next step."""

from __future__ import annotations

import os
import sys
import traceback

from chain.base.clean_text import quoted
from chain.base.home import HomeError
from chain.base.store import StoreError
from chain.rpc.errors import RpcError
from chain.wallet.errors import WalletError, WalletRefusedError
from zuno_tui.settings import SettingsError
from zuno_tui.shown.exit_codes import FAILED, NETWORK, REFUSED, USAGE

# By name, because importing their modules is what lazy commands avoid.
_FORESEEN = (
    "ContractsError",
    "DamagedPlanError",
    "DevnetError",
    "EnsError",
    "NoSuchPlanError",
    "RecordBrokenError",
    "RecordError",
    "TableError",
    "BlockMovedError",
    "ChartError",
    "NoSuchBlockError",
    "DecodingError",
    "FactsUnknownError",
    "InterruptedApplyError",
    "MeshFileError",
    "MeshKeyError",
    "MissingPositionError",
    "NotIncludedError",
    "UnknownAlertError",
)
_REFUSALS = (
    "BuildError",
    "ChangedBytesError",
    "GateRefusedError",
    "NoSuchPositionError",
    "OutboxError",
    "PlanOverError",
    "VenueKeysError",
    "VenuePackageError",
)
_UNREAD = (
    "ChainUnreadableError",
    "EngineError",
    "GasUnknownError",
    "MeshUnavailableError",
    "NotSentError",
    "OrderUnansweredError",
    "VenueUnreadError",
)


def explain(error: Exception) -> tuple[int, str]:
    told = foreseen(error)
    if told is not None:
        return told
    if os.environ.get("ZUNO_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    return FAILED, (
        f"{unforeseen(error)}\nNothing was sent or signed. ZUNO_DEBUG=1 shows where it happened."
    )


def foreseen(error: Exception) -> tuple[int, str] | None:
    """The exit code and words of a failure that says itself what to do; None for any other."""
    if isinstance(error, RpcError) or type(error).__name__ in _UNREAD:
        return NETWORK, str(error)
    if isinstance(error, SettingsError) or type(error).__name__ == "PhraseError":
        return USAGE, str(error)
    if isinstance(error, WalletRefusedError) or type(error).__name__ in _REFUSALS:
        return REFUSED, str(error)
    if isinstance(error, HomeError | StoreError | WalletError) or type(error).__name__ in _FORESEEN:
        return FAILED, str(error)
    return None


def unforeseen(error: Exception) -> str:
    name, words = type(error).__name__, quoted(str(error))
    said = f"{name}: {words}" if words else name
    return f"Unexpected error ({said})."
