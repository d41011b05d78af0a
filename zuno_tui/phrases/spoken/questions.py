"""Sentences that only ask: lists, prices, gas, what was earned, what a word means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.glossary import term_named
from zuno_tui.phrases.named_networks import network_names
from zuno_tui.phrases.spoken.meaning import AnsweredPhrase, AskedBack, Rephrased

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning

_SYMBOL = r"(?P<symbol>[a-z][a-z0-9.]{1,23})"
_NO_SYMBOL = frozenset(
    (
        "total",
        "it",
        "this",
        "that",
        "everything",
        "portfolio",
        "position",
        "positions",
        "net",
        "all",
    )
)
_COMMON_NAMES = {"ether": "ETH", "ethereum": "ETH", "bitcoin": "BTC"}
_SHOW = r"(?:(?:show|list|display|see|view|give|print|check|get|what are|what is|where are|any) )?"
_PERIODS = (
    (r"today|(?:last |past )?24 ?(?:h|hours)|(?:last |past |this )day", "today"),
    (r"(?:this |last |past )?week|weekly|(?:last |past )?(?:7|seven) days", "week"),
    (r"(?:this |last |past )?month|monthly|(?:last |past )?(?:30|thirty) days", "month"),
    (
        r"all|total|overall|so far|ever|lifetime|all time|in total|since (?:entry|start|beginning)",
        "all",
    ),
)
_PERIOD = "|".join(f"(?:{words})" for words, _ in _PERIODS)
_WHEN = rf"(?: (?:in |over |for |during |from )?(?P<period>{_PERIOD}))?"
_EARNED = r"(?:earn|earned|make|made|gain|gained|profit|profited|win|won|lose|lost)"
_RESULT = (
    r"(?:earnings|profits?|pnl|p&l|p/l|returns?|gains?|income|fees earned|earned fees|result"
    r"|performance|fee income|revenue|losses|roi)"
)
_DOWN = r"(?:drops?|falls?|dumps?|crashes|goes down|declines?|loses|tanks|decreases?|is down|down)"
_UP = r"(?:rises?|pumps?|goes up|climbs?|gains|increases?|moons?|is up|rallies|grows?|up)"


def _phrase(*phrases: str) -> SentenceRule:
    return lambda _match, _context: Rephrased(phrases)


def _price(match: re.Match[str], _context: PhraseContext) -> SpokenMeaning | None:
    if match["symbol"] == "gas":
        return Rephrased(("gas",))
    if match["symbol"] in _NO_SYMBOL:
        return None
    return Rephrased((f"price {_symbol(match['symbol'])}",))


def _price_of_what(_match: re.Match[str], context: PhraseContext) -> SpokenMeaning:
    symbols = dict.fromkeys(symbol for one in context.held or () for symbol in one.symbols)
    return AskedBack("The price of which token?", tuple(f"price {symbol}" for symbol in symbols))


def _earned(match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    said = match.groupdict().get("period") or match.groupdict().get("whole") or "all"
    said = said.strip()
    period = next(name for words, name in _PERIODS if re.fullmatch(words, said))
    return Rephrased((f"earned {period}",))


def _earned_otherwise(_match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    return AskedBack(
        "What was earned is told of today, of a week, of a month, or of all days.",
        ("earned today", "earned week", "earned month", "earned all"),
    )


def _what_if(match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    sign = "-" if match["down"] else ""
    return Rephrased((f"what-if {_symbol(match['symbol'])} {sign}{match['percent']}",))


def _what_if_price(match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    return Rephrased((f"what-if {_symbol(match['symbol'])} at {match['level']}",))


def _glossary(match: re.Match[str], _context: PhraseContext) -> SpokenMeaning | None:
    term = term_named(match["term"])
    return None if term is None else Rephrased((f"glossary {term.name}",))


def _help(match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    return Rephrased((f"help {match['verb']}",))


def _undo(_match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    return AnsweredPhrase(
        "What is on the chain cannot be undone. `cancel transaction` takes back what waits unsent, "
        "`revoke` lists permissions that can be taken back, and an approval ends by itself."
    )


def _agreed(_match: re.Match[str], context: PhraseContext) -> SpokenMeaning:
    choices = ("approve",) if context.plan_id is not None else ()
    return AskedBack(
        "A yes signs nothing. `approve` builds what the plan on the card says and shows it; "
        "what signs it is typed by its own word.",
        choices,
    )


def _exit(_match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    return AskedBack(
        "Leave the desk with `quit`; leave a position with `close` and its number.", ("quit",)
    )


def _leave(_match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    return AskedBack(
        "To leave it as it is, nothing needs to be typed. To take everything out: close ID."
    )


def _send(_match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    return AnsweredPhrase("zuno sends and bridges nothing to anybody: that is your wallet's to do.")


def _networks(_match: re.Match[str], _context: PhraseContext) -> SpokenMeaning:
    return AskedBack("Which network?", tuple(f"switch to {name}" for name in network_names()))


def _network(match: re.Match[str], _context: PhraseContext) -> SpokenMeaning | None:
    known = match["name"] in network_names()
    return Rephrased((f"switch to {match['name']}",)) if known else None


def _symbol(said: str) -> str:
    return _COMMON_NAMES.get(said, said.upper())


QUESTION_RULES: tuple[tuple[re.Pattern[str], SentenceRule], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"(?:exit|leave)", _exit),
        (r"(?:leave|hold|keep|do not touch|do nothing)(?: .+)?", _leave),
        (r"cancel (?:last |pending |stuck )?(?:transaction|tx)", _phrase("cancel transaction")),
        (
            r"(?:what is|which|which is|show)(?: (?:best|worst|biggest|most profitable))?"
            r" positions?(?: earns?| makes?| is| pays?)?(?: most| least| best| worst| doing best)?",
            _phrase("positions"),
        ),
        (r"(?:undo|revert|rollback|roll back|take back|reverse)(?: .*)?", _undo),
        (
            r"(?:yes|yep|yeah|yes do it|do it|go|go ahead|proceed|confirm|confirmed|accept|sign"
            r"|sign it|send it|agreed|sure|looks good|lgtm|execute|execute it|submit|yes go ahead)"
            r"(?: it| that| plan)?",
            _agreed,
        ),
        (r"(?:send|transfer|bridge) .+", _send),
        (r"(?:gas|gas price|gas prices|gas fees?|gwei|network fees?|base fee)", _phrase("gas")),
        (
            r"(?:show|check|how much is|how high is|how expensive is|what is|how is|current|is)"
            r"(?: current)? (?:gas|gas price|gas fees?|base fee|network fees?)"
            r"(?: price| cost| like| high| cheap| expensive| on .+)?",
            _phrase("gas"),
        ),
        (r"how much does gas cost", _phrase("gas")),
        (r"(?:price|prices|what is price)", _price_of_what),
        (
            rf"(?:(?:show|check|tell|get|give|what is) )?(?:current )?(?:price|rate|value)"
            rf" (?:of|for) {_SYMBOL}",
            _price,
        ),
        (
            rf"(?:(?:show|check|what is|get) )?(?:current )?{_SYMBOL} (?:price|rate|usd price)",
            _price,
        ),
        (
            rf"(?:how much is|what is) {_SYMBOL} (?:worth|at|trading at|going for|selling for)",
            _price,
        ),
        (rf"(?:how much is|price) {_SYMBOL}", _price),
        (rf"how much (?:is|does) (?:one |1 )?{_SYMBOL}(?: cost)?", _price),
        (rf"where is {_SYMBOL}(?: trading)?(?: at)?", _price),
        (
            rf"(?:what if|what happens if|what would happen if|what happens to .+ if|suppose|if)"
            rf" {_SYMBOL} (?:(?P<down>{_DOWN})|{_UP})(?: by| another)?"
            r" (?P<percent>[0-9]+(?:\.[0-9]+)?) ?(?:%|percent)",
            _what_if,
        ),
        (
            rf"(?:what if|what happens if|what would happen if|what happens to .+ if|suppose|if)"
            rf" {_SYMBOL} "
            rf"(?:(?:{_DOWN}|{_UP}|goes|hits|reaches|is|was|were|trades) ?(?:to|at)?|at) "
            r"\$?(?P<level>[0-9][0-9.,]*k?)",
            _what_if_price,
        ),
        (
            rf"(?:how much|what|how many fees) (?:(?:money|fees|in fees|usd) )?"
            rf"(?:did|have|do|am|has) (?:i|we)(?: have)? (?:{_EARNED}|earning|making)"
            rf"(?: in fees| fees| money)?{_WHEN}",
            _earned,
        ),
        (rf"(?:{_SHOW})?(?P<whole>total )?(?:{_RESULT}){_WHEN}", _earned),
        (rf"(?:{_SHOW})?(?:total |all )(?:{_RESULT}|fees)(?: earned)?{_WHEN}", _earned),
        (rf"(?:am i|are we) (?:making|losing)(?: money)?{_WHEN}", _earned),
        (
            rf"(?:{_SHOW})?(?:fees|earned|profit)(?: earned| made| collected)? "
            rf"(?:in |over |for |during |from )?(?P<period>{_PERIOD})",
            _earned,
        ),
        (rf"(?:{_SHOW})?(?P<period>{_PERIOD}) (?:{_RESULT}|fees)", _earned),
        (rf"how (?:much|many fees) (?:did|have) (?:i|we) {_EARNED} .+", _earned_otherwise),
        (
            rf"{_SHOW}(?:all )?(?:positions|portfolio|everything|uncollected fees|unclaimed fees"
            r"|pending fees|fees|total worth|worth|total value|net worth|overview)"
            r"(?: list| table| to collect| waiting)?",
            _phrase("positions"),
        ),
        (
            r"how (?:are|is) (?:positions|everything|things|portfolio|it|we|all)"
            r"(?: doing| going| looking)?",
            _phrase("positions"),
        ),
        (
            r"how much (?:are|is) (?:positions|portfolio|everything|all)(?: worth)?",
            _phrase("positions"),
        ),
        (
            r"how much (?:uncollected|unclaimed|pending)? ?fees"
            r" (?:do|can) (?:i|we) (?:have|collect)",
            _phrase("positions"),
        ),
        (r"how many positions(?: do i have| are there)?", _phrase("positions")),
        (
            r"(?:what|which|which ones|which of positions|which positions|what positions|anything"
            r"|am i|is anything|are any|are any positions)"
            r"(?: (?:is|are))? (?:out of range|in range|near edge|earning)",
            _phrase("positions"),
        ),
        (
            rf"{_SHOW}(?:all |open |new |latest |recent )?(?:alerts|notifications|warnings)"
            r"(?: do i have| are there)?",
            _phrase("alerts"),
        ),
        (r"(?:do i have|are there)(?: any)? (?:alerts|notifications|warnings)", _phrase("alerts")),
        (
            r"(?:anything wrong|anything|what is wrong|is everything ok|any problems?|anything new"
            r"|what needs (?:me|attention)|what needs)",
            _phrase("alerts"),
        ),
        (rf"{_SHOW}(?:plan|recommendation|proposal)", _phrase("plan")),
        (
            rf"{_SHOW}(?:wallet |token )?(?:balances?|holdings|funds|money|in wallet|tokens)",
            _phrase("balances"),
        ),
        (
            r"(?:how much|what) (?:money |eth |usdc |tokens )?(?:do i have|is in wallet|in wallet)"
            r"(?: left)?(?: in wallet)?",
            _phrase("balances"),
        ),
        (
            rf"{_SHOW}(?:best |top |available |all )?pools?(?: (?:for|with|by|of|to) .+)?",
            _phrase("pools"),
        ),
        (r"(?:which|what)(?: is)?(?: best)? pools?(?: .+)?", _phrase("pools")),
        (
            r"where (?:should|can|could) i (?:provide|add|put|deploy|lp)(?: liquidity)?(?: .+)?",
            _phrase("pools"),
        ),
        (
            rf"{_SHOW}(?:pending|sent|recent|last|latest|all)? ?"
            r"(?:transactions?|txs?|txns?|pending)(?: status| history)?",
            _phrase("outbox"),
        ),
        (
            r"(?:did|has|is) (?:it|transaction|tx|last transaction)(?: gone| go| went)?"
            r" ?(?:through|confirmed|mined|land|done|pending|stuck)?",
            _phrase("outbox"),
        ),
        (rf"{_SHOW}(?:past |old )?(?:debates?|records|history)", _phrase("records")),
        (
            r"why (?:hold|exit|close|wait|not|not rebalance|not move|is that|so|this|rebalance)",
            _phrase("why"),
        ),
        (
            r"(?:networks|which networks|what networks|list networks|show networks|change network)",
            _networks,
        ),
        (
            r"(?:connect|go|switch over|change|change network|move over|hop)(?: over)?"
            r" to (?P<name>.+)",
            _network,
        ),
        (
            r"(?:how (?:do|can|could|would|should) (?:i|we|you)|how to|help with|help to)"
            r" (?P<verb>[a-z-]+)(?: .*)?",
            _help,
        ),
        (
            r"(?:help|how|what can i (?:say|type|ask)|commands|what commands(?: are there)?|menu"
            r"|i am lost|what is this|how does this work|show commands|show help)",
            _phrase("help"),
        ),
        (
            r"(?:what is|what are|what does|define|explain|meaning of|what is meaning of"
            r"|what is meant by|tell about|glossary|what means)(?: is)? (?P<term>.+?)"
            r"(?: mean| means| stand for)?",
            _glossary,
        ),
        (r"(?P<term>.+?) (?:meaning|definition|explained)", _glossary),
    )
)
