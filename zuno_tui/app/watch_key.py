"""`zuno wallet watch-key`: made, looked at, emptied, removed, and brought to a second machine."""

import asyncio
from argparse import Namespace

from msgspec.structs import replace

from chain.base.errors import Failure
from chain.base.units import Unknown
from chain.contracts.addresses import checksum
from chain.contracts.networks import Address, all_networks
from chain.execution.build.gas_bill import gas_bill
from chain.execution.transaction import UnsignedTransaction
from chain.math.price import format_amount
from chain.read.gas import read_gas_price
from chain.rpc import requests
from chain.standing_orders.book import MachineRole, StandingOrders
from chain.standing_orders.call import most_gas
from chain.wallet.address_book import KeyStorage
from chain.wallet.demo import DEMO_NETWORK
from chain.wallet.errors import WalletError, WalletRefusedError
from chain.wallet.keystore import StoreChoice
from chain.wallet.keystore_file import read_keystore
from chain.wallet.secrets import Passphrase
from chain.wallet.watch_key import (
    WatchKey,
    export_watch_key,
    is_proven,
    make_watch_key,
    open_watch_signer,
    remove_watch_key,
    watch_key,
)
from zuno_tui.app.session import Session, say
from zuno_tui.app.wallet_secrets import ask_new_passphrase, ask_passphrase, typed_word
from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import print_json, print_lines

_TRANSFER_GAS = 21_000
_GAS_MARGIN = (5, 4)
_UNLOCKED = {
    KeyStorage.KEYRING: "After a restart it opens with the keyring, once that is unlocked.",
    KeyStorage.FILE: (
        "After a restart it opens with its passphrase, from the file that "
        "ZUNO_WATCH_KEY_PASSPHRASE_FILE names or systemd's credential zuno-watch-key."
    ),
}


class WalletUsageError(WalletError):
    failure = Failure.USAGE


def run(session: Session, arguments: Namespace) -> int:
    if (arguments.what in ("export", "import")) != (arguments.file is not None):
        raise WalletUsageError(
            "Name a file with export or import: zuno wallet watch-key export FILE"
        )
    match arguments.what:
        case "export":
            return _export(session, arguments)
        case "import":
            return _import(session, arguments)
        case "remove":
            return asyncio.run(_remove(session, arguments))
        case "sweep":
            return asyncio.run(sweep(session, arguments))
        case _:
            return _show(session, arguments)


def _show(session: Session, arguments: Namespace) -> int:
    found = watch_key(session.home, session.network)
    if found is None:

        def new_passphrase(why: str) -> Passphrase:
            say(f"{why} The key goes into a file, encrypted under a passphrase.")
            return ask_new_passphrase(arguments.passphrase_file)

        choice = StoreChoice(arguments.store)
        kept = make_watch_key(session.home, choice=choice, new_passphrase=new_passphrase)
        found = kept.key
        say(f"Made, and kept in {kept.place}.")
    return asyncio.run(_tell(session, found))


def _export(session: Session, arguments: Namespace) -> int:
    """For the machine that takes over: from now on both are careful with each other."""
    found = _needed(session)
    export_watch_key(
        session.home,
        session.network,
        arguments.file,
        passphrase=lambda: ask_passphrase("the watch key", None),
        new_passphrase=lambda: ask_new_passphrase(arguments.passphrase_file),
    )
    book = StandingOrders(session.home.orders)
    if book.role is MachineRole.ALONE:
        book.take_role(MachineRole.FIRST)
    return _tell_role(
        session,
        found,
        book.role,
        f"The key is in {arguments.file}, encrypted. On the other machine: zuno wallet watch-key "
        "import FILE, then its orders: here zuno order export all FOLDER, there zuno order import "
        "FOLDER. Delete the file afterwards.",
    )


def _import(session: Session, arguments: Namespace) -> int:
    """The machine that made the key goes first; this one is its standby."""
    if session.network.name == DEMO_NETWORK:
        raise WalletRefusedError("The embedded chain has a watch key of its own.")
    with (
        ask_passphrase(arguments.file.name, arguments.passphrase_file) as opening,
        read_keystore(arguments.file, opening) as key,
    ):
        kept = make_watch_key(
            session.home,
            choice=StoreChoice(arguments.store),
            # Kept in a file, it opens with the passphrase its owner already knows.
            new_passphrase=lambda _: Passphrase(opening.reveal()),
            made=key,
        )
    StandingOrders(session.home.orders).take_role(MachineRole.STANDBY)
    return _tell_role(
        session,
        kept.key,
        MachineRole.STANDBY,
        f"The key is in {kept.place}. This machine is the standby: it tries an order that the "
        "other one has left. Both pay gas out of the same key. To go first here: zuno orders first",
    )


def _tell_role(session: Session, found: WatchKey, role: MachineRole, words: str) -> int:
    if session.as_json:
        print_json({"address": found.address, "store": found.store.value, "role": role.value})
    else:
        print_lines([checksum(found.address)])
        say(words)
    return DONE


async def _tell(session: Session, found: WatchKey) -> int:
    coin, needed = session.network.native_symbol, None
    async with session.sources() as sources:
        held = await sources.client.ask(requests.balance(found.address))
        price = await read_gas_price(sources.client)
    if not isinstance(price, Unknown):
        needed = 3 * most_gas() * price.value.cap
    address = checksum(found.address)
    if not await asyncio.to_thread(is_proven, session.home, session.network):
        say(
            "Its passphrase is not available, so this address comes from watch-key.json, unchecked."
        )
    if session.as_json:
        print_json(
            {
                "address": found.address,
                "store": found.store.value,
                "wei": str(held),
                "suggestedWei": None if needed is None else str(needed),
            }
        )
        return DONE
    print_lines([address])
    say(f"It holds {format_amount(held, 18)} {coin} for gas, and can do nothing but your orders.")
    if needed is not None and held < needed:
        say(f"Send it about {format_amount(needed, 18, 2)} {coin}: enough for three orders now.")
        say(f"  ethereum:{address}@{session.network.chain_id}?value={needed}")
    if session.network.name != DEMO_NETWORK:
        say(_UNLOCKED[found.store])
    return DONE


async def _remove(session: Session, arguments: Namespace) -> int:
    """Whoever deletes a key deletes what it holds: that goes back first."""
    found = _needed(session)
    if session.network.name == DEMO_NETWORK:
        raise WalletRefusedError("The embedded chain keeps its watch key.")
    book = StandingOrders(session.home.orders)
    if book.role is not MachineRole.STANDBY:
        await refuse_funded(session, found.address)
    address = checksum(found.address)
    given = arguments.confirm or typed_word(f"Type {address[:6]} to remove {address}: ")
    if given.lower() not in (found.address, found.address[:6]):
        raise WalletRefusedError(
            f"The watch key was not removed. Without a terminal: --confirm {address}"
        )
    remove_watch_key(session.home, found)
    book.take_role(MachineRole.ALONE)
    say(f"{address} is removed. Orders signed for it stay valid: zuno order cancel all")
    return DONE


async def refuse_funded(session: Session, key: Address) -> None:
    """On this network, and on every other that orders were made for."""
    kept = {kept.order.chain_id for kept in StandingOrders(session.home.orders).all()}
    others = [
        network
        for network in all_networks()
        if network.chain_id in kept - {session.network.chain_id}
    ]
    for network in (session.network, *others):
        there = Session(session.home, session.settings, network, as_json=True)
        async with there.sources() as sources:
            held = await sources.client.ask(requests.balance(key))
            price = await read_gas_price(sources.client)
        cost = 0 if isinstance(price, Unknown) else _TRANSFER_GAS * price.value.cap
        if held <= cost:
            continue  # taking it back would cost more
        raise WalletRefusedError(
            f"It holds {format_amount(held, 18)} {network.native_symbol} on {network.title}, which "
            f"would be lost. Take it back first: zuno --network {network.name} wallet watch-key "
            "sweep"
        )


async def sweep(session: Session, arguments: Namespace) -> int:
    """What is left of its coin, to one address."""
    found, to = _needed(session), arguments.to or session.address
    async with session.sources() as sources, session.connections(sources) as connections:
        client = sources.client
        held = await client.ask(requests.balance(found.address))
        price = await read_gas_price(client)
        nonce = await client.ask(requests.transaction_count(found.address))
        if isinstance(price, Unknown):
            raise WalletError(f"Gas has no price now: {price.reason}.")
        # An account that delegates runs code when it is paid.
        gas = await client.ask(requests.estimate_gas(to, b"", sender=found.address, value=1))
        more, of = _GAS_MARGIN
        transaction = UnsignedTransaction(
            chain_id=session.network.chain_id,
            sender=found.address,
            to=to,
            value=held,
            data=b"",
            gas=gas if gas == _TRANSFER_GAS else gas * more // of,
            max_fee_per_gas=price.value.cap,
            max_priority_fee_per_gas=price.value.priority_fee,
            nonce=nonce,
            step="sweep",
        )
        bill = await gas_bill(client, session.network, [transaction], "latest")
        if held <= bill.total:
            raise WalletError("Its balance would not pay for the transfer. Nothing was sent.")
        transaction = replace(transaction, value=held - bill.total)
        coin = session.network.native_symbol
        words = f"{format_amount(transaction.value, 18)} {coin} to {checksum(to)}"
        if arguments.confirm is None and typed_word(f"Type sweep to send {words}: ") != "sweep":
            raise WalletRefusedError("That was not the word 'sweep'. Nothing was sent.")
        if arguments.confirm is not None and arguments.confirm.lower() != to:
            raise WalletRefusedError("--confirm names another address. Nothing was sent.")
        signer = open_watch_signer(
            session.home,
            session.network,
            passphrase=(
                None
                if arguments.passphrase_file is None
                else lambda: ask_passphrase("the watch key", arguments.passphrase_file)
            ),
            sweeps_to=to,
        )
        try:
            signed = signer.sign(transaction)
        finally:
            signer.close()
        sent = await connections.route.endpoint.ask(requests.send_raw(signed.raw))
    say(f"Sent {words}: {sent}")
    return DONE


def _needed(session: Session) -> WatchKey:
    found = watch_key(session.home, session.network)
    if found is None:
        raise WalletError("This home has no watch key. Make one: zuno wallet watch-key")
    return found
