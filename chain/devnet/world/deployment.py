"""Uniswap and the tokens on the embedded chain: where everything stands, and how it gets there."""

import json
import os
import re
from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct

from chain.contracts import abi
from chain.contracts.addresses import keccak
from chain.contracts.delegation import (
    DELEGATION_MANAGER,
    ENTRY_POINT,
    EXACT_EXECUTION,
    LIMITED_CALLS,
    NONCES,
    TIMESTAMPS,
)
from chain.contracts.networks import NATIVE, Address, Contracts
from chain.devnet.anvil import PackageError, bundled_lock, ensure_package
from chain.devnet.json_rpc import NodeClient
from chain.devnet.world.accounts import DEMO_WALLET, DEPLOYER, ISSUER, KEEPER, RESIDENTS
from chain.devnet.world.hook_code import (
    EXIT_GUARD,
    FEE_STEWARD,
    SUBSCRIBER,
    SUBSCRIBER_CODE,
    exit_guard_code,
    fee_steward_code,
)
from chain.devnet.world.writing import BlockDraft, UnsignedCall

ContractName = Literal[
    "PoolManager",
    "PositionManager",
    "StateView",
    "V4Quoter",
    "UniversalRouter",
    "Permit2",
    "Multicall3",
    "WETH",
    "MockERC20",
    "TickMathTest",
    "EIP7702StatelessDeleGator",
    "DelegationManager",
    "ExactExecutionEnforcer",
    "LimitedCallsEnforcer",
    "TimestampEnforcer",
    "NonceEnforcer",
]
_NAMES: Mapping[str, ContractName] = {name: name for name in get_args(ContractName)}

_OF_DELEGATIONS: Mapping[ContractName, Address] = {
    "EIP7702StatelessDeleGator": "0x63c0c19a282a1b52b07dd5a65b58948a07dae32b",
    "DelegationManager": DELEGATION_MANAGER,
    "ExactExecutionEnforcer": EXACT_EXECUTION,
    "LimitedCallsEnforcer": LIMITED_CALLS,
    "TimestampEnforcer": TIMESTAMPS,
    "NonceEnforcer": NONCES,
}
"""The contracts of delegations, and where they stand on every chain."""
RUNTIME_ONLY: frozenset[ContractName] = frozenset({"Permit2", "Multicall3"})
"""Contracts known by what runs, not by what deploys: they stand at their canonical addresses."""

_PERMIT2_RUNTIME = re.compile(r'hex"([0-9a-f]+)"')
_DELEGATION_CREATION = re.compile(r'bytecode = "0x([0-9a-f]+)"')
_MULTICALL3_CREATION = re.compile(r"multicall3Bytecode = '0x([0-9a-f]+)'")
_MULTICALL3_CONSTRUCTOR = bytes.fromhex(
    "608060405234801561001057600080fd5b506115b9806100206000396000f3fe"
)


def contract_codes(environment: Mapping[str, str] = os.environ) -> dict[ContractName, bytes]:
    """The creation code of every contract (runtime for `RUNTIME_ONLY`), fetched if need be."""
    codes: dict[ContractName, bytes] = {}
    for package in bundled_lock().contracts:
        folder = ensure_package(package, environment)
        for file in package.files:
            name = _NAMES[file.name]
            codes[name] = code_in(name, (folder / file.file_name).read_bytes())
    return codes


def code_in(name: ContractName, content: bytes) -> bytes:
    """The code a file of a package holds."""
    if name == "Permit2":
        return _literal(_PERMIT2_RUNTIME, content, name)
    if name in _OF_DELEGATIONS:
        return _literal(_DELEGATION_CREATION, content, name)
    if name == "Multicall3":
        creation = _literal(_MULTICALL3_CREATION, content, name)
        if not creation.startswith(_MULTICALL3_CONSTRUCTOR):
            raise PackageError("Multicall3's constructor is not the one that returns its tail.")
        return creation.removeprefix(_MULTICALL3_CONSTRUCTOR)
    bytecode = json.loads(content)["bytecode"]
    text = bytecode["object"] if isinstance(bytecode, dict) else bytecode
    return bytes.fromhex(str(text).removeprefix("0x"))


def _literal(pattern: re.Pattern[str], content: bytes, name: ContractName) -> bytes:
    match = pattern.search(content.decode("utf-8"))
    if match is None:
        raise PackageError(f"The file of {name} holds no code in the form expected.")
    return bytes.fromhex(match[1])


ETHER = 10**18

GENESIS_TIME = 1_767_571_200
"""Monday, 5 January 2026, midnight UTC: the time of this chain is its own."""

_DEPLOYMENT_GAS = 10_000_000
_UNSUBSCRIBE_GAS = 300_000
_RESIDENT_ETHER = 10_000_000 * ETHER
_DEMO_ETHER = 60 * ETHER


class DevnetToken(Struct, frozen=True):
    symbol: str
    name: str
    decimals: int
    address: Address


def created_address(creator: Address, nonce: int) -> Address:
    """Where a contract lands: `keccak256(rlp([creator, nonce]))`, for the nonces below 128."""
    encoded_nonce = bytes([nonce]) if nonce else b"\x80"
    return "0x" + keccak(b"\xd6\x94" + abi.address_bytes(creator) + encoded_nonce)[12:].hex()


def _token(symbol: str, name: str, decimals: int, nonce: int) -> DevnetToken:
    return DevnetToken(symbol, name, decimals, created_address(ISSUER.address, nonce))


WETH = _token("WETH", "Wrapped Ether", 18, 0)
USDC = _token("USDC", "USD Coin", 6, 1)
FAKE_USDC = _token("USDC", "USD Coin", 6, 2)
USDT = _token("USDT", "Tether USD", 6, 3)
WBTC = _token("WBTC", "Wrapped BTC", 8, 4)
HOSTILE = _token("[red]FREE\x1b[2J\u202eETH", "Visit my site\r\n<b>now</b>", 18, 5)
"""Its symbol carries markup, an escape sequence and a change of writing direction."""

TOKENS = (WETH, USDC, FAKE_USDC, USDT, WBTC, HOSTILE)
"""In the order they are deployed."""

CONTRACTS = Contracts(
    pool_manager=created_address(DEPLOYER.address, 0),
    position_manager=created_address(DEPLOYER.address, 1),
    state_view=created_address(DEPLOYER.address, 2),
    quoter=created_address(DEPLOYER.address, 3),
    universal_router=created_address(DEPLOYER.address, 4),
    permit2="0x000000000022d473030f116ddee9f6b43ac78ba3",
    multicall3="0xca11bde05977b3631167028862be2a173976ca11",
    delegate=_OF_DELEGATIONS["EIP7702StatelessDeleGator"],
)
UNIVERSAL_ROUTER = created_address(DEPLOYER.address, 4)


class GenesisAccount(Struct, frozen=True):
    """What an account has before the first transaction."""

    balance: int = 0
    code: bytes = b""

    @property
    def fields(self) -> dict[str, str]:
        """In the shape of a genesis file; a contract has a nonce of one."""
        if not self.code:
            return {"balance": hex(self.balance)}
        return {"balance": hex(self.balance), "nonce": "0x1", "code": "0x" + self.code.hex()}


def genesis_accounts(codes: Mapping[ContractName, bytes]) -> dict[Address, GenesisAccount]:
    accounts = {resident.address: GenesisAccount(balance=_RESIDENT_ETHER) for resident in RESIDENTS}
    steward = fee_steward_code(KEEPER.address, CONTRACTS.pool_manager)
    return accounts | {
        DEMO_WALLET.address: GenesisAccount(balance=_DEMO_ETHER),
        CONTRACTS.permit2: GenesisAccount(code=codes["Permit2"]),
        CONTRACTS.multicall3: GenesisAccount(code=codes["Multicall3"]),
        EXIT_GUARD: GenesisAccount(code=exit_guard_code(KEEPER.address)),
        FEE_STEWARD: GenesisAccount(code=steward),
        SUBSCRIBER: GenesisAccount(code=SUBSCRIBER_CODE),
    }


def deploy_protocol(page: BlockDraft, codes: Mapping[ContractName, bytes]) -> None:
    """Deploy Uniswap, each contract at the address `CONTRACTS` foretold."""
    manager, permit2 = CONTRACTS.pool_manager, CONTRACTS.permit2
    router_parameters = (
        permit2,
        WETH.address,
        NATIVE,  # no v2 and no v3 on this chain
        NATIVE,
        bytes(32),
        bytes(32),
        manager,
        NATIVE,
        CONTRACTS.position_manager,
        NATIVE,  # no bridge
    )
    _deploy(page, codes["PoolManager"] + _words("address", DEPLOYER.address))
    _deploy(
        page,
        codes["PositionManager"]
        + abi.encode(
            ("address", "address", "uint256", "address", "address"),
            (manager, permit2, _UNSUBSCRIBE_GAS, NATIVE, WETH.address),
        ),
    )
    _deploy(page, codes["StateView"] + _words("address", manager))
    _deploy(page, codes["V4Quoter"] + _words("address", manager))
    _deploy(
        page,
        codes["UniversalRouter"]
        + _words(
            "(address,address,address,address,bytes32,bytes32,address,address,address,address)",
            router_parameters,
        ),
    )


def place_delegations(node: NodeClient, codes: Mapping[ContractName, bytes]) -> None:
    """Put what the constructors of delegations' contracts make at their canonical addresses.

    Run as if it were the code there, each returns what it would leave there on a real chain: it
    knows its own address and the chain's id.
    """
    given = {
        "EIP7702StatelessDeleGator": (DELEGATION_MANAGER, ENTRY_POINT),
        "DelegationManager": (DEPLOYER.address,),
    }
    for name, address in _OF_DELEGATIONS.items():
        parties = given.get(name, ())
        creation = codes[name] + abi.encode(("address",) * len(parties), parties)
        made = node.ask(
            "eth_call", {"to": address}, "latest", {address: {"code": "0x" + creation.hex()}}
        )
        node.ask("anvil_setCode", address, made)


def deploy_tokens(page: BlockDraft, codes: Mapping[ContractName, bytes]) -> None:
    for token in TOKENS:
        constructor = (
            codes["WETH"]
            if token is WETH
            else codes["MockERC20"]
            + abi.encode(("string", "string", "uint8"), (token.name, token.symbol, token.decimals))
        )
        page.send(UnsignedCall(ISSUER, None, constructor, gas=_DEPLOYMENT_GAS))


def _deploy(page: BlockDraft, creation: bytes) -> None:
    page.send(UnsignedCall(DEPLOYER, None, creation, gas=_DEPLOYMENT_GAS))


def _words(kind: str, value: object) -> bytes:
    return abi.encode((kind,), (value,))
