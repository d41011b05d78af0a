"""`zuno demo`: the demo wallet on the embedded chain, with no key, no model and no network."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from chain.devnet.launch import devnet_process
from zuno_tui.cli import positions
from zuno_tui.cli.session import say

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    say("Starting the embedded chain: the real Uniswap v4 contracts, a week of market history.")
    with devnet_process() as devnet:
        shown = argparse.Namespace(
            **{
                **vars(arguments),
                "network": "devnet",
                "rpc": devnet.url,
                "address": devnet.wallet,
                "since_entry": True,
            }
        )
        return positions.run(shown)
