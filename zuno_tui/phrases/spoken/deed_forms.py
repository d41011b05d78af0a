"""The words that say what is to be done, by what they say."""

from __future__ import annotations

from zuno_tui.phrases.spoken.topics import Topic

DEED_FORMS: dict[Topic, str] = {
    Topic.COLLECT: (
        "cash in on, scoop, scoop up, fetch, collect, collecting, claim, claiming, harvest, "
        "harvesting, skim, reap, gather, grab, sweep, bank, pocket, pick up, reaping, cash in"
    ),
    Topic.COMPOUND: (
        "auto roll, auto-roll, autoroll, auto reinvest, fold, fold back, feed back, loop back, "
        "reuse, re-use, comp, cmpd, re-add, recycle, plough, plow, reinvesting, compounded in, "
        "compound, compounding, recompound, re-compound, reinvest, re-invest, restake, "
        "autocompound, auto-compound, auto compound, plow back, plough back, roll back in, "
        "snowball, eat its own fees, eat its fees, feed itself"
    ),
    Topic.LEAVE: (
        "cash everything out, cash it all out, cash all out, cash it out, take down, dissolve, "
        "wipe out, retire, flatten, cash me out, close off, done with, i am done with, finished "
        "with, through with, wrap up, unload, offload, quit position, end position, tear down, "
        "close entirely, get me out, get me completely out, take me out, wind it down, wind this "
        "down, wind that down, wind them down, shut it down, close it out, close it down, wrap it "
        "up, empty out, exit out, close, closing, close out, close down, exit, exiting, unwind, "
        "liquidate, kill, nuke, bail, bail out, dump, terminate, shut, shut down, get out, "
        "getting out, get rid, pull out, pull plug, cash out, wind down, eject, burn, i want out, "
        "want out, abandon, scrap, ditch, zero out, stop lping, stop providing, close up, drain, "
        "bin, trash, chuck out, toss out, get shot of, say goodbye to, part with, let go of, be "
        "done with, be rid of, want nothing to do with, want nothing more to do with"
    ),
    Topic.TAKE: (
        "pay out, payout, withdraw, withdrawing, take, taking, pull, pulling, take out, redeem, "
        "yank, rip, rip out, rm"
    ),
    Topic.LESS: (
        "dec, lessen, diminish, slash, minimize, free up, unlock, less, unstake, pare, pare down, "
        "pare back, ease out, decreasing, lowering, trimming, decrease, reduce, reducing, cut, "
        "trim, lower, shrink, shave, lighten, downsize, halve, split, scale down, scale back, "
        "scale out, dial down, derisk, de-risk, cut back, slim down, cut down, size down, scale, "
        "sell down, smaller, thinner, lighter, cut in half"
    ),
    Topic.MORE: (
        "inc, more money, more capital, more funds, more cash, more size, ape, ape in, bigger, "
        "enlarge, top-off, adding, increasing, pour, dump in, stack, reinforce, allocate, chuck, "
        "toss, pile, add, increase, supply, invest, boost, inject, throw, feed, zap, top up, "
        "top-up, topup, top, scale up, beef up, size up, contribute, grow, fund, deposit, bump, "
        "load, fill, top off, all in, max out, buff, raise, more liquidity, more into, more in, "
        "fatten, fatten up, bulk up, plump up, beef, pump more into"
    ),
    Topic.PUT: "put, stick, park, place",
    Topic.DOUBLE: "double, double down, triple",
    Topic.OPEN: (
        "add position, add new position, put together, put together position, single sided, "
        "single-sided, one sided, one-sided, range order, limit order, build, lp with, set up lp, "
        "set up an lp, go in with, enter position, spin up, establish, open, opening, create, "
        "creating, mint, provide, providing, start, deploy, launch, set up a position, set up "
        "position, make a position, make position, enter, lping, start lping, lp into, to lp, go "
        "lp, make lp, want lp, make me lp, build lp, pair it with, pair with, pair that with, "
        "pair them with"
    ),
    Topic.NEW: "new, fresh, another position",
    Topic.MOVE: (
        "push, repair, mend, re-centre, unstick, merge, combine, consolidate, covers, so it "
        "covers, drag, rebal, re-bal, rebalanc, rebalence, put back in range, bring back into "
        "range, retarget, re-target, nudge, bring back in range, get back in range, rebalance, "
        "rebalancing, re-balance, recenter, recentre, re-center, re-centre, re-range, rerange, "
        "move, moving, shift, reposition, adjust, readjust, optimise, optimize, optimizing, fix, "
        "fixing, realign, tune, roll, back in range, back into range, relocate, slide, center, "
        "centre, mv, to cover, reset, to span, span, spanning, stretch from, should cover"
    ),
    Topic.WIDTH: (
        "extend, stretch, widen, narrow, tighten, broaden, wide, tight, wider, narrower, tighter, "
        "widening, expand, concentrate, squeeze"
    ),
    Topic.ADVISE: (
        "think is best, you think is best, exit strategy, exit plan, do not know what to do with, "
        "do not know what to do, not know what to do, agents do, agents do with, agents suggest, "
        "agents recommend, agents propose, your agents, improve, improved, improving, be "
        "improved, better off, scared, worried, nervous, afraid, concerned, anxious, freaking "
        "out, not sure about, unsure about, no idea what to do with, do something about, do "
        "something with, do something, does need, deal with, take care of, sort out, handle, "
        "propose, proposing, run agents, run agents on, run debate, start debate, run analysis, "
        "worth keeping, worth holding, worth staying in, worth leaving, reckon, do you reckon, "
        "you reckon, needs rebalance, needs rebalancing, need rebalancing, needs adjusting, needs "
        "adjustment, what is smart, smartest thing, smart thing to do, sensible, best strategy, "
        "good strategy, what strategy, thinking about, thinking of, considering, contemplating, "
        "wondering, tempted to, idea, ideas, any idea, any ideas, tip, tips, decide, decide "
        "about, decision, thinking, ask agents, ask your agents, let agents, have agents, new "
        "range, another range, different range, fresh range, agents say, agents think, agents say "
        "about, earn again, now what, your advice, range is best, best thing, best range, right "
        "range, better range, good range, optimal range, ideal range, optimum, rec, reco, recs, "
        "too tight, too wide, too narrow, too broad, second opinion, your view, your take, your "
        "call, best to do, what is best, best move, best course, best thing to do, verdict, worth "
        "doing, recommend, recommendation, recommendations, suggest, suggestion, suggestions, "
        "advise, advice, opinion, thoughts, think, what now, what next, analyse, analyze, "
        "evaluate, review, assess, argue, debate, worth it, make sense, time to, good idea, need "
        "anything, needs anything, need anything from, need doing, talk to agents, talk to agents "
        "about, agents about, agents look at, agents have look"
    ),
    Topic.SWAP: (
        "swp, ape, rotate, change into, swapping, converting, offload into, swap, convert, "
        "exchange, trade, sell, selling, flip, turn"
    ),
    Topic.BUY: "buy, buying, purchase",
    Topic.WRAP: (
        "wrapped, wrapping, wrap, wrapped kind, wrapped version, wrapped form, with kind, with "
        "version"
    ),
    Topic.UNWRAP: "unwrapped, unwrapping, unwrap, unpack, un-wrap",
    Topic.ALERT: (
        "lmk, holler, give a shout, give me a shout, flag, alert, notify, warn, ping, remind, "
        "message, text, buzz, wake, wake up, let know, heads up, shout, alarm, notification when, "
        "set alarm, email, sms, telegram, dm, mail, let us know, ring, give a ring, phone"
    ),
    Topic.TELL: "tell, say",
    Topic.MUTE: (
        "stop spam, spam about, stop noise, stop this noise, leave alone about, not want to hear "
        "about, do not want to hear about, do not want to hear, do not want to know about, stop "
        "with, enough of, pause alerts, pause notifications, pause pings, pause my alerts, pause "
        "all alerts, hold alerts, suspend alerts, do not warn, do not text, do not message, do "
        "not remind, do not buzz, do not bother, do not disturb, stop bothering, do not notify, "
        "do not alert, do not ping, do not tell, no more alerts, no more notifications, stop "
        "notifications, stop spamming, silent, shush, mute, muting, silence, snooze, quiet, hush, "
        "shut up, turn off, disable, stop nagging, stop annoying, stop shouting, stop yelling, "
        "stop pestering, stop beeping, stop buzzing, stop texting, stop messaging, stop "
        "reminding, stop harassing, stop talking, no more nagging, leave in peace about, stop "
        "alerting, stop pinging, stop notifying, stop telling, stop warning, stop bugging, stop "
        "alerts, leave alone with"
    ),
    Topic.UNMUTE: "unmute, unsilence, unsnooze, turn on, enable",
    Topic.ACKNOWLEDGE: (
        "as seen, mark, as read, mark read, mark seen, mark as seen, i saw, saw it, seen it, read "
        "it, ack, acknowledge, dismiss, clear, mark as read, got it, seen, noted, i have read, "
        "have read, i have seen, have seen, already read, already seen, read alert, seen alert, "
        "saw alert"
    ),
    Topic.SHOW: (
        "summarize, summarise, sum up, zoom in on, zoom in, zoom into, zoom, focus on, focus, "
        "rundown, recap, snapshot, drill into, walk me through, fill me in, show, list, display, "
        "see, view, give, print, check, get, inspect, look, look at, look into, details, detail, "
        "info, information, status, state, overview, summary, pull up, describe, bring up, "
        "examine, find, open up, report, breakdown, statement, take look, have look, a look, list "
        "view, screen, chart, table, watchlist"
    ),
    Topic.KEEP: (
        "skip, spare, ignore, leave out, leave deposit, keep deposit, leave principal, keep "
        "principal, leave capital, keep open, stay open, leave open, remain open, leave as it is, "
        "leave as is, hold, keep, leave, do nothing, do not touch, sit tight, stay, hands off, "
        "leave alone, let it be, let be, let it ride, let ride, do not mess with, do not change, "
        "do not do anything, untouched, as it is, as is"
    ),
    Topic.UNDO: (
        "undo, revert, rollback, roll back, take back, reverse, unsend, un-do, take that back, "
        "take it back, take this back, get that back, want it back, can i undo, i regret, regret, "
        "regret that"
    ),
    Topic.CANCEL: (
        "reject, decline, throw away, throw it away, refuse, changed my mind, change my mind, "
        "stop wait, wait wait, wait no, no no, on second thought, drop it, drop that, nvm, "
        "nevermind, never mind, forget it, forget, forget about, scratch that, scratch it, "
        "discard, call it off, call off, back out of plan, disregard, cancel that, cancel, abort, "
        "no wait, no wait stop, wait stop, no stop, hold on, stop what you are doing, stop that, "
        "stop this, stop it"
    ),
    Topic.HURRY: (
        "faster, quicker, speed up, speed-up, accelerate, bump, speed it up, speed this up, speed "
        "that up, hurry, hurry up, hurry it up"
    ),
    Topic.REMOVE: "remove, delete, drop",
    Topic.SEND: "send, transfer, bridge",
    Topic.SWITCH: (
        "go on, move over to, take me to, jump to, switch, connect, use, change to, go to, hop"
    ),
    Topic.AGREE: (
        "do first one, do second one, do first, do second, do recommended one, take first option, "
        "go with first, go with it, go with that, looks fine, looks fine to, looks ok, looks "
        "great, looks right, looks alright, sounds right, sounds fine, alright, all right, carry "
        "on, continue, sgtm, perfect, good to go, let us go, lfg, i like it, i am in, works for, "
        "approved by, good by, happy with, i am happy with, good with, i am good with, make it "
        "happen, go for it, do that, do this, agree, i agree, i am ok with, fine by me, sounds "
        "good, accepted, ok with, fine with, i am fine with, yes, yep, yeah, do it, go, go ahead, "
        "proceed, confirm, confirmed, accept, agreed, sure, looks good, lgtm, ship it, make it "
        "so, y"
    ),
    Topic.SET: "set, change, make, update, edit, adjust to",
    Topic.APPLY: (
        "run it, execute it, run plan, execute plan, fire it, do transaction, send transaction, "
        "send tx, submit transaction, submit tx, send my transaction, broadcast, execute, submit, "
        "sign, sign it, send it, send it off, push it, push it through, fire away, fire it off, "
        "pull the trigger, pull trigger, sign and send, run it without asking, sign transaction, "
        "sign tx, apply, applying, push button, press button, hit button, hit send, do everything "
        "yourself, do it all yourself, do it yourself, autopilot, on autopilot"
    ),
    Topic.APPROVE: (
        "approved, approve, approving, approve of, sign off on, signing off on, i sign off on, "
        "signed off, signed off on, give my blessing, green light, greenlight, rubber stamp, my "
        "blessing, blessing"
    ),
    Topic.QUIT: (
        "log off, logging off, sign off, signing off, done for today, done for now, done for day, "
        "all for today, all for now, call it day, call it a day, see you, see ya, cya, good "
        "night, goodnight, gn, close app, close desk, close program, close window, close "
        "terminal, closing laptop, close laptop, closing my laptop, close my laptop, shut laptop, "
        "closing computer, close computer, closing app, closing desk, closing terminal, closing "
        "window, going offline, heading out, heading off, off to bed, going to bed, exit app, "
        "exit program, exit desk, exit terminal, leave desk, leave app, shut app, shut down app, "
        "quit app, quit program, that is all for today, that is it for today, that is all, bye, "
        "quit, leave the desk, log out, logout, laters, ttyl, gtg, peace out, i am leaving, i am "
        "leaving now, leaving now, heading home, out for today, i am out for today, i am off, "
        "that will be all, see you later, see you tomorrow, logging out, sign out, goodbye, done "
        "here, i am done here"
    ),
}
