"""An account whose key never leaves its Ledger: each signature is confirmed on its screen."""

from collections.abc import Callable

from chain.contracts.addresses import checksum, keccak
from chain.contracts.networks import Address
from chain.execution.transaction import Authorization, UnsignedTransaction
from chain.wallet.errors import WalletRefusedError
from chain.wallet.key_holder import Point, TypedData
from chain.wallet.ledger import app
from chain.wallet.ledger.transport import Transport


class LedgerKey:
    """`asking` is told what the person compares while the device waits for them."""

    def __init__(
        self,
        address: Address,
        path: str,
        connect: Callable[[], Transport],
        asking: Callable[[str], None],
    ) -> None:
        self.address = address
        self._path = path
        self._connect = connect
        self._asking = asking
        self._transport: Transport | None = None

    def sign_transaction(
        self, transaction: UnsignedTransaction, unsigned: bytes, _lending: Point | None
    ) -> Point:
        transport = self._ready()
        self._asking(
            f"Confirm on the Ledger: {transaction.step}. Compare the transaction hash "
            f"0x{keccak(unsigned).hex()}"
        )
        return app.sign_transaction(transport, self._path, unsigned)

    def sign_typed_data(self, data: TypedData) -> Point:
        transport = self._ready()
        self._asking(
            f"Confirm on the Ledger. Compare the domain hash 0x{data.domain_hash.hex()} and the "
            f"message hash 0x{data.message_hash.hex()}"
        )
        return app.sign_typed(transport, self._path, data)

    def sign_authorization(self, authorization: Authorization) -> Point:
        transport = self._ready()
        self._asking(
            "Confirm on the Ledger: delegate this account to "
            f"{checksum(authorization.delegate)}. The transaction that carries it follows."
        )
        return app.sign_authorization(transport, self._path, authorization)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def _ready(self) -> Transport:
        """The device that holds this very account, with an app that can sign."""
        if self._transport is None:
            transport = self._connect()
            try:
                app.facts(transport)
                there = app.address_at(transport, self._path)
                if there != self.address:
                    raise WalletRefusedError(
                        f"This Ledger has {checksum(there)} at {self._path}, not "
                        f"{checksum(self.address)}: it is another device, or holds another "
                        "phrase. Nothing was signed."
                    )
            except BaseException:
                transport.close()
                raise
            self._transport = transport
        return self._transport
