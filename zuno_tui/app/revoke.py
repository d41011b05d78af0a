"""`zuno revoke`: what the wallet still allows; with a token and a spender, approve its end."""

from chain.contracts.networks import NATIVE, Address, Network
from chain.positions.overview import Sources, tokens_at
from chain.tokens import listed_tokens
from zuno_tui.app.feature import ActionMaker
from zuno_tui.app.session import Session
from zuno_tui.gate.actions.action import Action
from zuno_tui.gate.actions.wallet import action_to_revoke
from zuno_tui.gate.allowances import GivenAllowance, known_tokens, read_given, spenders
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document
from zuno_tui.present.output import Json, table
from zuno_tui.present.receipt import allowance_rows
from zuno_tui.present.terminal import columns

_COLUMNS = columns("TOKEN", "SPENDER", "MAY MOVE>", "UNTIL")
_HEX_ADDRESS = 42
_TOKENS_ONLY = (
    "This is of tokens alone: a position's operator stands on its page (zuno inspect 26)."
)


def action_to_take_back(
    session: Session, token: str | None, spender: str | None, *, everything: bool
) -> ActionMaker:
    if everything and token is not None:
        raise GateRefusedError("Name one allowance, or --all of them, not both.")

    async def action_for_all(sources: Sources) -> Action:
        tokens = known_tokens(sources, session.address)
        return await action_to_revoke(sources, await read_given(sources, session.address, tokens))

    if everything:
        return action_for_all
    if token is None or spender is None:
        raise GateRefusedError(
            "Which allowance? Name the token and who may move it: "
            f"zuno revoke {token or 'TOKEN'} Permit2. See them all: zuno revoke"
        )

    async def action(sources: Sources) -> Action:
        return await action_to_revoke(sources, await _named(sources, session, token, spender))

    return action


async def allowances(session: Session) -> CommandAnswer:
    async with session.sources() as sources:
        tokens = known_tokens(sources, session.address)
        given = await read_given(sources, session.address, tokens)
        known = await tokens_at(sources, {allowance.token for allowance in given}, "latest")
    told: Json = {"allowances": [document(allowance) for allowance in given]}
    if not given:
        nothing = "Nobody may move a token that this wallet is known to use."
        return CommandAnswer((), told, heading=(nothing,), remarks=(_TOKENS_ONLY,))
    return CommandAnswer(
        tuple(table(_COLUMNS, list(allowance_rows(given, known)))),
        told,
        remarks=(
            "Take one back: zuno revoke TOKEN SPENDER; all of them: zuno revoke --all",
            _TOKENS_ONLY,
        ),
    )


async def _named(
    sources: Sources, session: Session, token_named: str, spender_named: str
) -> tuple[GivenAllowance, ...]:
    token = _token(session.network, token_named)
    spender = _spender(session.network, spender_named)
    given = await read_given(sources, session.address, [token])
    found = tuple(allowance for allowance in given if allowance.spender == spender)
    if not found:
        raise GateRefusedError(
            f"{spender_named} may move no {token_named} of this wallet. "
            "See what is allowed: zuno revoke"
        )
    return found


def _token(network: Network, named: str) -> Address:
    listed = [item.token for item in listed_tokens(network).tokens if item.token.address != NATIVE]
    for token in listed:
        if named.lower() in (token.address, token.symbol.lower()):
            return token.address
    if _is_address(named):
        return named.lower()
    raise GateRefusedError(
        f"{named!r} is not a known token on {network.title}. Name it by its address."
    )


def _spender(network: Network, named: str) -> Address:
    for address, name in spenders(network).items():
        if named.lower() in (address, name.lower()):
            return address
    names = ", ".join(spenders(network).values())
    raise GateRefusedError(f"{named!r} is not a spender zuno ever allows. It can be: {names}.")


def _is_address(text: str) -> bool:
    digits = text.lower().removeprefix("0x")
    return len(text) == _HEX_ADDRESS and all(digit in "0123456789abcdef" for digit in digits)
