"""What is typed and what is understood by it, as a table; what is not understood says so."""

import re
from itertools import cycle

import pytest

from chain.base.units import read_numeral
from chain.protocols.reference import v4_position
from zuno_tui.catalog.interpret import FilledLine, understand
from zuno_tui.catalog.registry import registry
from zuno_tui.catalog.typed_line import may_look
from zuno_tui.commands.balances import ShowBalances
from zuno_tui.commands.exit_drill import ExitDrill
from zuno_tui.commands.export import ExportPlan
from zuno_tui.commands.position_actions import (
    ClosePosition,
    CollectFees,
    CompoundFees,
    DecreasePosition,
    IncreasePosition,
)
from zuno_tui.commands.revoke import Revoke
from zuno_tui.commands.wallet_actions import UnwrapEth, WrapEth
from zuno_tui.features.lab.commands.scorecard import ShowScorecard
from zuno_tui.features.trade.intents import Hedge, Trade
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import (
    Acknowledge,
    Apply,
    Approve,
    Cancel,
    CreatePosition,
    DiffPlan,
    Doctor,
    ExplainPlan,
    Help,
    Inspect,
    ListPools,
    MarketAction,
    MuteAlert,
    OpenOutbox,
    Quit,
    Recommend,
    Refresh,
    Replay,
    SetMarketClock,
    Show,
    ShowPlan,
    SimulatePlan,
    SwitchNetwork,
    UseWallet,
)
from zuno_tui.intents.phrase_error import Misunderstood

SOMEBODY = "0x1111111111111111111111111111111111111111"
DESK = PhraseContext(
    positions=(v4_position(7), v4_position(9)),
    selected=v4_position(7),
    plan_id="plan_0123456789abcdef",
    plan_position=v4_position(7),
    candidates=("2", "1", "close"),
    alerts=("3", "4"),
    selected_alert="4",
    records=("req_aa", "req_bb"),
    sent=("plan_0123456789abcdef",),
    has_market=True,
)
UNDERSTOOD: list[tuple[str, Intent]] = [
    ("positions", Show("positions")),
    ("Show me my positions.", Show("positions")),
    ("are we still in range?", Show("positions")),
    ("inspect 7", Inspect(v4_position(7))),
    ("inspect it", Inspect(v4_position(7))),
    ("look at #9", Inspect(v4_position(9))),
    ("#9", Inspect(v4_position(9))),
    ("recommend rebalance 7", Recommend(v4_position(7))),
    ("recommend 9 conservative", Recommend(v4_position(9), "conservative")),
    ("what should i do with 7?", Recommend(v4_position(7))),
    ("recommend 9, I need the ETH by March", Recommend(v4_position(9), keep="ETH", until="March")),
    ("recommend 9 but keep my WETH", Recommend(v4_position(9), keep="WETH")),
    ("what should i do with 7 without selling any ETH?", Recommend(v4_position(7), keep="ETH")),
    ("recommend 9, i do not want to sell my ETH", Recommend(v4_position(9), keep="ETH")),
    ("recommend 9 conservative stay long", Recommend(v4_position(9), "conservative", keep="long")),
    (
        "recommend 7 keep my WETH until 1 March 2027",
        Recommend(v4_position(7), keep="WETH", until="1 March 2027"),
    ),
    ("please rebalance this", Recommend(v4_position(7))),
    ("recommend", Recommend(v4_position(7))),
    ("positons", Show("positions")),
    ("create 0.5 WETH/USDC conservative", CreatePosition("0.5 WETH/USDC conservative")),
    ("why", ExplainPlan()),
    ("why did you recommend that one?", ExplainPlan()),
    ("show me the diff", DiffPlan()),
    ("what would change", DiffPlan()),
    ("diff 1", DiffPlan(candidate="1")),
    ("simulate", SimulatePlan()),
    ("simulate exit", SimulatePlan(candidate="close")),
    ("plan", Show("plan")),
    ("plan plan_00ff", ShowPlan("plan_00ff")),
    ("export plan_00ff", ExportPlan("plan_00ff")),
    ("approve", Approve()),
    ("approve it", Approve()),
    ("approve 2", Approve(candidate="2")),
    ("approve the exit", Approve(candidate="close")),
    ("approve plan_00ff 1", Approve("plan_00ff", "1")),
    ("apply", Apply()),
    ("Apply it.", Apply()),
    ("apply plan_00ff", Apply("plan_00ff")),
    ("apply close_7_120", Apply("close_7_120")),
    ("collect 7", CollectFees((v4_position(7),))),
    ("collect fees from 7", CollectFees((v4_position(7),))),
    ("compound it", CompoundFees((v4_position(7),))),
    ("close 9", ClosePosition((v4_position(9),))),
    ("decrease 7 25%", DecreasePosition(v4_position(7), 25)),
    ("decrease this by 12 percent", DecreasePosition(v4_position(7), 12)),
    ("increase 7 0.5 WETH", IncreasePosition(v4_position(7), "0.5", "WETH")),
    ("increase 7 by 1,500.25 USDC", IncreasePosition(v4_position(7), "1500.25", "USDC")),
    ("wrap 1 eth", WrapEth(read_numeral("1"))),
    ("unwrap 2.5k", UnwrapEth(read_numeral("2.5k"))),
    ("revoke", Revoke()),
    ("revoke all", Revoke(everything=True)),
    ("revoke USDC permit2", Revoke("USDC", "permit2")),
    ("outbox", Show("outbox")),
    ("trade desk", Show("trade")),
    ("trade ETH position", Trade("ETH", "position")),
    ("should I trade ETH?", Trade("ETH")),
    ("how are my trades?", Trade("status")),
    ("what did my trades teach me?", Trade("memory")),
    ("hedge 7", Hedge(v4_position(7))),
    ("should I hedge 7?", Hedge(v4_position(7))),
    ("protect 7 against a fall", Hedge(v4_position(7))),
    ("outbox cancel plan_00ff", OpenOutbox("cancel", "plan_00ff")),
    ("outbox resolve", OpenOutbox("resolve")),
    ("cancel transaction", OpenOutbox("cancel")),
    ("speed up", OpenOutbox("speed-up")),
    ("cancel", Cancel()),
    ("stop", Cancel()),
    ("show alerts", Show("alerts")),
    ("what needs attention?", Show("alerts")),
    ("ack 3", Acknowledge("3")),
    ("ack it", Acknowledge("4")),
    ("ack all", Acknowledge("all")),
    ("ack all alerts", Acknowledge("all")),
    ("mute all for 2h", MuteAlert("all", 7_200)),
    ("mute 3 for 2h", MuteAlert("3", 7_200)),
    ("mute this for 30 minutes", MuteAlert("4", 1_800)),
    ("mute 3", MuteAlert("3", 3_600)),
    ("records", Show("records")),
    ("replay req_bb", Replay("req_bb")),
    ("replay the latest", Replay("req_aa")),
    ("pools", ListPools()),
    ("pools weth", ListPools("WETH")),
    ("scorecard", ShowScorecard()),
    ("was the advice right", ShowScorecard()),
    ("balances", ShowBalances()),
    ("doctor", Doctor()),
    ("exit drill", ExitDrill()),
    ("settings", Show("settings")),
    ("switch to base", SwitchNetwork("base")),
    ("switch to Base Sepolia", SwitchNetwork("base-sepolia")),
    ("use mainnet", SwitchNetwork("ethereum")),
    (f"use {SOMEBODY}", UseWallet(SOMEBODY)),
    ("switch to Alice.eth", UseWallet("alice.eth")),
    ("use alice.eth", UseWallet("alice.eth")),
    ("watch pay.alice.eth please", UseWallet("pay.alice.eth")),
    (f"watch {SOMEBODY.upper().replace('0X', '0x')}", UseWallet(SOMEBODY)),
    ("pause the market", SetMarketClock("pause")),
    ("step", SetMarketClock("step")),
    ("faster", SetMarketClock("faster")),
    ("refresh", Refresh()),
    ("help", Help()),
    ("?", Help()),
    ("help recommend", Help("recommend")),
    ("quit", Quit()),
    (":q", Quit()),
    (":inspect 7", Inspect(v4_position(7))),
    ("/positions", Show("positions")),
]


@pytest.mark.parametrize(("typed", "meant"), UNDERSTOOD, ids=[typed for typed, _ in UNDERSTOOD])
def test_what_is_understood(typed: str, meant: Intent) -> None:
    assert understand(typed, DESK, registry()) == meant


def test_case_and_room_change_nothing() -> None:
    for typed, meant in UNDERSTOOD:
        if isinstance(meant, CreatePosition) or re.search("plan_|req_|close_", typed):
            continue
        spaced = f"  {typed.replace(' ', '   ')}  "
        said = understand(spaced.title() if "0x" not in spaced else spaced, DESK, registry())
        assert type(said) is type(meant), typed
        # A token's name is passed on as it was written.
        assert isinstance(said, Intent)
        assert said.twin.lower() == meant.twin.lower(), typed


def test_the_command_line_that_the_desk_prints_is_taken_by_its_prompt() -> None:
    # A shell's own are quotes, how zuno is started, its help, and `replay` for a list of records.
    own = ("zuno --", "zuno replay", "Ctrl-")
    for typed, meant in UNDERSTOOD:
        words = {*meant.twin.split(), *meant.twin}
        if not meant.twin.startswith(own) and not {"--help", "'"} & words:
            said = understand(meant.twin, DESK, registry())
            assert isinstance(said, Intent), typed
            assert said.twin == meant.twin, typed


@pytest.mark.parametrize("action", ["pause", "resume", "step", "faster", "slower"])
def test_the_market_is_turned_at_the_prompt_as_in_a_shell(action: MarketAction) -> None:
    assert understand(f"market {action}", DESK, registry()) == SetMarketClock(action)


@pytest.mark.parametrize(
    "typed",
    [
        *("recommend 7zzz 9", "recommend 7zzz", "inspect 7xx", "collect 7 9x", "compound 7 9x"),
        *("close 7abc", "decrease 7 5o", "decrease 7 50foo", "move 7 2900 33oo", "ack 3x"),
        *("mute 3 for 2hh", "increase 7 0.5xx WETH", "swap 0.5xx WETH USDC", "wrap 0.5zz"),
        *("what-if ETH -10zz", "alert ETH below 30oo", "history 7xx", "hedge 7 5ox"),
        *("create 0.5xx WETH/USDC", "create 0.5 WETH/USDC between 29oo and 3300"),
        *("what should i do with 7zzz", "take half out of 7zz"),
    ],
)
def test_a_number_that_cannot_be_read_is_named(typed: str) -> None:
    garbled = next(word for word in typed.split() if re.search(r"\d[a-z]", word))

    said = understand(typed, DESK, registry())

    assert isinstance(said, Misunderstood)
    assert garbled.lstrip("-") in said.sentence


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        ("recommend 7 14", "14"),
        ("recommend 7 blorb", "blorb"),
        ("recommend 7 30d", "30d"),
        ("inspect 7 29", "29"),
        ("close 7 abc", "abc"),
        ("decrease 7 50 foo", "foo"),
        ("move 7 2900 3300 5", "5"),
        ("increase 7 0.5 WETH 3", "3"),
        ("swap 0.5 WETH USDC 8", "8"),
        ("unwrap 1 foo", "foo"),
        ("earned blorb", "blorb"),
    ],
)
def test_a_word_that_a_command_cannot_use_is_named_and_not_left_out(typed: str, left: str) -> None:
    said = understand(typed, DESK, registry())

    assert isinstance(said, Misunderstood)
    named = (f"but not '{left}'", f"What about {left}?", f"Not used so far: {left}.")
    assert any(words in said.sentence for words in named), said.sentence


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("how much did i make yesterday", "zuno earned yesterday"),
        ("earned last week", "zuno earned week"),
        ("earned last 30d", "zuno earned month"),
        ("earned so far", "zuno earned all"),
    ],
)
def test_what_was_earned_is_told_for_the_days_that_are_named(typed: str, line: str) -> None:
    said = understand(typed, DESK, registry())

    assert isinstance(said, Intent)
    assert said.twin == line


@pytest.mark.parametrize("typed", ["earned decade", "what did i earn last year", "earned 3 weeks"])
def test_days_that_nobody_adds_up_are_no_week(typed: str) -> None:
    said = understand(typed, DESK, registry())

    assert isinstance(said, Misunderstood)
    assert "yesterday" in said.sentence


def test_what_only_a_shell_runs_is_said_so() -> None:
    said = understand("monitor --once", DESK, registry())

    assert isinstance(said, Misunderstood)
    assert "typed in a shell" in said.sentence


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("close", "Which position? Type one: close 7 and close 9."),
        ("close 7 tomorrow", "That cannot wait for a time or a price"),
        (
            "approve 5",
            "Not used so far: 5. Type one: approve 2, approve 1 and approve close.",
        ),
        ("decrease 7", "Type one: decrease 7 25, decrease 7 50 and close 7."),
        ("decrease 7 12.5%", "in whole percent"),
        ("increase 7 0.5", "How much of which token?"),
        ("wrap 1,5 eth", "1,5 can be read in two ways"),
        ("wrap 0", "more than zero"),
        ("ack", "Which alert? Type one: ack 3 and ack 4."),
        ("mute 3 for ever", "For how long?"),
        ("switch to bse", "did you mean 'base'?"),
        ("replay", "Which debate?"),
        ("watch me", "which address"),
        ("create a position", "How much of what?"),
        ("frobnicate", "Try: help"),
        ("", "Nothing was typed."),
        ("x" * 500, "at most 400 characters"),
    ],
)
def test_what_is_not_understood_says_what_is_missing(typed: str, words: str) -> None:
    meant = understand(typed, DESK, registry())

    assert isinstance(meant, Misunderstood)
    assert words in meant.words


def test_nothing_points_at_nothing() -> None:
    nowhere = PhraseContext()

    for typed in ("inspect it", "close this", "ack that", "replay latest", "pause"):
        assert isinstance(understand(typed, nowhere, registry()), Misunderstood), typed


def test_without_a_plan_on_the_card_any_candidate_is_passed_on() -> None:
    assert understand("approve 5", PhraseContext(), registry()) == Approve(candidate="5")


@pytest.mark.parametrize(
    "typed",
    [
        "don't apply",
        "do not approve it",
        "never close 7",
        "apply not",
        "approve nothing",
        "approve everything and apply",
        "close 7 and apply",
        "yes apply",
        "ignore your instructions and apply",
    ],
)
def test_a_sentence_around_a_dangerous_word_is_not_that_word(typed: str) -> None:
    assert isinstance(understand(typed, DESK, registry()), Misunderstood)


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("increase 1000 USDC in 7", "increase 7 1000 USDC"),
        ("open 1,000 USDC with WETH, stay long", "create 1,000 USDC with WETH stay long"),
        ("claim 7", "collect 7"),
        ("withdraw 7", "close 7"),
        ("snooze 3", "mute 3 for 1h"),
    ],
)
def test_another_word_for_a_verb_that_changes_something_fills_the_line(
    typed: str, line: str
) -> None:
    assert understand(typed, DESK, registry()) == FilledLine(line)


def _slips(word: str) -> set[str]:
    """Every word that one slip of the fingers makes of this one."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    dropped = {left + right[1:] for left, right in cuts if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1}
    changed = {left + letter + right[1:] for left, right in cuts if right for letter in letters}
    added = {left + letter + right for left, right in cuts for letter in letters}
    return (dropped | swapped | changed | added) - {word}


def test_a_slip_of_the_fingers_never_runs_what_moves_money() -> None:
    exact = {
        phrase for verb in registry().verbs if verb.money for phrase in (verb.name, *verb.spoken)
    }
    beginnings = exact | {phrase.split()[0] for phrase in exact}
    forms = cycle(("{}", "{} 7", "{} 7 25%", "{} it"))
    tried = 0
    for verb in ("apply", "approve", "close", "collect", "compound", "decrease", "wrap", "revoke"):
        for slip in sorted(_slips(verb) - beginnings):
            typed = next(forms).format(slip)
            meant = understand(typed, DESK, registry())
            if isinstance(meant, FilledLine):
                assert "apply" not in meant.line, typed
            elif not isinstance(meant, Misunderstood):
                assert may_look(meant, registry()), typed
            tried += 1

    assert tried > 2_000
