"""No use of a key loads the curve of validators, which lets brackets overflow a parser's stack."""

import json
import subprocess
import sys

USES = {
    "a wallet's keystore": """
from chain.wallet.keystore_file import _decrypted, _encrypted
from chain.wallet.secrets import Passphrase, PrivateKey
import json
kept = _encrypted(PrivateKey(b"k" * 32), Passphrase(b"open"), 2)
_decrypted(json.loads(kept), Passphrase(b"open"))
""",
    "the demo's keystore": """
import pathlib, tempfile
from chain.devnet.world.accounts import demo_keystore
with tempfile.TemporaryDirectory() as folder:
    demo_keystore(pathlib.Path(folder))
""",
    "a signature": """
from chain.contracts.addresses import address_of
from chain.execution.transaction import UnsignedTransaction
from chain.wallet.secrets import PrivateKey
from chain.wallet.local_key import LocalKey
from chain.wallet.signer import Signer
key = b"k" * 32
step = UnsignedTransaction(1, address_of(key), "0x" + "22" * 20, 0, b"", 21000, 2, 1, 0, "exit")
Signer(LocalKey(PrivateKey(key)), 1).sign(step)
""",
    "a seed phrase": """
from chain.wallet.secrets import _derived
_derived(b"test test test test test test test test test test test junk", [0])
""",
    "a name": """
import asyncio
from chain.contracts.networks import network_named
from chain.names.ens import resolve_name
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
async def resolve():
    async with RpcClient(network_named("devnet"), ["http://127.0.0.1:9"]) as client:
        try:
            await resolve_name(client, "alice.eth")
        except RpcError:
            pass
asyncio.run(resolve())
""",
}


ALL = """
import json, sys
LIBRARIES = {"eth_account", "eth_keyfile", "ens", "web3"}
for name, use in json.load(sys.stdin).items():
    # As if nobody had used them before.
    for loaded in list(sys.modules):
        if loaded.split(".")[0] in LIBRARIES:
            del sys.modules[loaded]
    exec(use, {})
    assert LIBRARIES & sys.modules.keys(), name
    assert "py_ecc" not in sys.modules, name
    try:
        json.loads("[" * 99_999)
    except RecursionError:
        print(name)
"""


def test_after_each_use_brackets_are_refused_and_nobody_crashes() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", ALL],
        input=json.dumps(USES),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout.splitlines()) == (0, list(USES)), ran.stderr
