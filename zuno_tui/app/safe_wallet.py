"""`zuno wallet safe ADDRESS`: a Safe watched like any wallet, and what the chain says it is."""

from argparse import Namespace

from chain.contracts.addresses import checksum
from chain.contracts.networks import Address
from chain.positions.overview import Sources
from chain.rpc.records import BlockRef
from chain.safe.facts import SafeFacts, read_safe
from chain.wallet.address_book import KeyStorage, read_book
from chain.wallet.keystore import watch
from zuno_tui.app.session import Session
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document


async def watch_safe(session: Session, arguments: Namespace) -> CommandAnswer:
    """Kept only where it is a Safe whose transactions can be signed here."""
    address: Address = arguments.safe
    async with session.sources() as sources, session.connections(sources) as connections:
        facts = await agreed_safe(sources, connections, address)
    facts.refuse_unfit()
    kept = watch(session.home, address, name=arguments.name, keeping=KeyStorage.SAFE)
    book = read_book(session.home.keystore)
    remarks = [*warnings_of(facts), f"Its positions: zuno positions --address {kept.wallet.name}"]
    if kept.current:
        remarks[-1] = "It is the current wallet. Its positions: zuno positions"
    lines = (f"{kept.wallet.name}  {checksum(address)}", *fact_lines(facts, _names(session)))
    return CommandAnswer(
        lines,
        {"name": kept.wallet.name, **document(facts), "current": book.current == address},
        remarks=tuple(remarks),
    )


async def agreed_safe(
    sources: Sources, connections: Connections, address: Address, at: BlockRef | None = None
) -> SafeFacts:
    """The Safe at one block; where two endpoints are set, they must tell the same of it."""
    block = (await sources.client.head()).hash if at is None else at
    found = await read_safe(sources.client, address, block)
    for witness in connections.witnesses:
        if connections.alone:
            break
        if await read_safe(witness.client, address, block) != found:
            raise GateRefusedError(
                f"Endpoints disagree about the Safe {checksum(address)}: {witness.host} tells "
                "of others who own it, or of another code. Nothing was signed. Leave one out: "
                "--rpc URL,URL",
                RefusalCode.ENDPOINTS_DISAGREE,
            )
    return found


def _names(session: Session) -> dict[Address, str]:
    return {wallet.address: wallet.name for wallet in read_book(session.home.keystore).wallets}


def fact_lines(facts: SafeFacts, names: dict[Address, str]) -> tuple[str, ...]:
    known = "known code" if facts.known_version else "unknown code"
    owners = [
        f"  owner     {checksum(each)}" + (f" ({names[each]})" if each in names else "")
        for each in facts.owners
    ]
    return (
        f"  Safe      {facts.version}, {known}",
        f"  signs     {facts.threshold} of {len(facts.owners)} owners",
        *owners,
        f"  nonce     {facts.nonce}",
        f"  modules   {', '.join(map(checksum, facts.modules)) or 'none'}",
        f"  guard     {checksum(facts.guard) if facts.guard else 'none'}",
        f"  handler   {_handler(facts)}",
    )


def _handler(facts: SafeFacts) -> str:
    if facts.handler is None:
        return "none"
    return checksum(facts.handler) + ("" if facts.handler_is_known else ", unknown code")


def warnings_of(facts: SafeFacts) -> tuple[str, ...]:
    """What may act for the Safe, or keep it from acting, besides its owners."""
    found = [
        f"! {checksum(each)} is a module: it can act for the Safe with no owner's signature."
        for each in facts.modules
    ]
    if facts.guard is not None:
        found.append(f"! Guard {checksum(facts.guard)} checks every transaction and can refuse it.")
    if facts.module_guard is not None:
        found.append(f"! Guard {checksum(facts.module_guard)} checks what modules do.")
    if not facts.handler_is_known:
        found.append("! zuno does not know its fallback handler.")
    return tuple(found)
