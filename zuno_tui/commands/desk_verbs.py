"""What can be asked of the desk itself: alerts, pages, network, wallet, market, help, quit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from zuno_tui.commands.intents import (
    ALL_ALERTS,
    Acknowledge,
    Cancel,
    ChangePosition,
    Help,
    MuteAlert,
    Quit,
    Refresh,
    SetMarketClock,
    Show,
    ShowPage,
    SwitchNetwork,
    UseWallet,
)
from zuno_tui.commands.verb import Verb
from zuno_tui.phrases.named_networks import network_called, network_names
from zuno_tui.phrases.pieces import listed, read_duration, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from zuno_tui.commands.intents import Intent, PageName
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.remaining import Remaining

_ALERT = re.compile(r"#?[0-9]{1,18}", re.ASCII)
_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{40}", re.ASCII)
_ENS_NAME = re.compile(r"[^\s.]+(?:\.[^\s.]+)*\.[^\s.0-9]{2,}")
_NAME = re.compile(r"0[xX][0-9a-fA-F]{40}|[A-Za-z][A-Za-z0-9.₮]{1,23}")
_MUTED_SECONDS = 3600
_MOST_OFFERED = 6


def _has_alerts(context: PhraseContext) -> bool:
    return bool(context.alerts)


def _has_market(context: PhraseContext) -> bool:
    return context.has_market


def _alerts(said: Remaining) -> Show:
    said.end("all", "latest", "recent")
    return Show("alerts")


def _acknowledge(said: Remaining) -> Acknowledge:
    alert_id = _alert(said)
    said.end("alert", "alerts")
    return Acknowledge(alert_id)


def _mute(said: Remaining) -> MuteAlert:
    before, _, duration = said.text.lower().partition(" for ")
    said = said.restarted(before)
    alert_id = _alert(said)
    said.end("alert", "alerts")
    seconds = read_duration(duration) if duration else _MUTED_SECONDS
    if seconds is None:
        said.refuse(f"for how long is '{duration}'.", f"mute {alert_id} for 2h")
    return MuteAlert(alert_id, seconds)


def _alert(said: Remaining) -> str:
    if (named := said.matching(_ALERT)) is not None:
        return named.removeprefix("#")
    if every := said.one_of({"all": ALL_ALERTS, "everything": ALL_ALERTS}):
        return every
    context = said.context
    pointed = context.selected_alert
    if pointed is None and len(context.alerts) == 1:
        pointed = context.alerts[0]
    if not said.points() or pointed is None:
        shown = context.alerts[:_MOST_OFFERED]
        told = f" There are {listed(shown)}." if len(shown) > 1 else ""
        said.refuse(f"which alert.{told}", f"{said.verb} {pointed or (*shown, '1')[0]}")
    return pointed


def _page(name: PageName, *fillers: str) -> Callable[[Remaining], ShowPage]:
    def read(said: Remaining) -> ShowPage:
        said.end("all", *fillers)
        return ShowPage(name)

    return read


def _revoke(said: Remaining) -> Intent:
    """Alone it only lists; with a token and who may spend it, it prepares taking that back."""
    if said.one_of({"all": True, "everything": True}):
        said.end()
        return ChangePosition("revoke", ("--all",))
    named = tuple(filter(None, (said.matching(_NAME), said.matching(_NAME))))
    said.end()
    return ChangePosition("revoke", named) if named else ShowPage("revoke")


def _settings(said: Remaining) -> Show:
    said.end()
    return Show("settings")


def _switch(said: Remaining) -> Intent:
    if (name := said.matching(_ENS_NAME)) is not None:
        said.end("wallet", "address", "account")
        return UseWallet(name.lower())
    words = [word for word in said.text.lower().split() if word not in _BESIDE_NETWORK]
    names = network_names()
    if not words:
        said.refuse(f"which network. Known: {', '.join(names)}.", "switch to base")
    network = network_called(words)
    if network is None:
        wanted = " ".join(words)
        said.refuse(f"the network {unknown([wanted], names)}. Known: {', '.join(names)}.")
    return SwitchNetwork(network.name)


_BESIDE_NETWORK = frozenset(("to", "the", "network", "chain", "on", "please"))


def _use(said: Remaining) -> Intent:
    if (address := said.matching(_ADDRESS)) is not None:
        said.end("wallet", "address", "account")
        return UseWallet(address.lower())
    return _switch(said)


def _wallet(said: Remaining) -> UseWallet:
    address = said.matching(_ADDRESS) or said.matching(_ENS_NAME)
    if address is None:
        said.refuse("which address: 0x and 40 hexadecimal digits, or an ENS name.", "settings")
    said.end("address", "account", "use")
    return UseWallet(address.lower())


def _market(
    action: Literal["pause", "resume", "step", "faster", "slower"],
) -> Callable[[Remaining], SetMarketClock]:
    def read(said: Remaining) -> SetMarketClock:
        said.end("market", "demo", "time", "clock", "go", "one")
        if not said.context.has_market:
            said.refuse("of what: only the demo's market has a clock to turn.", "help demo")
        return SetMarketClock(action)

    return read


def _refresh(said: Remaining) -> Refresh:
    said.end("everything", "all", "positions", "screen")
    return Refresh()


def _cancel(said: Remaining) -> Cancel:
    job = said.one_of({"debate": "debate", "replay": "replay"})
    said.points()
    said.end("work", "job")
    return Cancel(job)


def _help(said: Remaining) -> Help:
    topic = said.text.lower()
    return Help(topic or None)


def _quit(said: Remaining) -> Quit:
    said.end("zuno", "desk")
    return Quit()


DESK_VERBS = (
    Verb(
        "alerts",
        "alerts",
        "what the monitor has found",
        _alerts,
        spoken=("show alerts", "list alerts", "what needs attention", "what happened"),
    ),
    Verb(
        "ack",
        "ack ALERT",
        "take note of an alert",
        _acknowledge,
        spoken=("acknowledge",),
        names="alerts",
        possible=_has_alerts,
    ),
    Verb(
        "mute",
        "mute ALERT [for 2h]",
        "keep an alert quiet for a while",
        _mute,
        spoken=("snooze", "silence"),
        names="alerts",
        possible=_has_alerts,
    ),
    Verb(
        "balances",
        "balances",
        "what the wallet holds",
        _page("balances", "token"),
        spoken=("balance", "show balances", "portfolio", "what do i hold", "what do i have"),
    ),
    Verb(
        "pools",
        "pools",
        "pools of the network's tokens",
        _page("pools"),
        spoken=("show pools", "list pools"),
    ),
    Verb("doctor", "doctor", "check everything zuno depends on", _page("doctor")),
    Verb(
        "exit drill",
        "exit drill",
        "try leaving every position now; send nothing",
        _page("exit-drill"),
        spoken=("exit-drill", "drill"),
    ),
    Verb(
        "revoke",
        "revoke [all | TOKEN [SPENDER]]",
        "leftover permissions, and taking one back",
        _revoke,
        spoken=("allowances", "show allowances", "permissions", "show permissions"),
        money=True,
    ),
    Verb(
        "locate",
        "locate",
        "where zuno keeps its files",
        _page("locate", "files", "are"),
        spoken=("where are my files", "files"),
    ),
    Verb(
        "settings",
        "settings",
        "what is chosen, and where it is written",
        _settings,
        spoken=("show settings", "preferences"),
    ),
    Verb(
        "switch to",
        "switch to NETWORK",
        "look at another network",
        _switch,
        spoken=("switch", "switch network", "change network", "network"),
        names="networks",
    ),
    Verb(
        "use",
        "use ADDRESS|NETWORK",
        "look at another wallet or network",
        _use,
        names="networks",
    ),
    Verb("watch", "watch ADDRESS", "look at another wallet", _wallet, spoken=("wallet",)),
    Verb("pause", "pause", "stop the demo's market", _market("pause"), possible=_has_market),
    Verb(
        "resume",
        "resume",
        "let the demo's market run again",
        _market("resume"),
        spoken=("continue", "unpause"),
        possible=_has_market,
    ),
    Verb("step", "step", "one block of the demo's market", _market("step"), possible=_has_market),
    Verb("faster", "faster", "a faster market", _market("faster"), possible=_has_market),
    Verb("slower", "slower", "a slower market", _market("slower"), possible=_has_market),
    Verb("refresh", "refresh", "read everything again", _refresh, spoken=("reload", "update")),
    Verb(
        "cancel",
        "cancel",
        "end the work that is under way",
        _cancel,
        spoken=("stop", "abort"),
    ),
    Verb(
        "help",
        "help [VERB]",
        "what can be typed, and which keys there are",
        _help,
        spoken=("?", "hi", "hello", "hey", "what can i do", "what can you do", "how"),
    ),
    Verb("quit", "quit", "close the desk", _quit, spoken=("exit", "bye", "goodbye", ":q", "q")),
)
