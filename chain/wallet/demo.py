"""The demo's keys follow from this source: good for the embedded chain, and for nothing else."""

from pathlib import Path

from chain.contracts.networks import Address, network_named
from chain.wallet.errors import WalletRefusedError
from chain.wallet.keystore_file import read_keystore
from chain.wallet.secrets import Passphrase, PrivateKey

DEMO_NETWORK = "devnet"


def refuse_known_key(address: Address) -> None:
    """No key that anybody can derive is kept as somebody's own."""
    from chain.devnet.world.accounts import DEMO_WALLET, RESIDENTS, WATCH_KEY

    if address in {account.address for account in (DEMO_WALLET, WATCH_KEY, *RESIDENTS)}:
        raise WalletRefusedError(
            "That key belongs to the demo and anybody can derive it: money sent there is lost. "
            "It was not kept. For a key of your own: zuno wallet new"
        )


def refuse_demo_elsewhere(address: Address, chain_id: int) -> None:
    """The demo wallet signs on the embedded chain alone."""
    demo = network_named(DEMO_NETWORK)
    if address == demo.default_address and chain_id != demo.chain_id:
        raise WalletRefusedError(
            "The demo wallet signs on the embedded chain only: anybody can derive its key. "
            "Choose a wallet of your own: zuno wallet use NAME"
        )


def demo_watch_key() -> PrivateKey:
    """The key that carries out orders on the embedded chain."""
    from chain.devnet.world.accounts import WATCH_KEY

    return PrivateKey(WATCH_KEY.key)


def demo_key(cache: Path) -> PrivateKey:
    """The demo wallet's key, from its keystore like anybody's."""
    from chain.devnet.world.accounts import DEMO_PASSPHRASE, demo_keystore

    return read_keystore(demo_keystore(cache), Passphrase.from_text(DEMO_PASSPHRASE))
