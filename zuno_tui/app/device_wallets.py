"""Wallets whose keys are elsewhere: the accounts of a Ledger, and of a program that signs."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing

from chain.contracts.addresses import checksum
from chain.contracts.networks import Address
from chain.wallet.address_book import KeyStorage, Wallet, read_book
from chain.wallet.devices import Devices
from chain.wallet.errors import WalletError, WalletRefusedError
from chain.wallet.keystore import StoredKey, watch
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document
from zuno_tui.present.terminal import columns, table

_PAGE = 5
_SCHEMES = {"live": "Ledger Live", "bip44": "BIP 44", "legacy": "legacy"}


def ledger_accounts(session: Session, arguments: Namespace) -> StoredKey | CommandAnswer:
    """Those of a page, or the one that was added."""
    from chain.wallet.ledger import app
    from chain.wallet.ledger.transport import open_transport

    with closing(open_transport(session.devices.ledger)) as transport:
        facts = app.facts(transport)
        if arguments.path is not None:
            path = arguments.path.removeprefix("m/")
            address = app.address_at(transport, path)
            return watch(
                session.home, address, name=arguments.name, keeping=KeyStorage.LEDGER, path=path
            )
        first = (arguments.page - 1) * _PAGE
        chosen = [_SCHEMES[arguments.scheme]] if arguments.scheme else [*app.SCHEMES]
        found = [
            (scheme, account)
            for scheme in chosen
            for account in app.accounts(transport, scheme, range(first, first + _PAGE))
        ]
    remarks = [
        "Add one, and compare its address on the Ledger: zuno wallet ledger PATH",
        f"The next five of each: zuno wallet ledger --page {arguments.page + 1}",
    ]
    if not facts.blind_signing:
        remarks.append(
            "Blind signing is off: the Ledger will not sign positions. Switch it on in the "
            "settings of its Ethereum app."
        )
    rows = [
        (scheme, account.path, checksum(account.address), _known(session, account.address))
        for scheme, account in found
    ]
    return CommandAnswer(
        tuple(table(columns("COUNTED AS", "PATH", "ADDRESS", "HERE AS"), rows)),
        {
            "app": ".".join(map(str, facts.version)),
            "blindSigning": facts.blind_signing,
            "accounts": [{"scheme": scheme, **document(account)} for scheme, account in found],
        },
        remarks=tuple(remarks),
    )


def signer_accounts(session: Session, arguments: Namespace) -> StoredKey | CommandAnswer:
    addresses = _signer_accounts(session.devices)
    if arguments.account is not None:
        if arguments.account not in addresses:
            raise WalletError(
                f"That program holds no key for {checksum(arguments.account)}. "
                "See which it holds: zuno wallet signer"
            )
        return watch(
            session.home, arguments.account, name=arguments.name, keeping=KeyStorage.PROGRAM
        )
    rows = [(checksum(each), _known(session, each)) for each in addresses]
    return CommandAnswer(
        tuple(table(columns("ADDRESS", "HERE AS"), rows)),
        {"accounts": list(addresses)},
        remarks=("Add one: zuno wallet signer ADDRESS",),
    )


def lender_named(session: Session, named: str) -> Address:
    """Another wallet whose account is lent by a transaction of the chosen one."""
    address = read_book(session.home.keystore).find(named).address
    if address == session.address:
        raise WalletRefusedError(
            f"{named} is the wallet that sends it. Leave out --for, or name the one that pays: "
            f"zuno --address 0x… wallet delegate --for {named}"
        )
    return address


def delegates_by_device(session: Session, account: Address) -> bool:
    """Whether a device signs it; refused before anything is approved where nobody would."""
    wallet = read_book(session.home.keystore).at(account)
    if wallet is None:
        return False
    if wallet.keeping is KeyStorage.PROGRAM:
        raise WalletRefusedError(
            f"{wallet.name} is signed for over JSON-RPC, which has no method for a delegation. Its "
            "plans are sent in steps. Nothing was prepared."
        )
    return wallet.keeping is KeyStorage.LEDGER


def check_device(devices: Devices, wallet: Wallet) -> None:
    """Whether whoever should hold the key does; nothing is signed."""
    if wallet.keeping is KeyStorage.PROGRAM:
        if wallet.address not in _signer_accounts(devices):
            raise WalletError(f"The program that signs holds no key for {wallet.name}.")
        return
    from chain.wallet.ledger import app
    from chain.wallet.ledger.transport import open_transport

    with closing(open_transport(devices.ledger)) as transport:
        app.facts(transport)
        if app.address_at(transport, wallet.path) != wallet.address:
            raise WalletError(
                f"This Ledger has another account at {wallet.path}: it is another device, or "
                "holds another phrase."
            )


def _signer_accounts(devices: Devices) -> tuple[Address, ...]:
    from chain.wallet.json_rpc import JsonRpcSigner

    if devices.signer is None:
        raise WalletError(
            "No program that signs is set. Say where it is: "
            "zuno setting wallet.signer http://127.0.0.1:PORT"
        )
    return JsonRpcSigner(devices.signer, devices.signer_hosts).addresses()


def _known(session: Session, address: Address) -> str:
    wallet = read_book(session.home.keystore).at(address)
    return "" if wallet is None else wallet.name
