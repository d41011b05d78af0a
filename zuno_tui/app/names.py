"""An address as people give it: its digits, or an ENS name that is looked up there and then."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.base.clean_text import quoted
from chain.base.home import Home
from chain.contracts.checksum import checksummed
from chain.names.ens import is_name, network_of_names, resolve_name
from chain.wallet.address_book import parsed_address
from zuno_tui.app.session import flags_of, say
from zuno_tui.settings import SettingsError, load_settings

if TYPE_CHECKING:
    from argparse import Namespace

    from chain.contracts.networks import Address, Network
    from chain.names.ens import ResolvedName
    from zuno_tui.settings import Settings


def address_given(text: str, settings: Settings, network: Network) -> Address:
    """For commands; a name is told with the address that it stands for."""
    if not is_name(text):
        return parsed_address(text)
    found = asyncio.run(looked_up(text, settings, network))
    say(name_words(found))
    return found.address


def address_flag(arguments: Namespace) -> Address:
    """What `--address` names, by the settings that hold without it."""
    flags = replace(flags_of(arguments), address=None)
    home = Home.locate(os.environ, arguments.home)
    settings = load_settings(home.settings, os.environ, flags)
    return address_given(arguments.address, settings, settings.chosen_network())


async def looked_up(name: str, settings: Settings, network: Network) -> ResolvedName:
    from chain.rpc.client import RpcClient

    keeper = network_of_names(network)
    endpoints = settings.endpoints_for(keeper)
    if not endpoints:
        raise SettingsError(
            f"Names are kept on {keeper.title}, and no endpoint is set for it. Write "
            f'{keeper.name} = "URL" under [rpc] in settings.toml, or give the address itself.'
        )
    async with RpcClient(keeper, endpoints) as client:
        return await resolve_name(client, name)


def name_words(found: ResolvedName) -> str:
    """The address is what counts, and so it stands there whole."""
    told = f"{found.name} is {checksummed(found.address)}."
    if found.reverse == found.name:
        return told
    if found.reverse is None:
        return f"{told} That address goes by no name of its own: make sure that it is meant."
    return f"{told} That address itself goes by another name, {quoted(found.reverse)}."
