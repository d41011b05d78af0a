"""Uniswap, hooks and tokens on the embedded chain: where all stands, and how it gets there."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Literal, get_args

from msgspec import Struct

from chain.contracts import abi, delegation
from chain.contracts.abi import selector
from chain.contracts.addresses import keccak
from chain.contracts.networks import NATIVE, Address, Contracts
from chain.devnet.anvil import PackageError, bundled_lock, ensure_package
from chain.devnet.json_rpc import NodeClient
from chain.devnet.world.accounts import DEMO_WALLET, DEPLOYER, ISSUER, KEEPER, RESIDENTS
from chain.devnet.world.writing import BlockDraft, UnsignedCall

# A hook's permissions are the low 14 bits of its address, so genesis can grant any without mining.
_OPCODES = {
    "STOP": 0x00,
    "ADD": 0x01,
    "MUL": 0x02,
    "SUB": 0x03,
    "DIV": 0x04,
    "EQ": 0x14,
    "ISZERO": 0x15,
    "OR": 0x17,
    "SHL": 0x1B,
    "SHR": 0x1C,
    "KECCAK256": 0x20,
    "ADDRESS": 0x30,
    "CALLER": 0x33,
    "CALLDATALOAD": 0x35,
    "CALLDATASIZE": 0x36,
    "CALLDATACOPY": 0x37,
    "RETURNDATASIZE": 0x3D,
    "RETURNDATACOPY": 0x3E,
    "POP": 0x50,
    "MLOAD": 0x51,
    "MSTORE": 0x52,
    "SLOAD": 0x54,
    "SSTORE": 0x55,
    "JUMP": 0x56,
    "JUMPI": 0x57,
    "GAS": 0x5A,
    "DUP1": 0x80,
    "DUP2": 0x81,
    "SWAP1": 0x90,
    "CALL": 0xF1,
    "RETURN": 0xF3,
    "DELEGATECALL": 0xF4,
    "REVERT": 0xFD,
    "INVALID": 0xFE,
}
_JUMPDEST = 0x5B
_PUSH0 = 0x5F
_LABEL_BYTES = 2


class AssemblyError(ValueError):
    """A line that is no instruction, or a label that is missing or defined twice."""


class _LabelReference(Struct, frozen=True):
    name: str


def assemble(source: str) -> bytes:
    """The bytecode of a program."""
    labels: dict[str, int] = {}
    pieces: list[bytes | _LabelReference] = []
    size = 0
    for line in _lines(source):
        if line.endswith(":"):
            name = line[:-1]
            if name in labels:
                raise AssemblyError(f"The label {name!r} is defined twice.")
            labels[name] = size
        piece = _piece(line)
        pieces.append(piece)
        size += len(piece) if isinstance(piece, bytes) else 1 + _LABEL_BYTES
    return b"".join(
        piece if isinstance(piece, bytes) else _label_push(piece.name, labels) for piece in pieces
    )


def _lines(source: str) -> Iterator[str]:
    for raw in source.splitlines():
        line = raw.partition(";")[0].strip()
        if line:
            yield line


def _piece(line: str) -> bytes | _LabelReference:
    if line.endswith(":"):
        return bytes([_JUMPDEST])
    name, _, operand = line.partition(" ")
    if name == "PUSH":
        return _LabelReference(operand[1:]) if operand.startswith("@") else _push(int(operand, 0))
    if operand or name not in _OPCODES:
        raise AssemblyError(f"{line!r} is not an instruction of this assembler.")
    return bytes([_OPCODES[name]])


def _push(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([_PUSH0 + size]) + value.to_bytes(size, "big")


def _label_push(name: str, labels: dict[str, int]) -> bytes:
    if name not in labels:
        raise AssemblyError(f"The label {name!r} is not defined.")
    return bytes([_PUSH0 + _LABEL_BYTES]) + labels[name].to_bytes(_LABEL_BYTES, "big")


EXIT_GUARD: Address = "0x6a7d00000000000000000000000000000000c200"
"""Bit 9 alone: PoolManager asks it before liquidity is removed, fees included."""

FEE_STEWARD: Address = "0xfee5000000000000000000000000000000004000"
"""No permission bit: all it may do is set the fee of its dynamic-fee pool."""

SUBSCRIBER: Address = "0x50b5c00000000000000000000000000000008000"
"""Told about every change of the positions subscribed to it; it does nothing with the news."""

SET_REFUSING = "setRefusing(bool)"
REFUSING = "refusing()"
EXITS_REFUSED = "ExitsRefused()"
UPDATE_FEE = "updateDynamicLPFee((address,address,uint24,int24,address),uint24)"

_BEFORE_REMOVE_LIQUIDITY = (
    "beforeRemoveLiquidity(address,(address,address,uint24,int24,address),"
    "(int24,int24,int256,bytes32),bytes)"
)

SUBSCRIBER_CODE = assemble("STOP")


def exit_guard_code(keeper: Address) -> bytes:
    """Allows every exit until its keeper calls `setRefusing(true)`, then none until it relents."""
    return assemble(f"""
        PUSH 0
        CALLDATALOAD
        PUSH 0xe0
        SHR                             ; the selector
        DUP1
        PUSH {_number(_BEFORE_REMOVE_LIQUIDITY)}
        EQ
        PUSH @removing
        JUMPI
        DUP1
        PUSH {_number(SET_REFUSING)}
        EQ
        PUSH @setting
        JUMPI
        PUSH {_number(REFUSING)}
        EQ
        PUSH @reading
        JUMPI
    unknown:
        PUSH 0
        PUSH 0
        REVERT
    removing:
        PUSH 0
        SLOAD                           ; slot 0 is not zero while exits are refused
        PUSH @refused
        JUMPI
        PUSH {_number(_BEFORE_REMOVE_LIQUIDITY)}
        PUSH 0xe0
        SHL
        PUSH 0
        MSTORE
        PUSH 0x20
        PUSH 0
        RETURN                          ; its own selector is the hook's consent
    refused:
        PUSH {_number(EXITS_REFUSED)}
        PUSH 0xe0
        SHL
        PUSH 0
        MSTORE
        PUSH 4
        PUSH 0
        REVERT
    setting:
        CALLER
        PUSH {keeper}
        EQ
        ISZERO
        PUSH @unknown
        JUMPI
        PUSH 4
        CALLDATALOAD
        PUSH 0
        SSTORE
        STOP
    reading:
        PUSH 0
        SLOAD
        PUSH 0
        MSTORE
        PUSH 0x20
        PUSH 0
        RETURN
    """)


def fee_steward_code(steward: Address, pool_manager: Address) -> bytes:
    """Passes what its steward sends on to the PoolManager, word for word, and nobody else's."""
    return assemble(f"""
        CALLER
        PUSH {steward}
        EQ
        ISZERO
        PUSH @refused
        JUMPI
        CALLDATASIZE
        PUSH 0
        PUSH 0
        CALLDATACOPY
        PUSH 0                          ; no output expected
        PUSH 0
        CALLDATASIZE
        PUSH 0
        PUSH 0                          ; no value
        PUSH {pool_manager}
        GAS
        CALL
        ISZERO
        PUSH @failed
        JUMPI
        STOP
    failed:
        RETURNDATASIZE
        PUSH 0
        PUSH 0
        RETURNDATACOPY
        RETURNDATASIZE
        PUSH 0
        REVERT
    refused:
        PUSH 0
        PUSH 0
        REVERT
    """)


def _number(signature: str) -> str:
    return "0x" + selector(signature).hex()


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
    "Simple7702Account",
]
_NAMES: Mapping[str, ContractName] = {name: name for name in get_args(ContractName)}

_OF_DELEGATIONS: Mapping[ContractName, Address] = {
    "EIP7702StatelessDeleGator": "0x63c0c19a282a1b52b07dd5a65b58948a07dae32b",
    "DelegationManager": delegation.DELEGATION_MANAGER,
    "ExactExecutionEnforcer": delegation.EXACT_EXECUTION,
    "LimitedCallsEnforcer": delegation.LIMITED_CALLS,
    "TimestampEnforcer": delegation.TIMESTAMPS,
    "NonceEnforcer": delegation.NONCES,
    "Simple7702Account": delegation.SIMPLE_ACCOUNT.address,
}
"""The contracts of delegations, and where they stand on every chain."""
RUNTIME_ONLY: frozenset[ContractName] = frozenset({"Permit2", "Multicall3"})
"""Contracts known by what runs, not by what deploys: they stand at their canonical addresses."""

_PERMIT2_RUNTIME = re.compile(r'hex"([0-9a-f]+)"')
_DELEGATION_CREATION = re.compile(r'bytecode = "0x([0-9a-f]+)"')
_BUILT_HERE = bytes.fromhex("3510a380b939736f9c72aa0e20651e01f3c432a0c3b3345510f551189d5d889f")
_BUILT_THERE = bytes.fromhex("fe34a5691b8e36f81dd408d2f00c415ef4c0e37911899a8a46286019e63e38df")
"""Of Simple7702Account the package and every chain differ in its metadata's hash alone."""
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
    if name == "Simple7702Account":
        built = bytes.fromhex(json.loads(content)["bytecode"].removeprefix("0x"))
        return built.replace(_BUILT_HERE, _BUILT_THERE)
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

ROUTER_PARAMETERS = (
    "(address,address,address,address,bytes32,bytes32,address,address,address,address)"
)
"""Of the UniversalRouter: Permit2, WETH, v2's and v3's factories and pools' codes, then v4's."""
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
            ROUTER_PARAMETERS,
            router_parameters,
        ),
    )


def place_delegations(node: NodeClient, codes: Mapping[ContractName, bytes]) -> None:
    """Put what the constructors of delegations' contracts make at their canonical addresses.

    Run as if it were the code there, each returns what it would leave there on a real chain: it
    knows its own address and the chain's id.
    """
    given = {
        "EIP7702StatelessDeleGator": (delegation.DELEGATION_MANAGER, delegation.ENTRY_POINT),
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
