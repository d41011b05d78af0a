"""What is kept beside the journal of each approval: what drift and results are judged by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, convert
from msgspec.structs import asdict, fields, replace

from chain.base.strict_json import canonical, digest
from chain.base.units import DAY
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolKey
from chain.execution.decode.decoder import decode
from chain.execution.decode.words import field_table
from chain.execution.exit_tax import kept_back
from chain.execution.outbox.approvals import GivenApproval
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Anchor, Dispatch, PlannedDispatch, PlannedStep
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import DecodedStep
from chain.execution.policy.policy import VERSION
from chain.execution.simulate import Simulation
from chain.protocols.reference import PositionRef, stored_position
from chain.protocols.registry import protocol_of_pool
from zuno_tui.gate.actions.action import TargetKind
from zuno_tui.gate.acts import refuse_changed
from zuno_tui.gate.acts import seal as seal_of
from zuno_tui.gate.drift import DriftLimits, WalletState
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

if TYPE_CHECKING:
    from zuno_tui.gate.prepare import Prepared

_SCHEMA = "zuno/approval/3"
_EXITED = "closed, both tokens in the wallet"


def seal(prepared: Prepared, terms: Mapping[str, object], private_host: str | None) -> str:
    """Changes with every field of every transaction, and with everything they were judged by."""
    steps = ((step, _deadline(step, prepared)) for step in prepared.steps)
    return _sealed(terms, prepared.action.subject.block.hash, private_host, steps)


def seal_again(dispatch: Dispatch | PlannedDispatch, terms: Mapping[str, object]) -> str:
    """The same hash from what the journal keeps, if nobody touched it since."""
    steps = ((decode(step.transaction), step.deadline) for step in dispatch.steps)
    return _sealed(terms, dispatch.anchor.hash, dispatch.private_host, steps)


def _sealed(
    terms: Mapping[str, object],
    anchor: str,
    private_host: str | None,
    steps: Iterable[tuple[DecodedStep, int | None]],
) -> str:
    content = {
        "schema": _SCHEMA,
        "policy": terms.get("policy", VERSION),
        "anchor": anchor,
        "sentThrough": private_host,
        "terms": terms,
        "steps": [
            {
                "deadline": deadline,
                "fields": [[each.name, each.value] for each in field_table(step)],
            }
            for step, deadline in steps
        ],
    }
    return seal_of(content)


def dispatch_of(prepared: Prepared, sealed: str, private_host: str | None) -> PlannedDispatch:
    """The same transactions as the journal keeps them, each with where its absence leaves one."""
    block = prepared.action.subject.block
    names = [step.transaction.step for step in prepared.steps]
    return PlannedDispatch(
        hash=sealed,
        plan_id=prepared.action.plan_id,
        anchor=Anchor(block.number, block.hash),
        private_host=private_host,
        steps=tuple(
            PlannedStep(step.transaction, safe, _deadline(step, prepared))
            for step, safe in zip(prepared.steps, safe_states(names), strict=True)
        ),
    )


def safe_states(names: Sequence[str]) -> tuple[str, ...]:
    """Where a person stands when everything before a step happened and the step did not."""
    return tuple(_standing(names[:place]) for place in range(len(names)))


def _standing(done: Sequence[str]) -> str:
    if not done:
        return "nothing happened"
    if "exit" in done:
        return _EXITED
    if "unsubscribe" in done:
        return "unsubscribed, the position is as it was"
    if "wrap" in done:
        return "wrapped, no position opened"
    if "revoke" in done:
        return "some permissions taken back, others still there"
    return "permissions given, no position changed"


def _deadline(step: DecodedStep, prepared: Prepared) -> int:
    # An approval's bytes name no end of their own: after its plan's it is of no use.
    deadline: int = getattr(step.call, "deadline", prepared.built.deadline)
    return deadline


def simulation_digest(simulation: Simulation) -> str:
    content = {
        "method": simulation.method,
        "unsimulated": list(simulation.unsimulated),
        "steps": [
            {
                "step": step.step,
                "gasUsed": step.gas_used,
                "changes": {token: str(amount) for token, amount in sorted(step.changes.items())},
            }
            for step in simulation.steps
        ],
    }
    return digest(canonical(content))


class Approval(Struct, frozen=True, rename="camel"):
    hash: str
    plan_id: str
    about: TargetKind
    headline: str
    tokens: tuple[Address, ...]
    before: WalletState
    bounds: DriftLimits
    quoted: Mapping[Address, int] | None
    """What the wallet would hold more or less of, by the simulation of all steps."""
    notional: int
    """Micro-dollars, rounded up."""
    simulated: str
    """The digest of the whole simulation that was shown."""
    warnings: tuple[str, ...]
    kept: Mapping[Address, int]
    """Millionths of what leaves the position that a hook or a token was seen to keep."""
    untold: tuple[Address, ...]
    """Tokens whose events were seen to tell of other transfers than they make."""
    daily_limit: int | None
    """Micro-dollars that the plans of a day may put into ranges together."""
    codes: Mapping[Address, str]
    """The hash of the code of every contract it calls or leads to, as it was when approved."""
    gas_exceeds: bool
    """Whether gas may cost more than all that is moved or earned."""
    planned_cost: float | None = None
    """Dollars that the plan expected it to cost; None where no plan did."""
    policy: int | None = None
    """The version of the rules that it was judged by; None where it was not written down yet."""

    @property
    def terms(self) -> dict[str, object]:
        """Everything but the hash, which is over all of it."""
        return {
            "planId": self.plan_id,
            "about": _about_written(self.about),
            "headline": self.headline,
            "tokens": list(self.tokens),
            "before": _written(self.before),
            "bounds": _written(self.bounds),
            "quoted": None
            if self.quoted is None
            else {token: str(amount) for token, amount in self.quoted.items()},
            "notional": str(self.notional),
            "simulated": self.simulated,
            "warnings": list(self.warnings),
            "kept": {token: str(share) for token, share in self.kept.items()},
            "untold": list(self.untold),
            "dailyLimit": None if self.daily_limit is None else str(self.daily_limit),
            "codes": dict(self.codes),
            "gasExceeds": self.gas_exceeds,
            # As before there could be any, where there is none.
            **({} if self.planned_cost is None else {"plannedCost": str(self.planned_cost)}),
            **({} if self.policy is None else {"policy": self.policy}),
        }


def approval_of(
    prepared: Prepared,
    warnings: tuple[str, ...],
    untold: tuple[Address, ...],
    private_host: str | None,
) -> Approval:
    action = prepared.action
    unsealed = Approval(
        hash="",
        plan_id=action.plan_id,
        about=action.subject.about,
        headline=action.headline,
        tokens=action.tokens,
        before=prepared.circumstances,
        bounds=prepared.bounds,
        quoted=prepared.simulation.all_changes(action.tokens),
        notional=-(-prepared.notional.numerator // prepared.notional.denominator),
        simulated=simulation_digest(prepared.simulation),
        warnings=warnings,
        kept={
            each.token: each.millionths
            for each in kept_back(prepared.steps, prepared.simulation, action.subject.positions)
        },
        untold=untold,
        daily_limit=prepared.daily_limit,
        codes=prepared.codes.now,
        gas_exceeds=prepared.gas.exceeds_moved,
        planned_cost=action.planned_cost,
        policy=VERSION,
    )
    return replace(unsealed, hash=seal(prepared, unsealed.terms, private_host))


def refuse_tampered(approval: Approval, dispatch: Dispatch, given: GivenApproval) -> None:
    """Refuse what is kept under a hash and does not give that hash any more."""
    try:
        sealed = seal_again(dispatch, approval.terms)
    except DecodingError:
        sealed = None
    # The row's own age and plan are sealed nowhere else.
    same_row = (approval.plan_id, approval.bounds.expires_at) == (given.plan_id, given.expires_at)
    refuse_changed(given, sealed if same_row else None)


def refuse_other_rules(approval: Approval) -> None:
    if approval.policy != VERSION:
        raise GateRefusedError(
            f"{approval.plan_id} was approved under the rules of another version. Nothing was "
            f"signed. Nothing was sent. Approve it again: zuno approve {approval.plan_id}",
            RefusalCode.NOT_APPROVED_HERE,
        )


def approval_in(outbox: Outbox, given: GivenApproval) -> Approval:
    found = read_approval(outbox, given.hash)
    if found is None:
        raise GateRefusedError(
            f"{unread_approval(outbox, given.hash)} Approve again: zuno approve {given.plan_id}"
        )
    return found


def given_for(outbox: Outbox, dispatch: Dispatch) -> tuple[Approval, GivenApproval]:
    """What a dispatch was approved under, whether it was used or not."""
    given = outbox.find_given(dispatch.hash)
    if given is None:
        raise GateRefusedError("What was approved is no longer known. Approve again: zuno approve")
    return approval_in(outbox, given), given


def unread_approval(outbox: Outbox, sealed: str) -> str:
    """Why what was approved cannot be told."""
    given = outbox.find_given(sealed)
    # The hash is the key and stands in no document.
    known = {each.encode_name: each.required for each in fields(Approval) if each.name != "hash"}
    names = set() if given is None else {*given.terms}
    missing = {name for name, required in known.items() if required} - names
    if not names or not (missing or names - known.keys()):
        return "What was approved is no longer known."
    age = "An older" if missing else "A newer"
    return f"{age} zuno approved it, in a form that this one does not read."


def read_approval(outbox: Outbox, sealed: str) -> Approval | None:
    """What is kept under a hash; None when it is nothing, or nothing that can be read."""
    given = outbox.find_given(sealed)
    if given is None:
        return None
    try:
        # Amounts are kept as text. What is read too kindly here gives another hash.
        terms = {name: _with_refs(part, name) for name, part in given.terms.items()}
        found = convert({**terms, "hash": sealed}, Approval, strict=False)
        return replace(found, about=_with_pool(found.about, given.terms))
    except ValueError:
        return None


_MADE_OF = 5
"""Fields of a pool's key."""
_POSITION_NAMES = ("tokenId", "token_id", "others")


def _with_refs(value: object, name: str) -> object:
    """With references to positions where their names are written."""
    if isinstance(value, dict):
        return {inner: _with_refs(part, inner) for inner, part in value.items()}
    if isinstance(value, list):
        return [_with_refs(part, name) for part in value]
    return stored_position(value) if name in _POSITION_NAMES and isinstance(value, str) else value


def notional_of_today(outbox: Outbox, now: float) -> int:
    """Micro-dollars that plans applied within a day put into ranges."""
    applied = [
        read_approval(outbox, dispatch.hash)
        for dispatch in outbox.dispatches()
        if dispatch.consumed_at is not None and now - dispatch.consumed_at < DAY
    ]
    return sum(approval.notional for approval in applied if approval is not None)


def refuse_past_the_day(outbox: Outbox, approval: Approval, now: float) -> None:
    """Of several plans approved within the day's limit, refuse the one that goes past it."""
    limit, spent = approval.daily_limit, notional_of_today(outbox, now)
    if limit is not None and approval.notional and spent + approval.notional > limit:
        raise OutboxError(
            f"{approval.plan_id} would put ${approval.notional / 1e6:,.2f} into ranges after "
            f"${spent / 1e6:,.2f} today, past the day's limit of ${limit / 1e6:,.2f}. "
            "Nothing was sent.",
            "Raise the limit in the settings and approve it again, or wait.",
        )


def _written(value: object) -> object:
    """Amounts as text. Of no others nothing is written, as before there could be any."""
    if isinstance(value, PositionRef):
        return str(value)
    if isinstance(value, Struct):
        parts = asdict(value).items()
        return {name: _written(part) for name, part in parts if part != ()}
    if isinstance(value, tuple):
        return [_written(part) for part in value]
    return None if value is None else str(value)


def _about_written(about: TargetKind) -> dict[str, object]:
    others = {"others": [str(ref) for ref in about.others]} if about.others else {}
    return {
        "tokenId": None if about.ref is None else str(about.ref),
        "pool": None if about.pool is None else _pool_written(about.pool),
        **others,
    }


def _pool_written(key: PoolKey) -> list[object]:
    """What it is made of; of one that this does not name, its id besides."""
    own_name = [] if PoolKey(*key.values).pool_id == key.pool_id else [key.pool_id]
    return [*key.values, *own_name]


def _with_pool(about: TargetKind, terms: Mapping[str, object]) -> TargetKind:
    """With the key of its own protocol, where more than what it is made of is written."""
    match terms.get("about"):
        case {"pool": [*_, str() as pool_id] as parts} if len(parts) > _MADE_OF and about.pool:
            own = protocol_of_pool(pool_id).key(about.pool.values, pool_id)
            return replace(about, pool=own)
        case _:
            return about
