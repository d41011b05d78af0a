"""The networks zuno knows, from `data/networks.toml`, and known code, from `code_hashes.toml`."""

import re
import tomllib
from functools import cache
from typing import Literal

from msgspec import Struct, convert
from msgspec.structs import replace

from chain.base.units import GWEI
from chain.data import data_file

Address = str
"""A 20-byte address as lower-case `0x` hex; checksums are for people and belong to the screen."""

NATIVE: Address = "0x" + "00" * 20
"""Uniswap v4 writes a chain's own coin as the zero address, hence always currency0."""

EMBEDDED = "devnet"
"""The embedded chain; further ones are called by their chain id, like devnet-31338."""

_FURTHER_EMBEDDED = re.compile(rf"{EMBEDDED}-([0-9]{{1,15}})")
_CHAIN_IDS_END = 2**53


class UnknownNetworkError(ValueError):
    """A network name that is not in the data."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"There is no network called {name!r}. Known: {', '.join(known)}.")


class Contracts(Struct, frozen=True):
    pool_manager: Address
    position_manager: Address
    state_view: Address
    quoter: Address
    permit2: Address
    multicall3: Address
    universal_router: Address | None = None
    delegate: Address | None = None
    """The code an account may be lent to, so that it carries out batches."""


class V3Contracts(Struct, frozen=True):
    factory: Address
    position_manager: Address
    universal_router: Address | None = None
    """Where its swaps go, if not through the router of v4's."""


class Network(Struct, frozen=True, kw_only=True):
    name: str
    title: str
    chain_id: int
    contracts: Contracts
    native_symbol: str = "ETH"
    wrapped_native: Address | None = None
    stable: Address | None = None
    """The token whose unit is taken as one US dollar when pools are the price source."""
    first_block: int = 0
    """Where PoolManager was deployed: no log of ours can be older."""
    block_seconds: float
    max_fee_per_gas: int
    """Wei a unit of gas may cost at most where the settings name no other cap."""
    value_without_price: int = 100
    """Whole coins one step may send along while nobody knows what a coin is worth."""
    clock: Literal["wall", "head"] = "wall"
    """Whose time tells how old a head is: the wall's on live networks, its own on the devnet."""
    stack: Literal["plain", "op", "arbitrum"] = "plain"
    """How gas and block numbers differ: OP adds an L1 data fee, Arbitrum numbers blocks by L1."""
    ens_registry: Address | None = None
    """Where its names are kept; None where Ethereum keeps them."""
    endpoints: tuple[str, ...] = ()
    explorer: str | None = None
    """Where people look at a transaction; None where nobody shows any."""
    testnet: bool = False
    default_address: Address | None = None
    """Whose positions to show when nobody is named: the demo wallet on the embedded chain."""
    token_list: str
    """Whose list of tokens is its own: that of the same name, or the first embedded chain's."""
    v3: V3Contracts | None = None


def transaction_url(network: Network, transaction_hash: str) -> str | None:
    return None if network.explorer is None else f"{network.explorer}/tx/{transaction_hash}"


@cache
def all_networks() -> tuple[Network, ...]:
    data = tomllib.loads(data_file("networks.toml").read_text("utf-8"))
    common = data["everywhere"]
    return tuple(_network(name, entry, common) for name, entry in data["network"].items())


def network_named(name: str) -> Network:
    """The network with this name, title or chain id, in any case."""
    wanted = name.strip().lower()
    if further := _FURTHER_EMBEDDED.fullmatch(wanted):
        try:
            return _further_embedded(embedded_chain_id(further[1]))
        except ValueError:
            raise UnknownNetworkError(name, _names()) from None
    for network in all_networks():
        if wanted in (network.name, network.title.lower(), str(network.chain_id)):
            return network
    raise UnknownNetworkError(name, _names())


def _names() -> tuple[str, ...]:
    return tuple(network.name for network in all_networks())


def _further_embedded(chain_id: int) -> Network:
    """The same contracts and tokens as the embedded chain's, on a chain of its own."""
    first = network_named(EMBEDDED)
    if chain_id == first.chain_id:
        return first
    return replace(
        first,
        name=f"{EMBEDDED}-{chain_id}",
        title=f"{first.title} {chain_id}",
        chain_id=chain_id,
        endpoints=(),
    )


def embedded_chain_id(text: str) -> int:
    """A chain id that an embedded chain may have: one that belongs to no live network."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < _CHAIN_IDS_END:
        raise ValueError(f"{text} is no chain id: give a whole number from 1 on.")
    chain_id = int(text)
    for network in all_networks():
        if network.chain_id == chain_id and network.name != EMBEDDED:
            raise ValueError(f"{text} is the chain id of {network.title}. Choose another.")
    return chain_id


def _network(name: str, entry: dict[str, object], common: dict[str, str]) -> Network:
    gwei = convert(entry["max_fee_gwei"], int)
    contracts = common | convert(entry["contracts"], dict[str, str])
    own = {"name": name, "token_list": name, "contracts": contracts, "max_fee_per_gas": gwei * GWEI}
    return convert(_lowered(entry | own), Network)


def _lowered(value: object) -> object:
    """With every address in lower case, however the file writes it."""
    if isinstance(value, dict):
        return {key: _lowered(part) for key, part in value.items()}
    return value.lower() if isinstance(value, str) and value.startswith("0x") else value


def shipped_code_hashes(network: Network) -> dict[Address, str]:
    """By address the keccak256 of its code, for those contracts where it is known."""
    shipped = dict(_shipped())
    everywhere = shipped.pop("everywhere")
    return {
        _address_of(contract, network): hashes[network.name]
        for contract, hashes in shipped.items()
        if network.name in hashes
    } | {SAME_EVERYWHERE[contract]: known for contract, known in everywhere.items()}


def _address_of(contract: str, network: Network) -> Address:
    of_v3 = contract.removeprefix("v3_")
    owner = network.contracts if of_v3 == contract else network.v3
    return SAME_EVERYWHERE.get(contract) or str(getattr(owner, of_v3))


SAME_EVERYWHERE = {
    "delegation_manager": "0xdb9b1e94b5b69df7e401ddbede43491141047db3",
    "exact_execution": "0x146713078d39ecc1f5338309c28405ccf85abfbb",
    "limited_calls": "0x04658b29f6b82ed55274221a06fc97d318e25416",
    "timestamps": "0x1046bb45c8d673d4ea75321280db34899413c069",
    "nonces": "0xde4f2fac4b3d87a1d9953ca5fc09fca7f366254f",
    "simple_account": "0x4cd241e8d1510e30b2076397afc7508ae59c66c9",
}
"""What delegations are held to by, and the code that devices delegate to: alike on all chains."""


@cache
def _shipped() -> dict[str, dict[str, str]]:
    text = data_file("code_hashes.toml").read_text("utf-8")
    return convert(tomllib.loads(text), dict[str, dict[str, str]])
