"""Where keys that are not here are asked for: a Ledger, another program."""

from collections.abc import Callable

from msgspec import Struct

from chain.wallet.address_book import Wallet
from chain.wallet.errors import WalletError
from chain.wallet.key_holder import KeyHolder


class Devices(Struct, frozen=True):
    """As the settings name them."""

    ledger: str = "usb"
    signer: str | None = None
    signer_hosts: tuple[str, ...] = ()

    def ledger_key(self, wallet: Wallet, asking: Callable[[str], None]) -> KeyHolder:
        from chain.wallet.ledger.key import LedgerKey
        from chain.wallet.ledger.transport import open_transport

        place = self.ledger
        return LedgerKey(wallet.address, wallet.path, lambda: open_transport(place), asking)

    def program_key(self, wallet: Wallet, asking: Callable[[str], None]) -> KeyHolder:
        from chain.wallet.json_rpc import JsonRpcKey, JsonRpcSigner

        if self.signer is None:
            raise WalletError(
                f"{wallet.name} is signed for by another program, and none is set. Say where it "
                "is: zuno setting wallet.signer http://127.0.0.1:PORT"
            )
        return JsonRpcKey(wallet.address, JsonRpcSigner(self.signer, self.signer_hosts), asking)
