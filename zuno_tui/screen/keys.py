"""Every key of the desk by its id, so that settings can give it another and help can list it.

The page that asks for the typed word is not among them: its keys stay as they are.
"""

from collections.abc import Mapping

from textual.binding import Binding

from chain.base.spelling import nearest


class KeymapError(ValueError):
    """A key that cannot be given; the message names it and what there is."""


def _key(
    id_: str,
    keys: str,
    action: str,
    label: str,
    tooltip: str,
    *,
    show: bool = True,
    priority: bool = False,
) -> Binding:
    return Binding(keys, action, label, show=show, tooltip=tooltip, id=id_, priority=priority)


MOVING = (
    _key("move.down", "j,down", "down", "", "One line down"),
    _key("move.up", "k,up", "up", "", "One line up"),
    _key(
        "move.page-down", "pagedown,ctrl+d", "page_down", "page down", "One page down", show=False
    ),
    _key("move.page-up", "pageup,ctrl+u", "page_up", "", "One page up"),
    _key("move.first", "g,home", "first", "", "To the first line"),
    _key("move.last", "G,end", "last", "", "To the last line"),
)
POSITIONS = (
    _key("positions.inspect", "enter", "choose", "open", "Everything about this position"),
    _key(
        "positions.sort",
        "o",
        "sort",
        "sort",
        "By what needs you, value, fees, APR, vs hold, number",
    ),
    _key("positions.filter", "slash", "filter", "filter", "Only rows with these words in them"),
    _key("positions.hide", "h", "hide_empty", "", "Hide positions that hold nothing, or not"),
)
ALERTS = (
    _key("alerts.take", "enter", "choose", "next step", "Put its next command in the prompt"),
    _key("alerts.open", "o", "open", "open", "The whole alert: what, why and since when"),
    _key("alerts.acknowledge", "space", "acknowledge", "seen", "Acknowledge: you have seen it"),
    _key("alerts.mute", "m", "mute(3600)", "mute 1 h", "Mute it for an hour"),
    _key("alerts.mute-day", "M", "mute(86400)", "mute 1 d", "Mute it for a day"),
)
DEBATE = (
    _key("debate.skip", "space,enter", "skip", "", "Show the rest at once"),
    _key("debate.sources", "s", "sources", "sources", "Show where each number comes from"),
    _key("debate.fold", "f", "fold", "fold", "Show only each turn's first line, or all of it"),
    _key("debate.search", "slash", "search", "search", "Find a word in the debate"),
    _key("debate.next", "n", "find(1)", "", "The next match"),
    _key("debate.previous", "N", "find(-1)", "", "The previous match"),
)
PLAN = (
    _key("plan.next", "right,l", "option(1)", "options", "The option to the right"),
    _key("plan.previous", "left,h", "option(-1)", "", "The option to the left"),
    _key("plan.take", "enter", "take", "approve…", "Put the approval of this option in the prompt"),
    _key("plan.diff", "d", "about('diff')", "diff", "The old range against the new one"),
    _key("plan.simulate", "t", "about('simulate')", "try", "Try it without approving anything"),
    _key(
        "plan.rehearse",
        "e",
        "about('rehearse')",
        "rehearse",
        "Carry out what is approved on a private copy of the chain",
    ),
    _key("plan.explain", "w", "whole", "why", "Every reason and figure, or the main ones alone"),
)
DESK = (
    _key("desk.cancel", "ctrl+x", "cancel_work", "cancel", "Cancel what is running"),
    _key("desk.open-page", "ctrl+o", "open_page", "open page", "Open the page that is ready"),
    _key("desk.escape", "escape", "cancel_pages", "cancel", "Cancel the page that is loading"),
    _key("desk.recommend", "r", "recommend", "recommend", "Ask the agents for a plan"),
    _key("desk.range", "v", "range", "range", "Choose a range of your own, with a live preview"),
    _key("desk.approve", "a", "approve", "approve…", "Put the approval of the plan in the prompt"),
    # Before all others, so that what is typed right after it already goes to the prompt.
    _key("desk.prompt", "colon,i", "prompt", "prompt", "Type what you want", priority=True),
    _key("desk.prompt-slash", "slash", "prompt", "prompt", "Type what you want", show=False),
    _key("desk.help", "question_mark", "help", "help", "The keys and phrases of this pane"),
    _key("desk.zoom", "z", "zoom", "zoom", "Give this pane the whole screen, or put it back"),
    _key("desk.palette", "ctrl+p", "app.command_palette", "palette", "All that is possible now"),
    _key("desk.quit", "q", "leave", "quit", "Quit zuno; it asks first"),
    _key("market.pause", "p", "market('pause')", "pause", "Stop or start the demo's market"),
    _key("market.step", "full_stop", "market('step')", "", "One step of the demo's market"),
    _key("market.faster", "plus", "market('faster')", "", "A faster market"),
    _key("market.slower", "minus", "market('slower')", "", "A slower market"),
    _key("desk.order", "O", "line('order')", "", "Order a close or a collect of it"),
    _key("desk.collect", "c", "collect", "collect…", "Put collecting its fees in the prompt"),
    _key("desk.positions", "1", "front('positions')", "", "To the positions"),
    _key("desk.alerts", "2", "front('alerts')", "", "To the alerts"),
    _key("desk.debate", "3", "front('debate')", "", "To the debate"),
    _key("desk.plan", "4", "front('plan')", "", "To the plan"),
    _key("desk.next", "tab", "turn(1)", "", "To the next pane"),
    _key("desk.previous", "shift+tab", "turn(-1)", "", "To the pane before"),
    _key("desk.portfolio", "P", "portfolio", "portfolio", "What all of it earned, over time"),
    _key("desk.history", "H", "line('history')", "", "Profit since entry, and all that moved"),
    _key("desk.earned", "E", "line('earned month')", "", "What the month brought, by position"),
    _key("desk.exit-drill", "X", "line('exit drill')", "", "What closing everything would bring"),
    _key("desk.settings", "comma", "show('settings')", "", "What is set, and change it"),
    _key("desk.outbox", "b", "show('outbox')", "", "What was sent, and its status"),
    _key("desk.records", "e", "show('records')", "", "The debates that were held"),
    _key("desk.trade", "f3", "show('trade')", "", "The trade desk's newest run"),
    _key("desk.copy", "y", "copy", "", "Copy what is selected (OSC 52)"),
    _key("desk.refresh", "ctrl+r", "refresh_views", "", "Read everything again"),
    _key("desk.doctor", "D", "doctor", "", "Check what zuno depends on, and what answers"),
)
PROMPT = (
    _key("prompt.complete", "tab", "complete", "complete", "Take the completion"),
    _key("prompt.earlier", "up", "earlier", "earlier", "What was typed before"),
    _key("prompt.later", "down", "later", "", "And after that"),
    _key("prompt.page-down", "pagedown", "screen.page(1)", "", "Scroll what is in front of you"),
    _key("prompt.page-up", "pageup", "screen.page(-1)", "", "And back up"),
    _key("prompt.leave", "escape", "leave", "back", "Back to the panes"),
)
SEARCH = (_key("search.leave", "escape", "give_up", "back", "Look for nothing"),)
FILTER = (_key("filter.leave", "escape", "give_up", "back", "Show every row again"),)
HELP = (
    _key("help.close", "escape,q,question_mark,enter", "dismiss", "close", "Back to the desk"),
    _key("help.down", "j,down", "scroll(1)", "", "One line down"),
    _key("help.up", "k,up", "scroll(-1)", "", "One line up"),
    _key("help.page-down", "space,pagedown", "scroll(10)", "", "Ten lines down"),
    _key("help.page-up", "b,pageup", "scroll(-10)", "", "Ten lines up"),
)
QUITTING = (
    _key("leaving.leave", "y,enter,q", "answer(True)", "quit", "Quit zuno"),
    _key("leaving.stay", "n,escape", "answer(False)", "stay", "Stay"),
)
PAGE = (
    _key("page.close", "escape,q", "dismiss", "close", "Back to the desk"),
    # As at the desk: a slow line brings the rest of the phrase along with it.
    _key(
        "page.prompt",
        "colon",
        "prompt",
        "",
        "Back to the desk, to type what you want",
        priority=True,
    ),
    _key("page.down", "j,down", "scroll(1)", "", "One line down"),
    _key("page.up", "k,up", "scroll(-1)", "", "One line up"),
    _key("page.page-down", "pagedown,space", "page(1)", "page down", "One page down"),
    _key("page.page-up", "pageup,b", "page(-1)", "page up", "One page up"),
    _key("page.first", "g,home", "edge(0)", "", "To the first line"),
    _key("page.last", "G,end", "edge(1)", "", "To the last line"),
    _key("page.left", "h,left", "sideways(-1)", "", "To the left"),
    _key("page.right", "l,right", "sideways(1)", "", "To the right"),
    _key("page.copy", "y", "copy_page", "copy", "Copy the page (OSC 52)"),
)
VISIT = (
    _key("visit.close", "escape,q", "close", "back", "Back to the desk"),
    _key(
        "visit.prompt",
        "colon",
        "prompt",
        "",
        "Back to the desk, to type what you want",
        priority=True,
    ),
    _key("visit.help", "question_mark", "help", "help", "The keys of this screen"),
)
_SCROLLING = (
    _key("visit.down", "j,down", "scroll_lines(1)", "", "One line down"),
    _key("visit.up", "k,up", "scroll_lines(-1)", "", "One line up"),
    _key("visit.page-down", "pagedown", "scroll_lines(10)", "", "Ten lines down"),
    _key("visit.page-up", "pageup", "scroll_lines(-10)", "", "Ten lines up"),
)
# A replay takes the same keys for its turns, a page that only shows for its pages.
_READING = (
    *_SCROLLING,
    _key("visit.further", "space", "scroll_lines(10)", "", "Ten lines down"),
    _key("visit.back-up", "b", "scroll_lines(-10)", "", "Ten lines up"),
)
DETAIL = (
    _key("position.recommend", "r", "recommend", "recommend", "Ask the agents for a plan"),
    _key("position.collect", "c", "offer('collect')", "collect…", "Put collecting in the prompt"),
    _key(
        "position.compound", "p", "offer('compound')", "compound…", "Put compounding in the prompt"
    ),
    _key("position.window", "w", "window", "window", "The chart of 1 d, 7 d, 30 d or since entry"),
    _key("position.range", "v", "range", "range", "Choose a range of your own, with a preview"),
    _key("position.copy", "y", "copy_facts", "", "Copy the facts with full addresses (OSC 52)"),
    _key("position.order", "o", "offer('order')", "order…", "Order a close or a collect of it"),
    _key("position.leave", "x", "offer('close')", "close…", "Put closing it in the prompt"),
    *_READING,
)
SUMMING = (
    _key("portfolio.anew", "u", "anew", "read again", "Read every wallet again"),
    _key("portfolio.inspect", "enter", "choose", "open", "Everything about this position"),
)
CHOOSING = (
    _key("range.plan", "enter", "plan", "plan it", "Make the plan; nothing is signed by it"),
    _key("range.edge", "tab,space", "edge(1)", "other edge", "Low edge, high edge, or both"),
    _key("range.edge-back", "shift+tab", "edge(-1)", "", "The edge before"),
    _key("range.up", "right,up,l,k", "shift(1)", "up", "The edge a step up in price"),
    _key("range.down", "left,down,h,j", "shift(-1)", "down", "The edge a step down in price"),
    _key("range.far-up", "pageup,L,K", "shift(10)", "", "Ten steps up"),
    _key("range.far-down", "pagedown,H,J", "shift(-10)", "", "Ten steps down"),
    _key("range.finest-up", "full_stop", "fine(1)", "", "The smallest step up"),
    _key("range.finest-down", "comma", "fine(-1)", "", "The smallest step down"),
    _key("range.wider", "plus,w", "widen(1)", "wider", "Both edges apart by a step"),
    _key("range.narrower", "minus,n", "widen(-1)", "narrower", "Both edges together by a step"),
    _key("range.centre", "c", "centre", "centre", "The same width around the price"),
    _key("range.pool", "p", "pool", "next pool", "The same for the next pool that would do"),
    _key("range.words", "e", "words", "as words", "Put it in the prompt, to be changed there"),
    _key("range.anew", "u", "anew", "read again", "Read the pool again"),
    _key("range.back", "0", "begin", "", "Back to the range it began with"),
)
NARROWING = (
    _key("pools.range", "ctrl+o", "range", "range…", "Choose a range in this pool yourself"),
    _key("pools.down", "down", "move(1)", "", "The next pool"),
    _key("pools.up", "up", "move(-1)", "", "The pool before"),
)
LISTING = (_key("records.replay", "enter", "choose", "hear again", "Replay it from its record"),)
STEPPING = (
    _key("replay.next", "right,space,l", "step(1)", "next", "The next turn"),
    _key("replay.previous", "left,h", "step(-1)", "previous", "The turn before"),
    _key("replay.first", "g,home", "edge(0)", "", "To the first turn"),
    _key("replay.last", "G,end", "edge(1)", "last", "To the last turn"),
    _key("replay.sources", "s", "sources", "sources", "Show where each number comes from"),
    *_SCROLLING,
)
SENT = (
    _key("outbox.look", "u", "look", "look again", "Refresh"),
    _key("outbox.resume", "s", "offer('resume')", "send again…", "Put resuming it in the prompt"),
    _key(
        "outbox.faster", "f", "offer('speed-up')", "speed up…", "Put speeding it up in the prompt"
    ),
    _key("outbox.cancel", "x", "offer('cancel')", "cancel…", "Put cancelling it in the prompt"),
    _key("outbox.resolve", "d", "offer('resolve')", "settled…", "Mark as settled"),
)
TRADING = (
    _key("trade.go-on", "a,enter", "go_on('approve')", "approve…", "Put approving in the prompt"),
    _key("trade.apply", "enter", "go_on('apply')", "apply…", "Put sending it in the prompt"),
    _key("trade.anyway", "a", "go_on('anyway')", "anyway…", "On paper: open it against the odds"),
    _key("trade.chart", "c", "chart", "chart", "The chart that was drawn for it"),
    _key("trade.why", "w", "ask('why')", "why", "What spoke for it and against it"),
    _key("trade.report", "r", "ask('report')", "report", "Every turn of the debate"),
    _key("trade.status", "s", "ask('status')", "status", "What is held, and what waits"),
    _key("trade.memory", "m", "ask('memory')", "memory", "What closed trades have taught"),
    *_READING,
)
PREFERRING = (
    _key("settings.change", "enter", "choose", "change", "Another value for this setting"),
    _key("settings.theme", "t", "theme", "next theme", "Another theme, kept for next time"),
)
SAVING = (_key("settings.save", "enter", "submit", "save", "Keep what was typed"),)
PICKING = (_key("settings.pick", "enter", "select", "save", "Keep this value"),)
WRITING = (
    _key("order.next", "tab", "app.focus_next", "next field", "To the next field"),
    _key("order.previous", "shift+tab", "app.focus_previous", "", "To the field before"),
)
TAKING = (
    _key("order.take", "enter", "select", "choose", "Choose this, and name its value"),
    _key("order.down", "j,down", "cursor_down", "", "The next condition"),
    _key("order.up", "k,up", "cursor_up", "", "The condition before"),
)
SENDING = (_key("order.page", "enter", "submit", "page…", "The page to sign; nothing is signed"),)
ALL = (
    *MOVING,
    *POSITIONS,
    *ALERTS,
    *DEBATE,
    *PLAN,
    *DESK,
    *PROMPT,
    *SEARCH,
    *FILTER,
    *HELP,
    *QUITTING,
    *PAGE,
    *VISIT,
    *DETAIL,
    *SUMMING,
    *CHOOSING,
    *NARROWING,
    *LISTING,
    *STEPPING,
    *SENT,
    *TRADING,
    *PREFERRING,
    *SAVING,
    *PICKING,
    *WRITING,
    *TAKING,
    *SENDING,
)


def keymap_from(table: Mapping[str, object]) -> dict[str, str]:
    """The settings' `[keys]`: an id, as help shows it, and the keys it should have."""
    known = [key.id for key in ALL if key.id is not None]
    keymap: dict[str, str] = {}
    for name, keys in table.items():
        if name not in known:
            meant = nearest(name, known)
            hint = "" if meant is None else f" Did you mean {meant!r}?"
            raise KeymapError(f"[keys] names {name!r}, which no key has.{hint}")
        if not isinstance(keys, str) or not keys.strip():
            raise KeymapError(f'[keys] {name!r} must be a text, like "ctrl+r" or "j,down".')
        keymap[name] = keys
    return keymap
