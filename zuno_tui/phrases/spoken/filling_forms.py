"""The words that say nothing in a sentence."""

from __future__ import annotations

from zuno_tui.phrases.spoken.topics import Topic

FILLING_FORMS: dict[Topic, str] = {
    Topic.FILLING: (
        "without asking, without confirmation, no questions asked, without questions, panic, "
        "panicking, paired, full size, dear, darling, love, pal, my friend, today, otherwise, "
        "discussed, end, wen, longer, any more, anymore, any longer, any, whichever, myself, "
        "whatever you do, no matter what, please do, plain, native, raw, normal, regular, free, "
        "play it, play, we are, dollars, dollar, in dollars, usd price, done, finished, sick, "
        "tired, i am, thank you, thank you very much, much appreciated, vs, versus, token, clean "
        "up, tidy up, good morning, good evening, gm, sup, anyway, kinda, sorta, real quick, rly, "
        "guys, friend, chief, boss, zuno, if you can, when you can, if possible, if you do not "
        "mind, market, situation, moment, at present, at this moment, the, a, an, help, my, our, "
        "me, us, mine, please, of, from, with, by, to, and, i, we, you, your, about, off, out, "
        "its, their, be, pool, pair, tier, more, also, then, than, as, so, too, another, have "
        "got, got, i have, waiting, available, pending fees, owed, accrued, currently, now, rn, "
        "today's, again, back, work, to work, side, end up, happens, happen, total, current, open "
        "ones, open positions, usd, in usd, much, many, doing, looking, look like, like, going, "
        "going on, go, goes, up with, there, these, those, want, need, would like, need some, "
        "try, let, lets, using, via, against, level, mark, price hits, that are, that is, which "
        "are, which is, who is, some more, anything, something, things, left, over time, overall, "
        "really, ever, yet, still, ok, okay, performing, perform, at all, at the moment, so far, "
        "at once, cheap, expensive, high, low, highest, lowest, most, least, pays, pay, spend, "
        "can, i can, gonna, going to, am, get, gets, got me, stuff, run, do, were, was, is, are, "
        "right, at, on, in, off of, per, per cent, percentage, amount, worth of, along, extra, "
        "additional, straight, away, quickly, fast, asap, immediately, directly, just, only, "
        "alone, yo, bro, hey, hi, ser, sir, fam, mate, buddy, dude, man, thanks, thank, thx, ty, "
        "cheers, hello, well, uh, um, hmm, actually, basically, kindly, pls, plz, last time, "
        "position's, itself, themselves, whats up, how's, new ones, own, between the, that's, "
        "time, times, ago, since, entry, days, day, hours, recently, lately, been, easy, rest, "
        "these days, this week, this month, this year, this morning, this evening, this time, "
        "points, basis points, right away, nice, cool, together, rather, downside, sleep, prefer, "
        "sooner, already, as possible, mode, risk, owes, whatever"
    ),
}
