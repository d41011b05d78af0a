"""The words of sentences and what each is about; a form of several words wins over shorter ones."""

from __future__ import annotations

from functools import cache

from zuno_tui.phrases.spoken.topics import Topic

_FORMS: dict[Topic, str] = {
    Topic.COLLECT: (
        "collect, collecting, claim, claiming, harvest, harvesting, skim, reap, gather, "
        "grab, sweep, bank, pocket, pick up, reaping, cash in"
    ),
    Topic.COMPOUND: (
        "compound, compounding, recompound, re-compound, reinvest, re-invest, restake, "
        "autocompound, auto-compound, auto compound, plow back, plough back, roll back in"
    ),
    Topic.LEAVE: (
        "close, closing, close out, close down, exit, exiting, unwind, liquidate, kill, "
        "nuke, bail, bail out, dump, terminate, shut, shut down, get out, getting out, "
        "get rid, pull out, pull plug, cash out, wind down, eject, burn, i want out, want "
        "out, abandon, scrap, ditch, zero out, stop lping, stop providing, close up, "
        "drain"
    ),
    Topic.TAKE: (
        "withdraw, withdrawing, take, taking, pull, pulling, take out, redeem, yank, rip, rip out"
    ),
    Topic.LESS: (
        "decrease, reduce, reducing, cut, trim, lower, shrink, shave, lighten, downsize, "
        "halve, split, scale down, scale back, scale out, dial down, derisk, de-risk, cut "
        "back, slim down, cut down, size down, scale, sell down"
    ),
    Topic.MORE: (
        "add, increase, supply, invest, boost, inject, throw, feed, zap, top up, top-up, "
        "topup, top, scale up, beef up, size up, contribute, grow, fund, deposit, bump, "
        "load, fill, top off, all in, max out, buff, raise"
    ),
    Topic.PUT: "put, stick, park, place",
    Topic.DOUBLE: "double, double down, triple",
    Topic.OPEN: (
        "open, opening, create, creating, mint, provide, providing, start, deploy, "
        "launch, set up a position, set up position, make a position, make position, "
        "enter, lping, start lping, lp into, to lp, go lp"
    ),
    Topic.NEW: "new, fresh, another position",
    Topic.MOVE: (
        "rebalance, rebalancing, re-balance, recenter, recentre, re-center, re-centre, "
        "re-range, rerange, move, moving, shift, reposition, adjust, readjust, optimise, "
        "optimize, optimizing, fix, fixing, realign, tune, roll, back in range, back into "
        "range, relocate, slide, center, centre"
    ),
    Topic.WIDTH: (
        "widen, narrow, tighten, broaden, wider, narrower, tighter, widening, expand, "
        "concentrate, squeeze"
    ),
    Topic.ADVISE: (
        "recommend, recommendation, recommendations, suggest, suggestion, suggestions, "
        "advise, advice, opinion, thoughts, think, what now, what next, analyse, analyze, "
        "evaluate, review, assess, argue, debate, worth it, make sense, time to, good "
        "idea, best range, right range, better range, good range, optimal range, ideal "
        "range, optimum"
    ),
    Topic.SWAP: "swap, convert, exchange, trade, sell, selling, flip, turn",
    Topic.BUY: "buy, buying, purchase",
    Topic.WRAP: "wrap",
    Topic.UNWRAP: "unwrap",
    Topic.ALERT: (
        "alert, notify, warn, ping, remind, message, text, buzz, wake, wake up, let know, "
        "heads up, shout, alarm, notification when, set alarm, email, sms, telegram, dm, "
        "mail, let us know"
    ),
    Topic.TELL: "tell, say",
    Topic.MUTE: (
        "mute, muting, silence, snooze, quiet, hush, shut up, turn off, disable, stop "
        "alerting, stop pinging, stop notifying, stop telling, stop warning, stop "
        "bugging, stop alerts, do not bother, do not disturb, stop bothering, do not "
        "notify, do not alert, do not ping, do not tell"
    ),
    Topic.UNMUTE: "unmute, unsilence, unsnooze, turn on, enable",
    Topic.ACKNOWLEDGE: (
        "ack, acknowledge, dismiss, clear, mark as read, got it, seen, noted, mark, as "
        "read, mark read"
    ),
    Topic.SHOW: (
        "show, list, display, see, view, give, print, check, get, inspect, look, look at, "
        "look into, details, detail, info, information, status, state, overview, summary, "
        "pull up, describe, bring up, examine, find, open up, report, breakdown, "
        "statement, take look, have look, a look, list view, screen, chart, table, "
        "watchlist"
    ),
    Topic.KEEP: "hold, keep, leave, do nothing, do not touch, sit tight, stay",
    Topic.UNDO: "undo, revert, rollback, roll back, take back, reverse",
    Topic.CANCEL: "cancel, abort",
    Topic.HURRY: "speed up, speed-up, accelerate, bump",
    Topic.REMOVE: "remove, delete, drop",
    Topic.SEND: "send, transfer, bridge",
    Topic.SWITCH: "switch, connect, use, change to, go to, hop",
    Topic.AGREE: (
        "yes, yep, yeah, do it, go, go ahead, proceed, confirm, confirmed, accept, sign, "
        "sign it, send it, agreed, sure, looks good, lgtm, execute, submit, ship it, make "
        "it so, y"
    ),
    Topic.SET: "set, change, make, update, edit, adjust to",
    Topic.APPLY: "apply, applying",
    Topic.APPROVE: "approve, approving, approve of",
    Topic.QUIT: "quit, leave the desk, log out, logout",
    Topic.FEES: (
        "fee, fees, rewards, reward, yield, interest, earnings, income, proceeds, winnings"
    ),
    Topic.POSITIONS: (
        "positions, lps, what i have, what i have got, what have i got, what i got, "
        "portfolio, holdings, bags, nfts, ranges"
    ),
    Topic.POSITION: (
        "position, pos, lp position, nft, positon, bag, stake, number, id, lp, lps position"
    ),
    Topic.LIQUIDITY: "liquidity, funds, money, capital, tokens, liq",
    Topic.RANGE: "range, price range, bounds, edges, width, ticks",
    Topic.POOLS: "pools, pool list, best pool, top pool",
    Topic.ALERTS: "alerts, notifications, warnings, alarms, messages, pings",
    Topic.PRICE_ALERTS: (
        "price alert, price alerts, price notification, price notifications, price alarm, "
        "price alarms"
    ),
    Topic.WALLET: "wallet, balance, balances, tokens do i have, coins",
    Topic.GAS: (
        "gas, gwei, base fee, network fee, network fees, gas price, gas prices, gas fee, "
        "gas fees, transaction cost, tx cost, transact, to transact"
    ),
    Topic.PRICE: "price, prices, rate, quote, trading, trades, cost, costs",
    Topic.WORTH: "worth, value, tvl, net worth, total value, size",
    Topic.EARNED: (
        "earn, earned, earning money, earnings, made, make money, did i make, do i make, "
        "did we make, have i made, am i making, making, profit, profits, profitable, pnl, "
        "p&l, p/l, return, returns, gain, gained, gains, income, revenue, roi, "
        "performance, lost, lose, losses, won, result, results, up or down, making money, "
        "losing money overall, apr, apy, in profit, in the green overall, did i do, how "
        "did i do, how did we do, have i done, did we do, since i started, i lost, i "
        "earned, i made"
    ),
    Topic.HISTORY: (
        "history, everything that happened, activity, past activity, what happened so far, ledger"
    ),
    Topic.TAXES: "csv, tax, taxes, tax report, export, spreadsheet, excel, accountant",
    Topic.SENT: (
        "transaction, transactions, tx, txs, txn, txns, outbox, did i send, pending, go "
        "through, went through, confirmed yet"
    ),
    Topic.PLAN: (
        "plan, proposal, options, alternatives, did you recommend, did you say, you "
        "recommended, did you suggest, your recommendation, steps"
    ),
    Topic.NETWORK: "network, networks, chain, chains",
    Topic.ALLOWANCES: (
        "approvals, allowances, allowance, permissions, spend my tokens, spend tokens, "
        "revoke, who can move, can move my tokens, move my tokens, can spend"
    ),
    Topic.DRILL: "exit drill, drill, if i have to",
    Topic.CONNECTION: "rpc, endpoint, connection, node",
    Topic.TRACK_RECORD: (
        "track record, scorecard, your advice, you right, was right, how good are you, "
        "trustworthy, reliable, your recommendations, accurate, accuracy, trust you, your "
        "plans"
    ),
    Topic.THEME: "theme, dark mode, light mode, colours, colors",
    Topic.TROUBLE: (
        "wrong, problem, problems, attention, issue, issues, anything new, warning, "
        "everything ok, is everything, everything fine, all good, all ok, happening, "
        "should know, need to know, going on here"
    ),
    Topic.ALL: ("all, everything, every, each, both, any of them, whole lot, all of them, the lot"),
    Topic.IT: "it, this, that, selected, current, this one, that one",
    Topic.ONE: "one",
    Topic.ONES: "ones, them",
    Topic.EXCEPT: (
        "except, excluding, besides, but not, other than, apart from, aside from, but, "
        "minus, save for"
    ),
    Topic.OR: "or",
    Topic.OUT_OF_RANGE: (
        "out of range, oor, outside range, outside of range, outside its range, not in "
        "range, idle, inactive, not earning, out-of-range, out range, out of its range, "
        "leaves its range, leaves range, goes out of range, off range, out of bounds, "
        "stopped earning"
    ),
    Topic.IN_RANGE: (
        "in range, active, inside range, within range, earning, healthy, in its range"
    ),
    Topic.NEAR_EDGE: (
        "near edge, near the edge, close to the edge, close to edge, at the edge, near "
        "its edge, about to go out, almost out, drifting, at risk, risky, in danger"
    ),
    Topic.EMPTY: "empty, zero liquidity",
    Topic.LOSING: (
        "losing, losing money, loses money, loses, in the red, red, underwater, "
        "unprofitable, bleeding, in loss, losers, loser, losing ones, negative"
    ),
    Topic.WINNING: "winning, winners, winner, in the green, green, profitable ones",
    Topic.STABLE: "stable, stables, stablecoin, stablecoins, stable coin",
    Topic.WORST: "worst, worst performing, weakest, least profitable, poorest",
    Topic.BEST: (
        "best, best performing, most profitable, top performing, strongest, earns most, "
        "earning most, earning the most, makes most"
    ),
    Topic.BIGGEST: (
        "biggest, largest, most valuable, main, fattest, most value, highest value, most worth"
    ),
    Topic.SMALLEST: (
        "smallest, least valuable, tiniest, littlest, least value, least worth, lowest "
        "value, least valuable one"
    ),
    Topic.NEWEST: "newest, latest, last, most recent, youngest",
    Topic.OLDEST: "oldest, first",
    Topic.MOST_FEES: (
        "most fees, highest fees, biggest fees, most uncollected fees, most unclaimed"
    ),
    Topic.SOME: "some, bit, a bit, little, part, portion, few",
    Topic.WHOLE: "completely, entirely, fully, whole, in full, totally, altogether",
    Topic.BELOW: (
        "below, under, beneath, less than, lower than, falls below, drops below, dips "
        "below, drops under, goes below, goes under, falls under, breaks below, drops to, "
        "falls to, dips to, dips under, sinks below, sinks to, crashes to, crashes below, "
        "loses level"
    ),
    Topic.ABOVE: (
        "above, over, exceeds, higher than, more than, greater than, rises above, goes "
        "above, goes over, breaks above, climbs above, rises to, pumps to, climbs to, "
        "passes, pumps above, moons to, crosses above, breaks over, tops out at"
    ),
    Topic.REACHES: (
        "reaches, hits, at, goes to, touches, gets to, equals, is at, to, crosses, trades "
        "at, breaks, were, was, lands at"
    ),
    Topic.FALLS: (
        "drops, drop, dropped, falls, fall, fell, dumps, crashes, crash, crashed, down, "
        "declines, decline, tanks, sinks, loses, decreases, dips, dip, slides down, goes "
        "down, is down, went down, tanked, nukes, corrects, bleeds, plunges, halves"
    ),
    Topic.RISES: (
        "rises, rise, pumps, pump, pumped, up, climbs, gains by, increases, moons, "
        "rallies, grows, jumps, goes up, is up, went up, doubles, surges, rips, soars, "
        "appreciates"
    ),
    Topic.BETWEEN: "between, from",
    Topic.DOWN_TO: "down to",
    Topic.NOT: (
        "not, do not, did not, never, no need, without, nothing, stop, none, neither, nor, cannot"
    ),
    Topic.IF: "if, when, whenever, once, unless, as soon as, in case",
    Topic.LATER: (
        "tomorrow, later, tonight, until, till, daily, hourly, every day, every week, "
        "every hour, each day, each week, automatically, next week, next month, after, "
        "before, at night, morning, evening, every time, always, weekly basis, whenever, "
        "someday, eventually"
    ),
    Topic.WHAT_IF: (
        "what if, what happens if, what would happen if, what happens, suppose, imagine, "
        "assume, assuming, simulate, how would, what would, stress test, stress, model, "
        "pretend, scenario, scenario:, let's say, say if, hypothetically"
    ),
    Topic.WHAT: ("what, what is, what are, which, who, where, where is, wtf is, whos, what was"),
    Topic.HOW: (
        "how, how is, how are, how much, how many, how does, how did, how has, how have, hows"
    ),
    Topic.HOW_TO: (
        "how do i, how can i, how could i, how should i, how to, how do we, how does one"
    ),
    Topic.SHOULD: (
        "should i, shall i, should we, must i, do i need to, do i need, do i have to, "
        "need to, is it time, is it worth, does it make sense, would you, should, what to "
        "do, what should i do, what do i do, what can i do, what could i do, what would "
        "you do, what shall i do, what should we do, what do you think, do you think, is "
        "now a good time, ought i, better to, when should i, when should, is it better, "
        "worth rebalancing, how should i, how should we, how do you suggest, what would "
        "be best"
    ),
    Topic.WHETHER: (
        "is, are, am i, am, do i, does, did, did i, has, have i, will, was, do, can, are "
        "we, have, do we, did we, could, closed, exited, collected, claimed, compounded, "
        "withdrew, removed, added, moved, opened, swapped, rebalanced, withdrawn"
    ),
    Topic.WHY: "why, how come, reason, reasons, reasoning, rationale, arguments",
    Topic.MEANS: (
        "means, mean, meaning, definition, define, explain, stand for, stands for, "
        "explained, tell me about, wtf is, glossary"
    ),
    Topic.INTO: "into, in, onto, on, to my, inside",
    Topic.FOR: "for",
    Topic.FILLING: (
        "the, a, an, help, my, our, me, us, mine, please, of, from, with, by, to, and, i, "
        "we, you, your, about, off, out, its, their, be, pool, pair, tier, more, also, "
        "then, than, as, so, too, another, have got, got, i have, waiting, available, "
        "uncollected, unclaimed, pending fees, owed, accrued, currently, now, rn, "
        "today's, again, back, work, to work, side, end up, happens, happen, total, "
        "current, open ones, open positions, usd, in usd, much, many, doing, looking, "
        "look like, like, going, going on, go, goes, up with, there, these, those, want, "
        "need, would like, need some, try, let, lets, using, via, against, level, mark, "
        "price hits, that are, that is, which are, which is, who is, some more, anything, "
        "something, things, left, over time, overall, really, ever, yet, still, ok, okay, "
        "performing, perform, at all, at the moment, so far, at once, cheap, expensive, "
        "high, low, highest, lowest, most, least, pays, pay, spend, can, i can, gonna, "
        "going to, am, get, gets, got me, stuff, run, do, were, was, is, are, right, at, "
        "on, in, off of, per, per cent, percentage, amount, worth of, along, extra, "
        "additional, straight, away, quickly, fast, asap, immediately, directly, just, "
        "only, alone, yo, bro, hey, hi, ser, sir, fam, mate, buddy, dude, man, thanks, "
        "thank, thx, ty, cheers, hello, well, uh, um, hmm, actually, basically, kindly, "
        "pls, plz, last time, position's, itself, themselves, whats up, how's, new ones, "
        "own, between the, that's, time, times, ago, since, entry, days, day, hours, "
        "recently, lately, been, easy, rest, these days, i am, we are, dollars, dollar, "
        "in dollars, usd price, done, finished, sick, tired"
    ),
    Topic.DEBATES: "past debates, old debates, records, transcripts",
    Topic.PORTFOLIO: (
        "all wallets, every wallet, across wallets, all networks, all chains, every "
        "network, across networks, total net worth"
    ),
}


@cache
def forms() -> dict[tuple[str, ...], tuple[Topic, ...]]:
    """Every form, cut into words, with all it can say."""
    found: dict[tuple[str, ...], list[Topic]] = {}
    for topic, written in _FORMS.items():
        for form in written.split(","):
            topics = found.setdefault(tuple(form.split()), [])
            if topic not in topics:
                topics.append(topic)
    return {words: tuple(topics) for words, topics in found.items()}


@cache
def single_words() -> frozenset[str]:
    return frozenset(word for form in forms() for word in form)
