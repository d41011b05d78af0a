"""What a reading changes: alerts to raise and to clear, and what to compare with from now on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agents.monitor.alerts.alert import (
    Alert,
    AlertKind,
    AlertState,
    AlertSubject,
    Change,
    Cleared,
    Finding,
    Raised,
)
from agents.monitor.alerts.store_page import WatchPlace
from agents.monitor.reader import Reading
from agents.monitor.rules import risks
from agents.monitor.rules.baseline import (
    WALLET,
    Baseline,
    BlockTick,
    DepthReference,
    RangeBounds,
    RangeState,
    RangeTimeline,
    agrees,
    bounds_of,
    first_standing,
    follow,
    operators_document,
    others_in,
    read_baseline,
    read_operators,
)
from agents.monitor.rules.features import Attached, FeatureAlert, Found, NothingAttached
from agents.monitor.rules.risks import RULES, findings, judge_kind
from agents.monitor.rules.situation import Situation
from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from agents.monitor.rules.worth_risks import loss_is_unknown
from chain.base.units import Unknown
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolId
from chain.protocols.pool import PoolSnapshot
from chain.protocols.reference import PositionRef
from chain.protocols.snapshot import PositionSnapshot
from chain.rpc.errors import Malformed
from chain.tokens.pair import Pair, pair_of

if TYPE_CHECKING:
    from agents.monitor.alerts.store import WatchState


class _Units(NamedTuple):
    """Dollars for the smallest unit of each of a pool's tokens, None where unknown."""

    usd0: float | None
    usd1: float | None
    difference: float | None


class Valuing:
    """The figures that all positions of a pool share are worked out once."""

    def __init__(self, network: Network, reading: Reading) -> None:
        self._network = network
        self._reading = reading
        self._pools: dict[PoolId, tuple[Pair, _Units]] = {}

    def situation(
        self,
        position: PositionSnapshot,
        standing: RangeState,
        out_since: float | None,
        baseline: Baseline,
        others_there: int | None,
    ) -> Situation:
        reading, pool = self._reading, position.pool
        if pool.pool_id not in self._pools:
            self._pools[pool.pool_id] = self._pool(pool)
        pair, units = self._pools[pool.pool_id]
        withdrawn = position.withdrawn
        apart = None if isinstance(withdrawn, Unknown) else withdrawn.value
        return Situation(
            network=self._network,
            position=position,
            pair=pair,
            standing=standing,
            out_since=out_since,
            baseline=baseline,
            others_there=others_there,
            hook_code=reading.hook_code(position),
            volatility=reading.volatilities.get(pool.pool_id),
            principal_usd=_worth(units, position.amount0, position.amount1),
            fees_usd=None if apart is None else _worth(units, position.fees0, position.fees1),
            withdrawn_usd=None if apart is None else _worth(units, *apart),
            waiting_usd=_worth(units, *position.collectable),
            collect_usd=reading.collect_usd.get(position.ref),
            price_difference=units.difference,
            loss=reading.losses.shares.get(position.ref),
        )

    def _pool(self, pool: PoolSnapshot) -> tuple[Pair, _Units]:
        tokens, key = self._reading.tokens, pool.key
        pair = pair_of(
            self._network, tokens[key.currency0], tokens[key.currency1], pool.sqrt_price_x96
        )
        sources = [
            self._reading.prices.prices.get(address) for address in (key.currency0, key.currency1)
        ]
        apart = [None if source is None else source.difference for source in sources]
        difference = max((float(share) for share in apart if share is not None), default=None)
        return pair, _Units(self._usd(key.currency0), self._usd(key.currency1), difference)

    def _usd(self, address: Address) -> float | None:
        token = self._reading.tokens[address]
        price = self._reading.prices.price(address)
        if token.decimals is None or isinstance(price, Unknown):
            return None
        return float(price.value / 10**token.decimals)


def _worth(units: _Units, amount0: int, amount1: int) -> float | None:
    if (amount0 and units.usd0 is None) or (amount1 and units.usd1 is None):
        return None
    return amount0 * (units.usd0 or 0.0) + amount1 * (units.usd1 or 0.0)


def _kinds(found: Iterable[Finding]) -> set[str]:
    return {finding.kind for finding in found}


_NOTHING: Attached = NothingAttached()
_NO_FEATURES: Mapping[str, FeatureAlert] = {}


class FollowedPosition(NamedTuple):
    """A position's way since it was last looked at."""

    position: PositionSnapshot
    thresholds: Thresholds
    before: Baseline | None
    """None when it is met for the first time."""
    course: RangeTimeline


class AlertJudgment(Struct, frozen=True):
    changes: tuple[Change, ...]
    baselines: Mapping[PositionRef, str | None]
    """What is to be compared with from now on, as documents; None for what is gone."""


def follow_positions(
    network: Network, reading: Reading, state: WatchState, settings: WatchSettings
) -> dict[PositionRef, FollowedPosition]:
    """Every position with liquidity, with each turn of its price since the cursor, and those that
    are empty while something waits to be collected."""
    cursor = state.cursor
    head = reading.block.number
    followed: dict[PositionRef, FollowedPosition] = {}
    for position in reading.wallet.positions:
        if not position.liquidity and not any(position.collectable):
            continue
        ref, identity = position.ref, position.identity
        thresholds = settings.thresholds(network.name, ref)
        bounds = bounds_of(identity.tick_lower, identity.tick_upper, thresholds, network)
        before = read_baseline(state.baselines.get(ref))
        if before is None or reading.ticks is None or cursor is None or not position.liquidity:
            # The watch begins here: what was before is not its to tell.
            course = RangeTimeline(first_standing(bounds, position.pool.tick), ())
        else:
            ticks = reading.ticks.of_pools.get(identity.pool_id, ())
            course = _course(bounds, before, ticks, cursor.block, head)
            if not agrees(bounds, course.standing, position.pool.tick):
                if reading.ticks.since.number == cursor.block:
                    raise Malformed(
                        "swaps that do not lead to the pool's price", endpoint="The RPC"
                    )
                # Where it stood was so in blocks that are no longer: the head alone is sure.
                course = RangeTimeline(first_standing(bounds, position.pool.tick), ())
        followed[ref] = FollowedPosition(position, thresholds, before, course)
    return followed


def depth_references(
    network: Network, state: WatchState, settings: WatchSettings
) -> dict[PositionRef, DepthReference]:
    """Where each watched position's pool was measured, and from when on it looks drained."""
    found: dict[PositionRef, DepthReference] = {}
    for ref in state.baselines.keys() - {WALLET}:
        baseline = read_baseline(state.baselines[ref])
        if baseline is None or baseline.others_tick is None:
            continue
        drained = settings.thresholds(network.name, ref).drained
        left = baseline.others * (1 - drained * risks.CALMER_DEPTH)
        found[ref] = DepthReference(baseline.others_tick, int(left))
    return found


def _course(
    bounds: RangeBounds, before: Baseline, ticks: Sequence[tuple[int, int]], told: int, head: int
) -> RangeTimeline:
    """Blocks that were told once, and were replaced since, are followed without telling again."""
    if not ticks and before.standing.back_since is None:
        return RangeTimeline(before.standing, ())
    again = [BlockTick(*tick) for tick in ticks if tick[0] <= told]
    new = [BlockTick(*tick) for tick in ticks if tick[0] > told]
    if not again:
        return follow(bounds, before.standing, new, head)
    replaced = follow(bounds, before.standing, again, told)
    differs = replaced.standing.out != before.standing.out
    course = follow(bounds, replaced.standing, new, head)
    return RangeTimeline(
        course.standing, (*(replaced.turns[-1:] if differs else ()), *course.turns)
    )


def turn_blocks(followed: Mapping[PositionRef, FollowedPosition]) -> set[int]:
    return {turn.block for timeline in followed.values() for turn in timeline.course.turns}


def judge(
    network: Network,
    place: WatchPlace,
    reading: Reading,
    *,
    followed: Mapping[PositionRef, FollowedPosition],
    times: Mapping[int, int],
    baselines: Mapping[PositionRef, str],
    alerts: Iterable[Alert],
    attached: Attached | None = _NOTHING,
    of_features: Mapping[str, FeatureAlert] = _NO_FEATURES,
) -> AlertJudgment:
    """All changes in the order they happened, given when each turn's block was made.

    Where what is attached could not be read, alerts about it stay as they are.
    """
    judging = _Judging(
        network, place, reading, times, alerts, attached=attached, of_features=of_features
    )
    changes: list[Change] = []
    later: dict[PositionRef, str | None] = {}
    emptied = {ref: each for ref, each in followed.items() if not each.position.liquidity}
    for ref, situation in followed.items():
        if ref in emptied:
            continue
        told, baseline = judging.position(situation)
        changes += told
        if baseline != situation.before:
            later[ref] = baseline.document()
    changes.sort(key=lambda change: change.block or 0)
    changes += judging.changes_of_gone(followed.keys() - emptied.keys(), emptied, baselines, later)
    changes += judging.wallet(baselines, later)
    return AlertJudgment(tuple(changes), later)


class _Judging:
    """One reading against the alerts that stand."""

    def __init__(
        self,
        network: Network,
        place: WatchPlace,
        reading: Reading,
        times: Mapping[int, int],
        alerts: Iterable[Alert],
        *,
        attached: Attached | None,
        of_features: Mapping[str, FeatureAlert],
    ) -> None:
        self._attached = attached or _NOTHING
        self._attached_refs = self._attached.refs(place.wallet_address)
        self._attached_is_known = attached is not None
        self._of_features = of_features
        self._network = network
        self._place = place
        self._reading = reading
        self._times = times
        self._head = reading.block.number
        self._now = float(reading.block.timestamp)
        self._valuing = Valuing(network, reading)
        self._standing: dict[PositionRef | None, dict[str, Alert]] = defaultdict(dict)
        for alert in alerts:
            here = alert.chain_id == place.chain_id
            if here and alert.active and alert.wallet_address == place.wallet_address:
                self._standing[alert.position_id][alert.kind] = alert

    def position(self, followed: FollowedPosition) -> tuple[list[Change], Baseline]:
        position, course = followed.position, followed.course
        ref = position.ref
        standing = self._standing.get(ref, {})
        baseline = self._accepted(followed, standing)
        there = self._others_there(position, baseline)
        situation = self._valuing.situation(
            position, course.standing, self._out_since(followed, standing), baseline, there
        )
        changes: list[Change] = []
        for turn in course.turns:
            time = float(self._times[turn.block])
            if turn.began and turn.tick is not None:
                left = risks.find_exit(situation, turn.tick, turn.block)
                changes.append(self._raised(ref, left, turn.block, time))
            else:
                over = RULES[AlertKind.OUT_OF_RANGE].resolved
                subject = self._subject(ref, AlertKind.OUT_OF_RANGE)
                changes.append(Cleared(subject, turn.block, time, over))
        found = findings(situation, followed.thresholds, standing)
        if ref in self._attached_refs:
            found += self._attached.findings(situation, followed.thresholds, standing)
        changes += [self._raised(ref, each) for each in found]
        kinds = _kinds(found)
        for kind in standing:
            unknown = kind == AlertKind.LOSS_LEVEL and loss_is_unknown(
                situation, followed.thresholds
            )
            if kind not in kinds and not unknown and self._is_judged(kind):
                changes.append(self._cleared(ref, kind, self._resolved(kind)))
        drained = AlertKind.POOL_DRAINED in kinds
        measured = self._reading.reference_depths.get(ref)
        return changes, baseline.follow_position(
            position, course.standing, drained=drained, others_there=measured
        )

    def _waits(self, followed: FollowedPosition) -> list[Finding]:
        """What is the matter with a position that is empty, but for what it is owed."""
        ref, course = followed.position.ref, followed.course
        standing = self._standing.get(ref, {})
        situation = self._valuing.situation(
            followed.position, course.standing, None, self._accepted(followed, {}), None
        )
        found = (
            judge_kind(kind, situation, followed.thresholds, kind in standing)
            for kind in risks.WHILE_EMPTY
        )
        return [finding for finding in found if finding is not None]

    def changes_of_gone(
        self,
        followed: AbstractSet[PositionRef],
        emptied: Mapping[PositionRef, FollowedPosition],
        baselines: Mapping[PositionRef, str],
        later: dict[PositionRef, str | None],
    ) -> Iterator[Change]:
        """Positions that were watched, or have alerts, and hold nothing here any more, but for
        what waits to be collected."""
        wallet = self._reading.wallet
        if not wallet.complete:
            return
        held = {position.ref for position in wallet.positions}
        watched = baselines.keys() - {WALLET}
        with_alerts = {ref for ref in self._standing if ref is not None}
        attached = self._attached_refs
        for ref in sorted((watched | with_alerts | attached | emptied.keys()) - followed):
            standing = self._standing.get(ref, {})
            owner = self._reading.owners_of_gone.get(ref)
            if ref in baselines:
                later[ref] = None
            if owner is not None and ref in watched:
                lost = risks.owner_changed(self._network, ref, owner)
                yield self._raised(ref, lost)
            found = self._waits(emptied[ref]) if ref in emptied else []
            if ref in attached:
                found += self._attached.of_gone(self._network, ref)
            yield from (self._raised(ref, each) for each in found)
            over = {kind: alert for kind, alert in standing.items() if kind not in _kinds(found)}
            why = "the position was emptied" if ref in held else "the position left the wallet"
            for kind, alert in over.items():
                feature = self._of_features.get(kind)
                if feature is not None and feature.found is not Found.OF_POSITION:
                    if self._is_judged(kind):
                        yield self._cleared(ref, kind, feature.resolved)
                elif kind != AlertKind.OWNER_CHANGED:
                    yield self._cleared(ref, kind, why)
                elif alert.state is AlertState.ACKED or ref in held:
                    yield self._cleared(ref, kind, "it is back, or its loss was accepted")

    def _is_judged(self, kind: str) -> bool:
        """Whether this look says if it still stands."""
        feature = self._of_features.get(kind)
        if feature is None:
            return kind in RULES
        return self._attached_is_known and feature.found in (Found.OF_POSITION, Found.OF_GONE)

    def _resolved(self, kind: str) -> str:
        feature = self._of_features.get(kind)
        return RULES[kind].resolved if feature is None else feature.resolved

    def wallet(
        self,
        baselines: Mapping[PositionRef, str],
        later: dict[PositionRef, str | None],
    ) -> Iterator[Change]:
        """What concerns all positions at once."""
        standing = self._standing.get(None, {})
        now = sorted(self._reading.wallet.operators)
        known = before = read_operators(baselines.get(WALLET))
        alert = standing.get(AlertKind.APPROVAL_CHANGED)
        if before is None or (alert is not None and alert.state is AlertState.ACKED):
            before = now
        if known != before:
            later[WALLET] = operators_document(before)
        changed = risks.operators_changed(self._network, before, now)
        if changed is not None:
            yield self._raised(None, changed)
        elif alert is not None:
            yield self._cleared(None, alert.kind, RULES[AlertKind.APPROVAL_CHANGED].resolved)
        if AlertKind.BLIND in standing:
            yield self._cleared(None, AlertKind.BLIND, RULES[AlertKind.BLIND].resolved)

    def _accepted(self, followed: FollowedPosition, standing: Mapping[str, Alert]) -> Baseline:
        """What the position is compared with: acknowledging a change accepts it."""
        position = followed.position
        code_of = self._reading.hook_code
        baseline = followed.before or Baseline.of(
            position, followed.course.standing, code_of(position)
        )
        for kind, alert in standing.items():
            if alert.state is not AlertState.ACKED:
                continue
            rule = RULES.get(kind)
            if kind == AlertKind.HOOK_CHANGED:
                baseline = replace(baseline, hook_code=code_of(position))
            elif rule is not None and rule.accept is not None:
                baseline = rule.accept(baseline, position)
        return baseline

    def _others_there(self, position: PositionSnapshot, baseline: Baseline) -> int | None:
        if baseline.others_tick is None:
            return None
        # Where nothing was measured, the price did not move, or the pool is deep enough here.
        return self._reading.reference_depths.get(position.ref, others_in(position))

    def _out_since(self, followed: FollowedPosition, standing: Mapping[str, Alert]) -> float | None:
        if not followed.course.standing.out:
            return None
        if followed.course.turns:
            return float(self._times[followed.course.turns[-1].block])
        alert = standing.get(AlertKind.OUT_OF_RANGE)
        return self._now if alert is None else alert.since

    def _raised(
        self,
        ref: PositionRef | None,
        finding: Finding,
        block: int | None = None,
        time: float | None = None,
    ) -> Raised:
        return Raised(
            self._subject(ref, finding.kind),
            self._network.name,
            finding,
            self._head if block is None else block,
            self._now if time is None else time,
        )

    def _cleared(self, ref: PositionRef | None, kind: str, why: str) -> Cleared:
        return Cleared(self._subject(ref, kind), self._head, self._now, why)

    def _subject(self, ref: PositionRef | None, kind: str) -> AlertSubject:
        return AlertSubject(self._place.chain_id, self._place.wallet_address, ref, kind)
