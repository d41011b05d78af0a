"""`zuno demo`: the desk on the embedded chain, with no key, no model and no network.

Without a terminal, or with --text, it prints the demo wallet's positions instead.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.base.clean_text import clean_text
from chain.base.home import Home
from chain.base.scratch import leave_behind, scratch_folder
from chain.devnet.defaults import DEMO_SPEED
from chain.devnet.launch import (
    DevnetError,
    DevnetReady,
    Progress,
    devnet_process,
    started_devnet,
    when_ready,
)
from zuno_tui.app.demo_place import DemoPlace, genesis_at, registered_demo
from zuno_tui.app.session import Session, say
from zuno_tui.cli.output import no_desk_here
from zuno_tui.present.exit_codes import FAILED

if TYPE_CHECKING:
    from zuno_tui.desk.context import DeskOpening
    from zuno_tui.desk.events import Event
    from zuno_tui.screen.app.ending import Ending
    from zuno_tui.screen.app.running import Opening

_STARTING = "Starting the embedded chain: the real Uniswap v4 contracts, a week of market history."
_COPYING = "Copying {network} at block {block:,}: what is done here never leaves this machine."
_RUNNING = "A real chain runs here, a minute a second."


def run(arguments: Namespace) -> int:
    if arguments.text or arguments.json or no_desk_here() is not None:
        return _print(arguments)
    from zuno_tui.screen.app.ending import ending_when_asked

    with ending_when_asked() as ending, _home_of_its_own(arguments.home) as folder:
        home = Home.locate(os.environ, folder)
        home.prepare()
        code = _open(arguments, home, ending)
        if code == FAILED and arguments.home is None:
            # The page of a crash names the log: the home stays for who wants to read it.
            leave_behind(folder)
        return code


def _open(arguments: Namespace, home: Home, ending: Ending) -> int:
    if arguments.fork:
        return _run_desk(arguments, home, fork_opening(arguments), ending)
    within = argparse.Namespace(**{**vars(arguments), "home": home.root})
    # The chain takes longer than the screen, so it is started before the screen is even imported.
    with _started_chain(home.root) as chain:
        return _run_desk(arguments, home, demo_opening(within, chain), ending)


def _run_desk(arguments: Namespace, home: Home, opening: Opening, ending: Ending) -> int:
    from zuno_tui.screen.app.running import run_desk
    from zuno_tui.screen.look import read_look

    # Keys and colours are the person's own; everything else belongs to the demo.
    look = read_look(Session.start(arguments).settings, os.environ, arguments)
    return run_desk(home, look, opening, ending)


def demo_opening(arguments: Namespace, started: StartedChain | None = None) -> Opening:
    """The embedded chain for as long as the desk is open, in a home that goes with it."""

    @asynccontextmanager
    async def open_session(tell: Callable[[Event], None]) -> AsyncIterator[DeskOpening]:
        from zuno_tui.desk.context import DeskOpening
        from zuno_tui.desk.events import Said

        tell(Said(_STARTING))

        def show_progress(done: int, total: int) -> None:
            tell(Said(f"{_STARTING[:-1]}: {100 * done // total}%"))

        with (
            _home_of_its_own(arguments.home) as home,
            nullcontext(started) if started else _started_chain(home) as chain,
        ):
            devnet = await chain.ready(show_progress)
            chosen = argparse.Namespace(**{**vars(arguments), "home": home})
            if arguments.safe is not None:
                tell(Said(await _with_safe(Path(home), devnet, arguments.safe)))
                chosen.address = None
            session = Session.start(_on_devnet(chosen, devnet, by_book=bool(arguments.safe)))
            genesis = await asyncio.to_thread(genesis_at, devnet.url)
            wallet = session.address
            place = DemoPlace(os.getpid(), devnet.url, genesis or "", wallet, str(home))
            with registered_demo(place, _homes(home)) as command:
                tell(Said(f"{_RUNNING} In any shell: {command} positions", "good"))
                yield DeskOpening(
                    session,
                    demo=True,
                    deterministic=arguments.deterministic,
                    transport=arguments.transport,
                )

    return open_session


def fork_opening(arguments: Namespace) -> Opening:
    """The desk on a copy of a real network, in a home of its own that holds no key."""

    @asynccontextmanager
    async def open_session(tell: Callable[[Event], None]) -> AsyncIterator[DeskOpening]:
        from zuno_tui.desk.context import DeskOpening
        from zuno_tui.desk.events import Said

        with _home_of_its_own(None) as home:
            async with _copied_session(arguments, home, lambda words: tell(Said(words))) as session:
                yield DeskOpening(
                    session,
                    demo=False,
                    deterministic=arguments.deterministic,
                    transport=arguments.transport,
                )

    return open_session


@asynccontextmanager
async def _copied_session(
    arguments: Namespace, home: Path, narrate: Callable[[str], None]
) -> AsyncIterator[Session]:
    """A session on the copy: the person's network and address, and nobody's key."""
    from zuno_tui.gate.rehearsal import copied_chain

    own = Session.start(arguments)
    async with own.connect() as client:
        head = await client.head()
        narrate(_COPYING.format(network=own.network.title, block=head.number))
        async with copied_chain(client, head) as chain:
            await asyncio.to_thread(chain.mine_every, own.network.block_seconds)
            chosen = {"network": own.network.name, "rpc": chain.url, "address": own.address}
            there = argparse.Namespace(**{**vars(arguments), **chosen, "home": home})
            session = Session.start(there)
            title = f"REHEARSAL · {own.network.title}"
            yield replace(session, network=replace(session.network, title=title, explorer=None))


def _homes(folder: Path) -> tuple[Home, ...]:
    """Where commands in another shell look: the person's home, and the demo's own."""
    own, named = Home.locate(os.environ), Home.locate(os.environ, folder)
    return (own,) if named == own else (own, named)


def _home_of_its_own(chosen: Path | None) -> AbstractContextManager[Path]:
    return scratch_folder("demo") if chosen is None else nullcontext(chosen)


def _print(arguments: Namespace) -> int:
    from zuno_tui.commands.catalog.run_in_session import run_in_session
    from zuno_tui.commands.positions import COMMAND

    if arguments.fork:
        return asyncio.run(_print_copy(arguments))
    say(_STARTING)
    with devnet_process(v3=True) as devnet:
        return run_in_session(COMMAND, _on_devnet(arguments, devnet))


async def _print_copy(arguments: Namespace) -> int:
    from zuno_tui.app.positions import wallet_positions
    from zuno_tui.present.answer import print_answer

    with _home_of_its_own(None) as home:
        async with _copied_session(arguments, home, say) as session:
            answer = await wallet_positions(session, since_entry=False)
            return print_answer(answer, as_json=session.as_json)


class StartedChain(Struct, frozen=True):
    """The embedded chain's process, which may still be writing its week."""

    child: Popen[bytes]
    narration: Path
    """What it narrates goes into a file: on a screen it would land in the middle."""

    async def ready(self, progress: Progress) -> DevnetReady:
        try:
            return await asyncio.to_thread(when_ready, self.child, progress)
        except asyncio.CancelledError:
            # The thread waits for a line, and nobody waits for the thread any more.
            self.child.terminate()
            raise
        except DevnetError as error:
            lines = self.narration.read_text("utf-8", errors="replace").splitlines()
            why = next((clean_text(line) for line in reversed(lines) if line.strip()), "")
            raise DevnetError(f"The embedded chain did not start. {why}") from error


@contextmanager
def _started_chain(folder: Path) -> Iterator[StartedChain]:
    narration = folder / "devnet.log"
    with (
        narration.open("wb") as words,
        started_devnet(words.fileno(), speed=DEMO_SPEED, v3=True) as child,
    ):
        yield StartedChain(child, narration)


async def _with_safe(folder: Path, devnet: DevnetReady, wanted: tuple[int, int]) -> str:
    """A Safe whose first owner is the demo wallet, chosen in this home; who the others are."""
    from chain.devnet.json_rpc import NodeClient
    from chain.devnet.world.accounts import account
    from chain.devnet.world.safes import found_safe
    from chain.wallet.address_book import KeyStorage
    from chain.wallet.files import write_once
    from chain.wallet.keystore import watch
    from zuno_tui.app.market import MarketClock

    needed, owners = wanted
    others = [account(f"safe owner {number}") for number in range(2, owners + 1)]
    addresses = [devnet.wallet, *(other.address for other in others)]
    clock = MarketClock(devnet.url)
    try:
        held = await clock.positions()
    finally:
        await clock.close()
    with NodeClient(devnet.url) as node:
        safe = await asyncio.to_thread(found_safe, node, held, addresses, needed)
    home = Home.locate(os.environ, folder)
    watch(home, safe, name="vault", keeping=KeyStorage.SAFE)
    for place, other in enumerate(others, 2):
        write_once(folder / f"owner-{place}.key", b"0x" + other.key.hex().encode())
    keys = f" The other owners' keys: {folder}/owner-N.key" if others else ""
    return f"A Safe, vault, signed by {needed} of {owners}: the demo wallet is an owner.{keys}"


def _on_devnet(arguments: Namespace, devnet: DevnetReady, *, by_book: bool = False) -> Namespace:
    wallet = None if by_book else devnet.wallet
    chosen = {"network": "devnet", "rpc": devnet.url, "address": wallet}
    return argparse.Namespace(**{**vars(arguments), **chosen, "since_entry": True})
