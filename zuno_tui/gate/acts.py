"""One way to act: what was judged is approved, found again and held to its hash, used once.

A plan, a trade and a standing order differ in what is judged and in how it is done. What lies
between is here: the approval's hash, its tag, its ten minutes and its single use.
"""

from collections.abc import Callable, Mapping

from chain.base.strict_json import canonical, digest
from chain.execution.outbox.approvals import ActKind, GivenApproval
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch
from zuno_tui.gate.approval_tag import is_tagged, make_tag
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

_NOTHING = "Nothing was signed. Nothing was sent."


def seal(content: Mapping[str, object]) -> str:
    """Changes with every field of what would be signed or sent, and of what it was judged by."""
    return digest(canonical(dict(content)))


def make_given_approval(
    kind: ActKind, plan_id: str, sealed: str, terms: Mapping[str, object], *, now: float
) -> GivenApproval:
    """An approval as it is stored: with the tag that whoever edits the store cannot make."""
    return GivenApproval(sealed, kind, plan_id, now, terms, make_tag(sealed))


def waiting_approval(
    outbox: Outbox,
    kind: ActKind,
    plan_id: str | None,
    confirmed: str | None = None,
    *,
    happened: Callable[[GivenApproval], bool] = lambda _: True,
    lost: str | None = None,
    kept_elsewhere: bool = False,
) -> GivenApproval:
    """The newest of the plan; refused where another hash was confirmed, or it is used or void.

    `happened` says of one that was used whether anything of it was written down to be sent, `lost`
    what is said where nothing was and it cannot be approved again, `kept_elsewhere` whether an
    earlier version had approved it in a store of its own.
    """
    given = outbox.newest_given(kind, plan_id)
    if given is None and kept_elsewhere and plan_id is not None:
        given = GivenApproval("", kind, plan_id, 0.0)
        refuse_untagged(given)
    if given is None:
        what = "Nothing is approved" if plan_id is None else f"{plan_id} is not approved"
        raise GateRefusedError(
            f"{what}. {_NOTHING} Approve it first: zuno approve {plan_id or 'PLAN'}",
            RefusalCode.NOT_APPROVED_HERE,
        )
    if confirmed is not None and confirmed != given.hash:
        raise GateRefusedError(
            f"{_whose(outbox, given, confirmed)} {_NOTHING} "
            f"What is approved of {given.plan_id} now: {given.hash}",
            RefusalCode.ANOTHER_HASH,
        )
    if given.used_at is not None and not happened(given):
        raise GateRefusedError(
            lost
            or f"zuno was stopped right after the word for {given.plan_id} was typed. {_NOTHING} "
            f"Approve it again: zuno approve {given.plan_id}",
            RefusalCode.ALREADY_APPLIED,
        )
    if given.used_at is not None:
        raise GateRefusedError(
            f"{given.plan_id} was applied before. Nothing was sent now. "
            "See what it did: zuno outbox, zuno orders, zuno trade status",
            RefusalCode.ALREADY_APPLIED,
        )
    refuse_untagged(given)
    return given


def only_open_plan(outbox: Outbox, chain_id: int, now: float, wall_time: float) -> str | None:
    """The plan that is meant where none is named: the only one with an open approval.

    Refused where several have one: the newest is not always the one a person last looked at.
    `now` is by the network's clock.
    """
    open_plans = {
        given.plan_id: None
        for given in outbox.unused_approvals()
        if not given.is_over(wall_time if given.kind is ActKind.TRADE else now)
        and (
            given.kind is not ActKind.PLAN or _may_be_applied(outbox.dispatch(given.hash), chain_id)
        )
    }
    if len(open_plans) > 1:
        lines = ", ".join(f"apply {plan_id}" for plan_id in open_plans)
        raise GateRefusedError(
            f"{len(open_plans)} approvals are open, so name the one to sign: {lines}. {_NOTHING}",
            RefusalCode.SEVERAL_OPEN,
        )
    return next(iter(open_plans), None)


def _may_be_applied(dispatch: Dispatch, chain_id: int) -> bool:
    return dispatch.chain_id == chain_id and dispatch.ended is None


def refuse_untagged(given: GivenApproval) -> None:
    """Refuse what lies in the store and was not approved on this machine since it started."""
    if not given.tag:
        raise GateRefusedError(
            f"{given.plan_id} was approved before zuno was updated, and an update ends every open "
            f"approval. {_NOTHING} Approve it again: zuno approve {given.plan_id}",
            RefusalCode.NOT_APPROVED_HERE,
        )
    if not is_tagged(given.hash, given.tag):
        raise GateRefusedError(
            f"The approval of {given.plan_id} was not given here, or not since this machine "
            f"started. {_NOTHING} Approve it again: zuno approve {given.plan_id}",
            RefusalCode.NOT_APPROVED_HERE,
        )


def refuse_changed(given: GivenApproval, sealed: str | None) -> None:
    """Refuse what is stored under a hash and does not give that hash any more."""
    if sealed != given.hash:
        raise GateRefusedError(
            f"What is stored of {given.plan_id} is not what was approved: something changed it "
            f"on disk. {_NOTHING} Approve it again: zuno approve {given.plan_id}",
            RefusalCode.CHANGED_ON_DISK,
        )


def refuse_over(given: GivenApproval, now: float) -> None:
    """`now` is by the clock the approval was given by."""
    if given.is_over(now):
        late = int(now - given.expires_at)
        age = f"ended {late} s ago" if late >= 0 else "was given after this clock's time"
        raise GateRefusedError(
            f"The approval of {given.plan_id} {age}: it lasts ten minutes. {_NOTHING} "
            f"Approve it again: zuno approve {given.plan_id}",
            RefusalCode.DRIFT,
        )


def _whose(outbox: Outbox, given: GivenApproval, confirmed: str) -> str:
    other = outbox.find_given(confirmed)
    if other is None:
        return "Nothing with that hash is approved."
    if other.plan_id != given.plan_id:
        return f"That hash belongs to {other.plan_id}, not to {given.plan_id}."
    return f"That hash is of an earlier approval of {given.plan_id}."
