"""What a sentence would change only fills the line: with that command, or with none."""

import contextlib
import io
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest

from tests.samples import some_of
from tools.phrase_report import DESK, desk_of, list_names, recorded
from zuno_tui.catalog.interpret import FilledLine, interpret, understand
from zuno_tui.catalog.registry import registry
from zuno_tui.catalog.typed_line import may_look
from zuno_tui.cli.parser import build_parser
from zuno_tui.features.orders.intents import CancelOrders, ListOrders
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import ChangeSetting, Doctor
from zuno_tui.intents.phrase_error import Misunderstood, NotReadYetError
from zuno_tui.prompt.sentences import filling_verbs
from zuno_tui.prompt.words import grammar, tokens_of

ORDERS = (
    "shut 26 down",
    "claim all",
    "add 500 usdc to 27",
    "take half out of 26",
    "remove 25% from 33",
    "sell 0.5 weth for usdc",
    "exit the out of range ones",
)
NO_ORDERS = """
don't {}|please don't {} yet|never {}|i do not want you to {}|you shouldn't {}|not {}|no need to {}
{} if eth drops below 2900|when eth hits 3500 {}|{} once gas is cheap|{} unless eth pumps
{} tomorrow|remind me to {}|wait until friday then {}|{} every day
should i {}|is it a good idea to {}|would you {}?
{}?|how do i {}|can you explain how to {}|what if i {}|how much would i get if i {}|did you {}?
why did you {}
"""


def _filled(phrase: str, context: PhraseContext = DESK) -> tuple[str, ...]:
    meant = understand(phrase, context, registry())
    return (meant.line, *meant.others) if isinstance(meant, FilledLine) else ()


@pytest.mark.parametrize(
    ("phrase", "lines"),
    [
        ("take half out of 26", ("decrease 26 50",)),
        ("get me out of 29 below 2900", ("order close 29 below 2900",)),
        ("stop loss 5% on 29", ("order close 29 loss-over 5%",)),
        ("take profit at 3400 on 29", ("order close 29 above 3400",)),
        ("close 29 if it drops under 2,800", ("order close 29 below 2800",)),
        ("shut 27 down if eth drops below 2900", ("order close 27 below 2900",)),
        ("exit the wbtc/weth pool", ("close 37",)),
        ("grab the fees from my biggest position", ("collect 29",)),
        ("put what 33 earned back into 33", ("compound 33",)),
        ("throw another 2k usdc in 29", ("increase 29 2000 USDC",)),
        ("can you put 38 between 2.8k and 3.4k", ("move 38 2800 3400",)),
        ("set 27 to -8% / +12%", ("move 27 2852 3472",)),
        ("buy weth with 400 usdc", ("swap 400 USDC WETH",)),
        ("buy wrapped eth with 100 usdc", ("swap 100 USDC WETH",)),
        ("turn 0.3 wrapped eth into plain eth", ("unwrap 0.3",)),
        ("half an eth from wrapped to normal", ("unwrap 0.5",)),
        ("make 2 eth into wrapped eth", ("wrap 2",)),
        ("make 2 eth into weth", ("wrap 2",)),
        ("turn 0.2 weth back to eth", ("unwrap 0.2",)),
        ("lmk when btc > 120k", ("alert WBTC above 120000",)),
        ("stop bugging me about 30", ("mute 1 for 1h",)),
        ("take me to arbitrum", ("switch to arbitrum",)),
        ("keep an eye on 30 and 36 for me", ("watch-ids 30 36",)),
        (
            "deploy 10000 usdt with usdc, conservative pls",
            ("create 10000 USDT with USDC conservative",),
        ),
        ("colect 33 plz", ("collect 33",)),
        ("can you wihtdraw half of 27", ("decrease 27 50",)),
        ("unwind 50% of the short on 35", ("unhedge 35 50%",)),
        ("lift half of the hedge on 27", ("unhedge 27 50%",)),
        ("stick 1 weth in a weth/usdc 0.05% pool", ("create 1 WETH with USDC 0.05%",)),
        ("cover a quarter of my short on 27", ("unhedge 27 25%",)),
        ("deploy 2 weth into a weth/usdc position", ("create 2 WETH with USDC",)),
        ("wake me up if eth crashes below 1900", ("alert ETH below 1900",)),
        ("sell 27 if eth falls under 2500", ("order close 27 below 2500",)),
        ("cancel all my orders", ("cancel orders",)),
        ("use the dark theme", ("setting screen.theme zuno-dark",)),
        ("show amounts in dollars", ("setting unit usd",)),
        ("get my fees from 36 and 30", ("collect 36 30",)),
        ("collect 27, close 36", ("collect 27", "close 36")),
        (
            "close all but the stable one",
            ("close 26 27 30 31 33 34 35 36 37 38",),
        ),
        ("close 30 and 36 but not 35", ("close 30 36",)),
        ("claim 35 not 36", ("collect 35",)),
        ("pull 100% of 29", ("close 29",)),
        ("keep only half of 27", ("decrease 27 50",)),
        ("reduce 27 to a quarter", ("decrease 27 75",)),
        ("recenter 30 without swapping", ("move 30 --no-swap",)),
        ("close everything but keep 29", ("close 26 27 30 31 33 34 35 36 37 38",)),
        (
            "start a position with 1 eth against usdc, stay long",
            ("create 1 ETH with USDC stay long",),
        ),
        (
            "close 27 and 33 below 2700",
            ("order close 27 below 2700", "order close 33 below 2700"),
        ),
        ("once i've lost more than 5 percent on 29 get me out", ("order close 29 loss-over 5%",)),
        (
            "close 27 below 2700 until 1 dec, hold 2h",
            ("order close 27 below 2700 until 1 dec --hold 2h",),
        ),
        ("if eth breaks below 2500 get me out of 27", ("order close 27 below 2500",)),
        (
            "compound 33 weekly, 4 times, only if over $20",
            ("order compound 33 every 7d over $20 times 4",),
        ),
        ("collect 33 every 3 days over $75", ("order collect 33 every 3d over $75",)),
        (
            "follow the price up to 3500 with 27, 2 moves, until 15 jan",
            ("order move 27 up to 3500 until 15 jan --follow 2",),
        ),
        ("use wallet cold", ("wallet use cold",)),
        ("let my orders run again", ("orders go",)),
        ("kill order 3", ("cancel order 3",)),
        ("revoke usdc approval for permit2", ("revoke USDC Permit2",)),
        ("export the plan as a raw list for my trezor", ("export --format raw",)),
    ],
)
def test_a_sentence_fills_the_line_with_its_exact_command(
    phrase: str, lines: tuple[str, ...]
) -> None:
    assert _filled(phrase) == lines


@pytest.mark.parametrize(
    ("phrase", "line"),
    [
        ("give me a koinly csv for 2025", "--format koinly --from 2025-01-01 --to 2025-12-31"),
        ("history 27 between 2026-02-01 and 2026-03-31", "27 --from 2026-02-01 --to 2026-03-31"),
        ("tax csv since 2026-01-01, wallet cold", "--wallet cold --csv --from 2026-01-01"),
    ],
)
def test_a_history_is_of_the_days_the_program_and_the_wallet_that_are_named(
    phrase: str, line: str
) -> None:
    assert interpret(phrase, DESK, registry()).lines == (f"history {line}",)


@pytest.mark.parametrize(
    ("phrase", "command"),
    [
        ("make a new wallet", "zuno wallet new"),
        ("invite a scout to the mesh", "zuno mesh invite scout"),
        ("start the monitor", "zuno monitor"),
        ("list my wallets", "zuno wallet list"),
        ("which wallet am i using", "zuno wallet list"),
        ("can i see it in the browser", "zuno serve"),
    ],
)
def test_a_command_of_the_shell_is_named(phrase: str, command: str) -> None:
    meant = understand(phrase, DESK, registry())

    assert isinstance(meant, Misunderstood)
    assert f"`{command}`" in meant.sentence


ASKS = "asks"


@pytest.mark.parametrize(
    ("phrase", "meant"),
    [
        ("close everything but the btc ones", "close 27 29 30 31 33 34 35 36 38"),
        ("close everything other than the btc ones", "close 27 29 30 31 33 34 35 36 38"),
        ("close everything except the stable pair", "close 26 27 30 31 33 34 35 36 37 38"),
        ("close all but the btc and stable ones", "close 27 30 31 33 34 35 36 38"),
        ("close all but 27 and the stable pair", "close 26 30 31 33 34 35 36 37 38"),
        ("close all but the dai ones", ASKS),
        ("close all but 29", "close 26 27 30 31 33 34 35 36 37 38"),
        ("close 36 unless eth is above 3000", ASKS),
        ("close 27 unless btc falls under 90000", ASKS),
        ("close 30 unless it is back in range", ASKS),
        ("alert me unless eth is above 3000", ASKS),
        ("close 36 if eth is not above 3000", ASKS),
        ("close 30 at midnight", ASKS),
        ("close 30 in an hour", ASKS),
        ("close 30 in two days", ASKS),
        ("close 30 at 5pm", ASKS),
        ("close 30 at 17:30", ASKS),
        ("swap 1 weth usdc at noon", ASKS),
        ("swap 1 weth to usdc in 20 minutes", ASKS),
        ("close 27 below 2900 at noon", ASKS),
        ("reinvest fees of 33-35", ASKS),
        ("close 33-35", ASKS),
        ("close 33 to 36", ASKS),
        ("claim 33 through 36", ASKS),
        ("collect 26-27", "collect 26 27"),
        ("watch only 26 37", "watch-ids 26 37"),
        ("increase 27: 1 weth", "increase 27 1 WETH"),
        ("remove alert 2", "alert remove 2"),
        ("remove price alert 1", "alert remove 1"),
        ("cancel alert 1", "alert remove 1"),
        ("remove alert 27", ASKS),
        ("dismiss alert 2", "ack 2"),
        ("pause all my orders", "orders stop"),
        ("pause orders", "orders stop"),
        ("resume my orders", "orders go"),
        ("pause orders for 2 hours", ASKS),
        ("stop all orders", ASKS),
        ("stop all my orders", ASKS),
        ("stop orders", ASKS),
        ("claim 33 as plain eth", ASKS),
        ("simulate option B", ASKS),
        ("simulate B", ASKS),
        ("close 27 when it has been out of range for 2 hours", "order close 27 out-of-range 2h"),
        ("close 27 if out of range for 90 minutes", "order close 27 out-of-range 90m"),
    ],
)
def test_nothing_is_turned_into_its_opposite(phrase: str, meant: str) -> None:
    found = interpret(phrase, DESK, registry())

    assert not found.runs
    if meant == ASKS:
        assert found.question is not None
        assert found.intents == ()
    else:
        assert _filled(phrase) == (meant,)


@pytest.mark.parametrize(
    ("phrase", "named"),
    [
        ("close 36 unless eth is above 3000", "unless eth is above 3000"),
        ("close 30 at 5pm", "5pm"),
        ("close 30 at 17:30", "17:30"),
        ("swap 1 weth usdc at noon", "noon"),
        ("close 33-35", "#33, #34 and #35"),
        ("claim 33 as plain eth", "as eth"),
    ],
)
def test_a_question_names_what_was_said(phrase: str, named: str) -> None:
    found = interpret(phrase, DESK, registry())

    assert named in (found.question or "")


def test_a_condition_on_a_coin_that_the_position_does_not_hold_is_asked_about() -> None:
    found = interpret("shut 26 down if eth drops below 2900", DESK, registry())

    assert found.intents == ()
    assert found.question is not None
    assert "What about ETH?" in found.question


def test_one_of_several_is_asked_for() -> None:
    assert _filled("close one of the out of range ones") == ()


def test_the_note_names_enter_and_every_other_line() -> None:
    alone, several = (understand(text, DESK, registry()) for text in ("exit 26", "halve 26 and 29"))

    assert isinstance(alone, FilledLine)
    assert alone.note == "Press Enter to run."
    assert isinstance(several, FilledLine)
    assert several.note == "Press Enter to run. Then: decrease 29 50."


@pytest.mark.parametrize("around", NO_ORDERS.strip().replace("\n", "|").split("|"))
def test_what_is_denied_asked_or_conditional_fills_no_line(around: str) -> None:
    filled = {
        phrase: lines
        for order in ORDERS
        for phrase in (around.format(order),)
        if (lines := _filled(phrase)) and lines[0].split()[0] in filling_verbs() - {"order"}
    }

    assert filled == {}


@pytest.mark.parametrize("order", ORDERS)
def test_the_same_words_as_an_order_fill_the_line(order: str) -> None:
    assert _filled(f"could you please {order}")


CLAUSES = {
    "collect {}": "collect {}",
    "close {}": "close {}",
    "take 10% from {}": "decrease {} 10",
    "add 500 usdc to {}": "increase {} 500 USDC",
    "move {} to 2900-3300": "move {} 2900 3300",
    "compound {}": "compound {}",
    "claim fees of {}": "collect {}",
    "exit {}": "close {}",
    **dict.fromkeys(
        (
            *(
                "show {}",
                "how is {}",
                "recommend {}",
                "don't close {}",
                "leave {} alone",
                "skip {}",
            ),
            *("should i close {}", "keep {}", "not {}", "rebalance {}", "is {} in range"),
        ),
        "",
    ),
}


JOINTS = (" and ", ", ", " but ", " ", " then ", " & ", ". ", "; ", " also ")


@pytest.mark.parametrize("join", some_of(zip(JOINTS, strict=True), 4, seed=44))
def test_no_position_gets_the_command_of_another(join: str) -> None:
    wrong = {
        phrase: others
        for (one, first), (two, second) in product(CLAUSES.items(), CLAUSES.items())
        for phrase in (one.format(27) + join + two.format(33),)
        if (others := _moving(phrase) - {first.format(27), second.format(33)})
    }

    assert wrong == {}


def _moving(phrase: str) -> set[str]:
    found = interpret(phrase, DESK, registry())
    lines = found.lines if found.intents else ()
    return {line for line in lines if line.split()[0] in filling_verbs()}


@pytest.mark.parametrize(
    "phrase",
    [
        "close 36, no wait, 30",
        "decrease 26 or 27 by 40%",
        "close 27 at 3300",
        "harvest everything above 100 dollars",
        "sell half my weth for usdc",
        "i have 2 eth, wrap half of it",
        "lp $3000 weth/usdc between 2950 and 3250",
        "i want 500 usdc for my weth",
        "i need 5k usdc from 29",
        "close 26?",
        "take some out of 37",
        "close the btc one",
        "withdraw usdc",
        "add to 38",
        "swap weth for 100 usdc",
        "withdraw 33 from 26",
        "close 26 i mean 27",
        "add -1 weth to 27",
        "remove all but 20% of 33",
        "take half of the fees of 26",
        "dump all my eth",
        "take a look at 27",
        "kill all allowances",
        "get 30 back in range",
        "close 26, then open 0.1 wbtc with usdc",
    ],
)
def test_where_something_would_be_dropped_or_turned_around_nothing_is_filled(phrase: str) -> None:
    assert _moving(phrase) == set()


@pytest.mark.parametrize(
    "phrase",
    [
        "do it",
        "yes",
        "sign it",
        "send it",
        "aply",
        "appply it",
        "apply all",
        "go",
        "lfg execute now",
    ],
)
def test_no_sentence_becomes_apply(phrase: str) -> None:
    found = interpret(phrase, DESK, registry())

    assert not found.intents
    assert not any("apply" in choice for choice in found.choices)


@cache
def _parser() -> ArgumentParser:
    return build_parser(registry().on_command_line())


def _is_command_line(line: str) -> bool:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            _parser().parse_args(shlex.split(line)[1:])
        except SystemExit as ended:
            return ended.code == 0
    return True


def _recorded_intents() -> Iterator[tuple[str, Intent, PhraseContext]]:
    for name in list_names():
        for record in recorded(name):
            with contextlib.suppress(NotReadYetError):
                found = interpret(record.phrase, desk_of(name), registry())
                lines = found.lines if found.intents else ()
                for line, intent in zip(lines, found.intents, strict=True):
                    yield line, intent, desk_of(name)


def test_every_filled_line_is_an_exact_command_of_the_prompt_and_of_the_shell() -> None:
    seen, wrong = set(), set()
    for line, intent, desk in _recorded_intents():
        shell = not intent.twin.startswith("zuno ") or _is_command_line(intent.twin)
        if not shell or understand(line, desk, registry()) != intent:
            wrong.add(line)
        seen.add(line)

    assert len(seen) > 300
    assert wrong == set()


def test_every_look_of_the_grammar_is_a_command_that_moves_nothing() -> None:
    commands = {command.name: command for command in registry().commands}
    money = {verb.name for verb in registry().verbs if verb.money} - {"outbox", "revoke"}

    assert grammar().looks.isdisjoint(money)
    for name in grammar().looks & commands.keys() - {"revoke", "hedge"}:
        assert commands[name].action is None, name


@pytest.mark.parametrize("phrase", ["revoke USDC permit2", "revoke all", "cancel transaction"])
def test_what_a_listing_command_changes_is_no_look(phrase: str) -> None:
    found = interpret(phrase, DESK, registry())

    assert [may_look(intent, registry()) for intent in found.intents] == [False]


def test_a_number_needs_no_positions_where_nobody_has_read_them() -> None:
    assert _filled("take half out of 26", PhraseContext()) == ("decrease 26 50",)


@pytest.mark.parametrize("phrase", ["claim all", "close my eth position"])
def test_what_depends_on_the_positions_waits_for_them(phrase: str) -> None:
    with pytest.raises(NotReadYetError):
        interpret(phrase, PhraseContext(), registry())
    assert isinstance(understand(phrase, PhraseContext(), registry()), Misunderstood)


@pytest.mark.parametrize(
    ("said", "number"),
    [("cancel order 2", 2), ("cancel my order 2", 2), ("cancel all my orders", "all")],
)
def test_an_order_is_cancelled_by_its_number(said: str, number: object) -> None:
    (intent,) = interpret(said, DESK, registry()).intents
    assert isinstance(intent, CancelOrders)
    assert intent.number == number


@pytest.mark.parametrize("said", ["cancel my order", "cancel the order", "cancel order two"])
def test_which_order_is_meant_is_never_guessed(said: str) -> None:
    intents = interpret(said, DESK, registry()).intents
    assert not any(isinstance(intent, CancelOrders) for intent in intents)


@pytest.mark.parametrize(
    ("phrase", "runs"),
    [
        ("reccomend 26", "zuno recommend 26"),
        ("could you recomend something for 30", "zuno recommend 30"),
        ("show standing orders", "zuno orders"),
        ("cancel my standing order", "zuno orders"),
        ("list open orders", "zuno orders"),
        ("show my hedges", "zuno trade status"),
        ("what did i make today", "zuno earned today"),
        ("range for 27: 2900 - 3300", "zuno range 27 2900 3300"),
        ("should i go short on btc", "zuno trade WBTC"),
    ],
)
def test_a_look_runs_at_once(phrase: str, runs: str) -> None:
    meant = understand(phrase, DESK, registry())

    assert not isinstance(meant, FilledLine | Misunderstood)
    assert meant.twin == runs
    assert may_look(meant, registry())


def test_a_token_for_another_closes_no_position() -> None:
    for phrase in ("dump all my usdt for usdc", "unload everything usdt into usdc"):
        assert _filled(phrase) == ()


def test_dollars_for_a_position_are_offered_in_what_follows_the_dollar() -> None:
    found = interpret("throw $300 more at 27", DESK, registry())

    assert found.intents == ()
    assert found.lines == ("increase 27 300 USDC",)


def test_a_misspelt_verb_is_mended_only_where_no_other_is_named_or_near() -> None:
    assert tokens_of("reccomend 26")[0].text == "recommend"
    assert tokens_of("show reccomend")[1].text == "reccomend"
    assert tokens_of("stxck 26")[0].text == "stxck"


def test_a_command_below_another_is_no_look_for_its_last_word() -> None:
    assert not may_look(CancelOrders("all"), registry())
    assert may_look(ListOrders(), registry())
    assert not may_look(ListOrders("go"), registry())
    assert may_look(Doctor(), registry())
    assert not may_look(Doctor(forget="0x" + 40 * "1"), registry())


def test_the_prompt_changes_only_how_things_are_shown() -> None:
    assert understand("setting unit eth", DESK, registry()) == ChangeSetting("unit", "eth")
    limits = understand("setting limits.daily_usd 5000", DESK, registry())
    assert isinstance(limits, Misunderstood)
    assert "The prompt changes unit, screen.theme" in limits.sentence


@pytest.mark.parametrize(
    "phrase",
    [
        *("unhedge all but 27", "wrap everything but 0.1 eth", "unwrap everything except 2 weth"),
        *("swap all but 1 weth for usdc", "mute all but 3", "ack all but 2", "stop closing 27"),
        *("cancel close 27", "abort closing 27", "undo close 27", "close 27 30 not 30"),
        *("close 27, 29 and 30 but keep 30", "reduce 27 by half a percent", "collect 26 to 29"),
        *("a third of a percent of 27 out", "collect fees from 7 every friday", "close 28 weekly"),
    ],
)
def test_no_line_does_the_opposite_of_what_is_said_or_more(phrase: str) -> None:
    assert _filled(phrase) == ()
