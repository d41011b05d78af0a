"""The words of sentences and what each is about; a form of several words wins over shorter ones."""

from __future__ import annotations

from functools import cache

from zuno_tui.phrases.spoken.deed_forms import DEED_FORMS
from zuno_tui.phrases.spoken.desk_forms import DESK_FORMS
from zuno_tui.phrases.spoken.filling_forms import FILLING_FORMS
from zuno_tui.phrases.spoken.plain import ARTICLES
from zuno_tui.phrases.spoken.topics import Topic

_FORMS: dict[Topic, str] = {
    **DEED_FORMS,
    Topic.FEES: (
        "anything i should collect, anything i should claim, uncollected, unclaimed, anything to "
        "collect, anything to claim, left to collect, left to claim, there to collect, there to "
        "claim, can i claim, can i collect, claimable, collectable, is waiting, waiting for "
        "collection, fee, fees, rewards, reward, yield, interest, earnings, income, proceeds, "
        "winnings, dividends, dividend"
    ),
    Topic.POSITIONS: (
        "posiciones, mis posiciones, positionen, meine positionen, posizioni, filter, filter by, "
        "hide empty, hide, list lps, everything i have open, all i have open, what i have open, "
        "am i in, stuff i have open, lp status, lp overview, lp list, lp summary, lp info, is "
        "live, live right now, still open, open right now, how are we looking, how am i looking, "
        "how do we look, are we looking, how is it looking, how does it look, how is everything, "
        "my stuff, my liquidity pools, my lp positions, my lps, sort by, sorted by, order by, "
        "rank by, ranked by, sort, am i lping in, am i lping, i am lping, what i am lping, stuff "
        "i am in, do i have running, i have running, overview, invested in, am i invested in, how "
        "am i doing, am i doing, how are we doing, dashboard, where do i stand, do i stand, book, "
        "all lps, liquidity positions, positions, lps, what i have, what i have got, what have i "
        "got, what i got, do i have open, i have open, my pools, portfolio, holdings, bags, nfts, "
        "ranges"
    ),
    Topic.POSITION: (
        "position, pos, lp position, nft, positon, bag, stake, number, id, lp, lps position"
    ),
    Topic.LIQUIDITY: (
        "exposure, liquidity, funds, money, capital, tokens, liq, leave deposit, keep deposit, "
        "leave principal, keep principal, leave capital, principal, my deposit, original deposit, "
        "initial deposit"
    ),
    Topic.RANGE: (
        "range, price range, bounds, edges, width, ticks, tick bounds, borders, boundaries"
    ),
    Topic.POOLS: (
        "volume, trading volume, pool volume, pool tvl, tvl of pool, daily volume, best place, "
        "best place to put, good place to put, best place for, where to put, where to park, where "
        "should i put, where do i put, where could i put, where best to put, any pool, which "
        "pool, what pool, pools, pool list, best pool, top pool"
    ),
    Topic.ALERTS: (
        "notifs, notif, notification, reminders, alerts, notifications, warnings, alarms, "
        "messages, pings"
    ),
    Topic.PRICE_ALERTS: (
        "price alert, price alerts, price notification, price notifications, price alarm, price "
        "alarms"
    ),
    Topic.WALLET: (
        "my address, wallet address, which address, account address, receive address, show "
        "address, your address, afford, can i afford, idle funds, idle money, idle cash, idle "
        "capital, idle coins, idle balance, funds idle, money idle, cash idle, unused tokens, "
        "tokens am i holding, tokens do i hold, coins am i holding, am i holding, coins do i "
        "have, what do i hold, tokens i have, can i invest, could i invest, can i spend, do i "
        "own, do i hold, bal, bals, on hand, in hand, idle tokens, cash, holdings in wallet, "
        "wallet, balance, balances, tokens do i have, coins, dry powder, lying around, funds "
        "available, available funds, spare cash, spare funds, unused funds, undeployed, "
        "uninvested, sitting idle in my wallet, can i use, could i use, can we use"
    ),
    Topic.GAS: (
        "congested, congestion, network busy, chain busy, is network busy, fees like on chain, tx "
        "fee, tx fees, transaction fee, transaction fees, transaction costs, tx costs, network "
        "cost, network costs, chain fees, onchain fees, on-chain fees, gas cost, gas costs, gas "
        "now, gas, gwei, base fee, network fee, network fees, gas price, gas prices, gas fee, gas "
        "fees, transaction cost, tx cost, transact, to transact, expensive to send, is it to "
        "send, cost to send, costs to send"
    ),
    Topic.PRICE: (
        "px, spot, spot price, market price, quoted, at dollar, at one dollar, peg, pegged, "
        "depeg, depegged, depegging, off peg, on peg, mcap price, going for, trading at, ticker, "
        "price, prices, rate, quote, trading, trades, cost, costs"
    ),
    Topic.WORTH: "worth, value, tvl, size",
    Topic.EARNED: (
        "pocket money, side income, passive income, brought in, bring in, fees collected, "
        "collected so far, earn, earned, earning money, earnings, made, make money, did i make, "
        "do i make, did we make, have i made, am i making, making, profit, profits, profitable, "
        "pnl, p&l, p/l, return, returns, gain, gained, gains, income, revenue, roi, performance, "
        "lost, lose, losses, won, result, results, up or down, making money, losing money "
        "overall, apr, apy, in profit, in the green overall, did i do, how did i do, how did we "
        "do, have i done, did we do, since i started, i lost, i earned, i made, came in, come in, "
        "coming in, rolled in, flowed in, richer, poorer"
    ),
    Topic.HISTORY: (
        "my swaps, past swaps, my deposits, my withdrawals, deposits and withdrawals, gas did i "
        "pay, gas i paid, gas have i paid, gas have i spent, gas spent, gas did i spend, spent on "
        "gas, paid in gas, paid for gas, last transactions, last txs, last txns, last few "
        "transactions, recent transactions, recent txs, recent txns, previous transactions, "
        "latest transactions, all my transactions, all transactions, my transactions, my txs, "
        "list of transactions, transaction list, what happened yesterday, tx log, txs log, "
        "transaction log, transaction history, tx history, past transactions, past txs, log, "
        "logs, trade history, track of what i did, what have i done, what did i do, past moves, "
        "event log, timeline, history, everything that happened, activity, past activity, what "
        "happened so far, ledger, past actions, my actions, what i did, things i did, everything "
        "i have done, all i have done, i have done so far, happened in my account, in my account"
    ),
    Topic.TAXES: "download, csv, tax, taxes, tax report, export, spreadsheet, excel, accountant",
    Topic.NETWORK: "mainnet, testnet, network, networks, chain, chains",
    Topic.ALLOWANCES: (
        "have i approved, did i approve, i approved, can move my money, can move my funds, can "
        "take my, can take my money, have access, has access, contracts, token approvals, token "
        "approval, token allowance, token allowances, who can spend, can spend my, spenders, "
        "spender, spending permissions, spending rights, access to my tokens, unlimited "
        "approvals, open approvals, approvals, allowances, allowance, permissions, spend my "
        "tokens, spend tokens, revoke, who can move, can move my tokens, move my tokens, can "
        "spend, allowed to spend, allowed to take, allowed to move, can touch my, permitted to "
        "spend"
    ),
    Topic.ALL: (
        "whatever is, whichever is, anything that is, those that are, everywhere, the whole "
        "thing, whole book, entire portfolio, whole portfolio, all, everything, every, each, "
        "both, any of them, whole lot, all of them, the lot"
    ),
    Topic.IT: "it, this, that, selected, current, this one, that one",
    Topic.ONE: "one",
    Topic.ONES: "ones, them",
    Topic.EXCEPT: (
        "except, excluding, besides, but not, other than, apart from, aside from, but, minus, "
        "save for"
    ),
    Topic.OR: "or",
    Topic.OUT_OF_RANGE: (
        "sitting dead, dead, dead weight, sitting idle, asleep, that is out, that are out, which "
        "are out, which is out, what is out, who is out, exits range, exits its range, exit its "
        "range, exit range, leave its range, leave range, leaving range, leaving its range, falls "
        "out of range, fall out of range, fell out of range, fallen out of range, went out of "
        "range, go out of range, gone out of range, out of the range, off-range, out of range, "
        "oor, outside range, outside of range, outside its range, out of their range, outside "
        "their range, out of their bounds, not in range, idle, inactive, not earning, "
        "out-of-range, out range, out of its range, leaves its range, leaves range, goes out of "
        "range, off range, out of bounds, stopped earning, not making money, not making anything, "
        "makes nothing, making nothing, earns nothing, earning nothing, doing nothing, went out, "
        "gone out, fell out, fallen out, not paying"
    ),
    Topic.IN_RANGE: (
        "working, in range, active, inside range, within range, earning, healthy, in its range"
    ),
    Topic.NEAR_EDGE: (
        "closest to its edge, closest to edge, nearest to its edge, nearest to edge, about to go "
        "out of range, going out of range soon, about to fall out, nearly out, about to leave, "
        "about to exit, close to leaving, close to out, borderline, edgy, almost out of range, "
        "nearly out of range, near edge, near the edge, close to the edge, close to edge, at the "
        "edge, near its edge, about to go out, almost out, drifting, at risk, risky, in danger"
    ),
    Topic.EMPTY: "drained, zero balance, empty, zero liquidity",
    Topic.LOSING: (
        "that lost money, which lost money, that lose money, that lost, that are losing, which "
        "lose money, ones lose money, positions lose money, which lose, losing, losing money, "
        "loses money, loses, in the red, red, underwater, unprofitable, bleeding, in loss, "
        "losers, loser, losing ones, negative"
    ),
    Topic.WINNING: "winning, winners, winner, in the green, green, profitable ones",
    Topic.STABLE: (
        "stable pair, stablecoin pair, stable pool, stablecoin pool, stable, stables, stablecoin, "
        "stablecoins, stable coin"
    ),
    Topic.WORST: "worst, worst performing, weakest, least profitable, poorest",
    Topic.BEST: (
        "top earner, best earner, biggest earner, highest earner, pays most, highest apr, best "
        "apr, top apr, highest apy, best apy, best, best performing, most profitable, top "
        "performing, strongest, earns most, earning most, earning the most, makes most"
    ),
    Topic.BIGGEST: (
        "most value, highest value, most worth, biggest, largest, most valuable, main, fattest"
    ),
    Topic.SMALLEST: (
        "least value, least worth, lowest value, least valuable one, smallest, least valuable, "
        "tiniest, littlest"
    ),
    Topic.NEWEST: "newest, latest, last, most recent, youngest",
    Topic.OLDEST: "oldest, first",
    Topic.MOST_FEES: (
        "biggest fee, largest fees, largest fee, highest fee, most fee, fattest fees, most fees, "
        "highest fees, biggest fees, most uncollected fees, most unclaimed"
    ),
    Topic.SOME: (
        "partial, partially, partly, partial amount, something, anything, piece, chunk, slice, "
        "bit of, share of, some, bit, a bit, little, part, portion, few"
    ),
    Topic.WHOLE: "completely, entirely, fully, whole, in full, totally, altogether",
    Topic.BELOW: (
        "below, under, beneath, less than, lower than, falls below, drops below, dips below, "
        "drops under, goes below, goes under, falls under, breaks below, drops to, falls to, dips "
        "to, dips under, sinks below, sinks to, crashes to, crashes below, loses level, to "
        "downside, from above"
    ),
    Topic.ABOVE: (
        "above, over, exceeds, higher than, more than, greater than, rises above, goes above, "
        "goes over, breaks above, climbs above, rises to, pumps to, climbs to, passes, pumps "
        "above, moons to, crosses above, breaks over, tops out at, to upside, from below"
    ),
    Topic.REACHES: (
        "reaches, hits, at, goes to, touches, gets to, equals, is at, to, crosses, trades at, "
        "breaks, lands at"
    ),
    Topic.FALLS: (
        "drop by, falling, dropping, crashing, tanking, lower by, minus, drops, drop, dropped, "
        "falls, fall, fell, dumps, crashes, crash, crashed, down, declines, decline, tanks, "
        "sinks, loses, decreases, dips, dip, slides down, goes down, is down, went down, tanked, "
        "nukes, corrects, bleeds, plunges, halves"
    ),
    Topic.RISES: (
        "lift, lifting, hike, rising, pumping, mooning, plus, higher by, rises, rise, pumps, "
        "pump, pumped, up, climbs, gains by, increases, moons, rallies, grows, jumps, goes up, is "
        "up, went up, doubles, surges, rips, soars, appreciates"
    ),
    Topic.BETWEEN: "between, from",
    Topic.AROUND: (
        "±, +/-, plus minus, plus/minus, plus or minus, either side, each side, both sides, each "
        "way, either way, both ways, both directions, each direction, either direction, above and "
        "below, around price, around current price, around spot, around market, around here, "
        "around, up and down, up or down from here"
    ),
    Topic.DOWN_TO: "down to",
    Topic.NOT: (
        "no longer, no, nah, nope, not, do not, did not, never, no need, without, nothing, stop, "
        "none, neither, nor, cannot"
    ),
    Topic.IF: "if, when, whenever, once, unless, as soon as, in case",
    Topic.LATER: (
        "tomorrow, later, tonight, until, till, daily, hourly, every day, every week, every hour, "
        "each day, each week, automatically, next week, next month, after, before, at night, "
        "morning, evening, every time, always, weekly basis, whenever, someday, eventually"
    ),
    Topic.WHAT_IF: (
        "let us say, let us assume, let us suppose, let us imagine, let us pretend, how would it "
        "look if, what would be if, what then, then what, scenario:, let's say, say if, scenario, "
        "scenarios, hypothetically, shock, in event, what if, what happens if, what would happen "
        "if, what happens, suppose, imagine, assume, assuming, simulate, how would, what would, "
        "stress test, stress, model, pretend"
    ),
    Topic.WHAT: "what, what is, what are, which, who, where, where is, wtf is, whos, what was",
    Topic.HOW: (
        "when will, when does, when did, when is, when was, how close, how close is, how close "
        "are, how near, how near is, how far, how far is, how long, how long has, how, how is, "
        "how are, how much, how many, how does, how did, how has, how have, hows"
    ),
    Topic.HOW_TO: "how do i, how can i, how could i, how should i, how to, how do we, how does one",
    Topic.SHOULD: (
        "if i should, if we should, whether i should, whether to, whether we should, if it is "
        "time to, if it makes sense to, how should i, how should we, how do you suggest, what "
        "would be best, what is best to do, is best to do, what now with, should i, shall i, "
        "should we, must i, do i need to, do i need, do i have to, need to, is it time, is it "
        "worth, does it make sense, would you, should, what to do, what should i do, what do i "
        "do, what can i do, what could i do, what would you do, what shall i do, what should we "
        "do, what do you think, do you think, is now a good time, ought i, better to, when should "
        "i, when should, is it better, worth rebalancing"
    ),
    Topic.WHETHER: (
        "were, had, got any, have any, is there any, are there any, is there, are there, is, are, "
        "am i, am, do i, does, did, did i, has, have i, will, was, do, can, are we, have, do we, "
        "did we, could, closed, exited, collected, claimed, compounded, withdrew, removed, added, "
        "moved, opened, swapped, rebalanced, withdrawn, would"
    ),
    Topic.WHY: (
        "in simple words, in plain words, in simple terms, in plain terms, simply put, in a "
        "nutshell, convince, explain it to me, explain it, explain this, explain that, did you "
        "get to, did you come to, did you arrive at, speaks against, speaks for, talks against, "
        "objection, objections, critic say, critic think, strategist say, arbiter say, scout say, "
        "pros and cons, pros cons, for and against, justify, justification, what makes you think, "
        "on what basis, what is behind, why, how come, reason, reasons, reasoning, rationale, "
        "arguments, critic object, critic object to, object to, argue against, thinking behind, "
        "idea behind, logic behind, behind this, behind it, behind plan, behind proposal, how did "
        "you come to, how did you get to, come to that conclusion, conclusion, argued against, "
        "argued for, who argued, spoke against"
    ),
    Topic.MEANS: (
        "what is meant by, eli5, in plain english, means, mean, meaning, definition, define, "
        "explain, stand for, stands for, explained, tell me about, wtf is, glossary, never heard "
        "of, remind what, remind of what"
    ),
    Topic.INTO: "into, in, onto, on, to my, inside",
    Topic.FOR: "for",
    Topic.BOUND: (
        "min, max, minimum, maximum, upper bound, lower bound, upper edge, lower edge, upper "
        "price, lower price, upper limit, lower limit, upper end, lower end, high end, low end, "
        "top of, top end, bottom, bottom of, bottom end, upper, floor, ceiling, top edge, bottom "
        "edge, upper tick, lower tick, min price, max price"
    ),
    Topic.DYNAMIC_FEE: "dynamic, dynamic fee, dynamic fees, dynamic-fee, variable fee, hooked",
    Topic.PORTFOLIO: (
        "exposure to, by position, per position, each position make, each position made, each "
        "position earned, am i up or down, up or down, am i up, am i down, up or down overall, in "
        "profit overall, my il, my impermanent loss, il overall, am i rich, rich yet, beating "
        "hodl, beat hodl, beating holding, beat holding, better than holding, better than hodl, "
        "better than hodling, vs holding, vs hodl, against holding, than just holding, better off "
        "holding, all of it worth, is all of it worth, it all worth, is it all worth, all "
        "together worth, whole portfolio, entire portfolio, portfolio value, value of my "
        "portfolio, portfolio worth, where is money, where is my money, all my money, all my "
        "crypto, all wallets, every wallet, across wallets, all networks, all chains, every "
        "network, across networks, total exposure, my exposure, overall exposure, total net "
        "worth, net worth, networth, how rich, all my stuff, everything i own, everything i have, "
        "total value, total worth, overall value, am i worth, is everything worth, whole worth, "
        "value in total, worth in total, compared to hodling, compared to holding, compared to "
        "hodl, versus holding, versus hodling, vs hodling, against hodling"
    ),
    **FILLING_FORMS,
    **DESK_FORMS,
}


@cache
def forms() -> dict[tuple[str, ...], tuple[Topic, ...]]:
    """Every form, cut into words, with all it can say."""
    found: dict[tuple[str, ...], list[Topic]] = {}
    for topic, written in _FORMS.items():
        for form in written.split(","):
            # They are gone from a sentence before it is read.
            words = tuple(word for word in form.split() if word not in ARTICLES)
            if not words:
                continue
            topics = found.setdefault(words, [])
            if topic not in topics:
                topics.append(topic)
    return {words: tuple(topics) for words, topics in found.items()}


@cache
def single_words() -> frozenset[str]:
    return frozenset(word for form in forms() for word in form)
