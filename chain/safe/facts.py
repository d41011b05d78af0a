"""A Safe as the chain has it: who owns it, how many must sign, and what else may act for it."""

import re
from collections.abc import Mapping

from msgspec import Struct

from chain.base.clean_text import clean_text
from chain.base.errors import Failure, ZunoError
from chain.contracts.abi import AbiError, decode, encode_call
from chain.contracts.addresses import checksum, keccak
from chain.contracts.networks import NATIVE, Address
from chain.contracts.safe import SafeVersion, multi_sends, safe_versions
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import Reverted
from chain.rpc.records import BlockRef

_GUARD = "0x" + keccak(b"guard_manager.guard.address").hex()
_MODULE_GUARD = "0x" + keccak(b"module_manager.module_guard.address").hex()
_HANDLER = "0x" + keccak(b"fallback_manager.handler.address").hex()
_FIRST_MODULE: Address = "0x" + "00" * 19 + "01"
_MOST_MODULES = 50
_OLDEST = (1, 3, 0)
_VERSION = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){2}", re.ASCII)


class SafeError(ZunoError):
    """Something that is no Safe, or none whose transactions can be signed here."""

    failure = Failure.REFUSED


class SafeFacts(Struct, frozen=True):
    address: Address
    version: str
    owners: tuple[Address, ...]
    threshold: int
    nonce: int
    """Of the Safe's own: what it carries out next."""
    modules: tuple[Address, ...]
    """Contracts that may act for it with no owner's signature."""
    guard: Address | None
    """Asked before and after each transaction, which it may forbid."""
    module_guard: Address | None
    handler: Address | None
    """Answers calls that the Safe itself does not know."""
    proxy_code: str
    singleton: Address
    singleton_code: str
    handler_code: str

    @property
    def known_version(self) -> SafeVersion | None:
        """None where the code behind it is none that was shipped with zuno."""
        found = safe_versions().get(self.version)
        # A Safe that was updated keeps the proxy that it was made with.
        own = any(self.proxy_code == version.proxy for version in safe_versions().values())
        known = found is not None and own and self.singleton_code in found.singletons
        return found if known else None

    @property
    def handler_is_known(self) -> bool:
        return self.handler is None or any(
            self.handler_code in version.handlers for version in safe_versions().values()
        )

    @property
    def multi_send(self) -> Address:
        """What makes several calls one; the owners' own tools use that of the same version."""
        found = self.known_version
        return next(iter(multi_sends())) if found is None else found.multi_send[0]

    def refuse_unfit(self) -> None:
        """Refuse what could be something else than it says."""
        if tuple(int(part) for part in self.version.split(".")) < _OLDEST:
            raise SafeError(
                f"{checksum(self.address)} is a Safe {self.version}. Below 1.3.0 what owners "
                "sign names no chain, so it could be carried out on another one, too. Update it "
                "in the Safe's own app first. Nothing was signed."
            )
        if self.known_version is None:
            raise SafeError(
                f"The code behind {checksum(self.address)} is not that of a known Safe "
                f"{self.version}: {self.proxy_code} leads to {checksum(self.singleton)} with "
                f"{self.singleton_code}. "
                "Nothing was signed."
            )


async def read_safe(client: RpcClient, address: Address, at: BlockRef = "latest") -> SafeFacts:
    """Everything at one block, as this client tells it."""
    code = await client.ask(requests.code(address, at))
    if not code:
        raise SafeError(
            f"{checksum(address)} is no contract on {client.network.title}, so no Safe."
        )
    try:
        version, owners, threshold, nonce, modules = await client.together(
            *(
                requests.call(address, encode_call(signature, *values), at)
                for signature, values in _GETTERS.items()
            )
        )
        (told,) = decode(("string",), version)
        own = clean_text(told.decode("utf-8", "replace")).partition("+")[0]
        (owned_by,) = decode(("address[]",), owners)
        found, following = decode(("address[]", "address"), modules)
        numbers = [int.from_bytes(word, "big") for word in (threshold, nonce)]
        if following not in (_FIRST_MODULE, NATIVE) or not 0 < numbers[0] <= len(owned_by):
            raise AbiError("what it says of itself cannot be")
        if _VERSION.fullmatch(own) is None:
            raise AbiError("its version is none")
    except (Reverted, AbiError) as error:
        raise SafeError(
            f"{checksum(address)} does not answer as a Safe does. Is it one, and on "
            f"{client.network.title}?"
        ) from error
    slots: list[int | str] = [0, _GUARD, _MODULE_GUARD, _HANDLER]
    words = await client.together(*(requests.storage(address, slot, at) for slot in slots))
    singleton, guard, module_guard, handler = (_address(word) for word in words)
    behind, answers = await client.together(
        requests.code(singleton or NATIVE, at), requests.code(handler or NATIVE, at)
    )
    return SafeFacts(
        address=address,
        version=own,
        owners=tuple(owned_by),
        threshold=numbers[0],
        nonce=numbers[1],
        modules=tuple(found),
        guard=guard,
        module_guard=module_guard,
        handler=handler,
        proxy_code=_hash(code),
        singleton=singleton or NATIVE,
        singleton_code=_hash(behind),
        handler_code=_hash(answers) if handler else "",
    )


_GETTERS: Mapping[str, tuple[object, ...]] = {
    "VERSION()": (),
    "getOwners()": (),
    "getThreshold()": (),
    "nonce()": (),
    "getModulesPaginated(address,uint256)": (_FIRST_MODULE, _MOST_MODULES),
}


def _address(word: str) -> Address | None:
    found = "0x" + word[-40:]
    return None if found == NATIVE else found


def _hash(code: bytes) -> str:
    return "0x" + keccak(code).hex()
