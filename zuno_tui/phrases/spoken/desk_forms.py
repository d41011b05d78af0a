"""The words that speak of the desk itself, its plans and what it sent, by what they say."""

from __future__ import annotations

from zuno_tui.phrases.spoken.topics import Topic

DESK_FORMS: dict[Topic, str] = {
    Topic.SETTINGS: (
        "new wallet, create wallet, import wallet, import key, import seed, my slippage, current "
        "slippage, change profile, set profile, change my slippage, my slippage to, slippage to, "
        "change wallet, switch wallet, connect wallet, connect my wallet, add wallet, connect my "
        "ledger, connect ledger, hardware wallet, change rpc, change my rpc, change endpoint, set "
        "slippage, set my slippage, change slippage, set risk, set my risk, change risk, change "
        "my risk, default risk, set max, set limit, set my limit, settings, preferences, config, "
        "configure, configuration, where do i set, where do i change, where can i set, where can "
        "i change, max gas, maximum gas, gas limit, max slippage, slippage limit, slippage "
        "tolerance, spending limit, my limits, another rpc, different rpc, other rpc, own rpc, "
        "another endpoint, different endpoint, own node, different node, use my own node"
    ),
    Topic.HELP: (
        "are you there, you there, hi there, anybody there, readme, docs, documentation, what can "
        "you do, what do you do, what are you, who are you, what can i do here, what is possible "
        "here, can you do, menu, what can i say, can i say to you, how i begin, how do i begin, "
        "features, guide, getting started, help me, help me out, i am lost, i am new, i am new "
        "here, i am confused, i am stuck, help please, how do i use this, how does it work, can i "
        "type, can i type here, can i say here, can i ask here, where do i start, how to start, "
        "what can this do, what commands, which commands, commands, manual, do not get it, i do "
        "not get it, i do not understand, do not understand, no clue, no idea how, no idea what "
        "to type"
    ),
    Topic.COMPARE: (
        "before / after, before/after, old / new, old/new, before - after, does it change, will "
        "it change, would it change, it changes, is different, what is different, differs, what "
        "changed, old range, old vs new, new vs old, now vs then, will be different, be "
        "different, different afterwards, look like afterwards, look after, what changes, what "
        "would change, what will change, would change, compare, comparison, difference, "
        "differences, diff, side by side, before and after, before vs after, before after, old "
        "versus new, new versus old, old and new, old to new"
    ),
    Topic.SIMULATION: (
        "dry run it, sim, on fork, on a fork, test it on, run it on fork, try it on, sandbox, it "
        "succeed, will succeed, going to work, going to succeed, would it revert, will it revert, "
        "does it revert, would revert, will revert, if it reverts, whether it reverts, it "
        "reverts, going to revert, might revert, could revert, this revert, that revert, would it "
        "fail, will it fail, would fail, will fail, this fail, if it fails, whether it works, if "
        "it works, will this work, sim it, sim this, sim that, sim first, would this even work, "
        "would that even work, even work, test plan, try plan, test it, test it first, try it "
        "first, try first, would that work, would it work, would this work, will it work, would "
        "it go through, simulate, simulation, dry run, dry-run, dryrun, preview, test run, try it "
        "out, rehearse, rehearsal, even go through, that go through, this go through, would go "
        "through, it fails, chance it fails, chance it reverts, could it fail, might it fail, "
        "could it revert, this succeed, that succeed, will this succeed"
    ),
    Topic.BACKTEST: (
        "on old prices, on past prices, on historical prices, on past data, on old data, against "
        "past prices, backtest, back test, back-test, backtesting, have worked, have performed, "
        "have done over, have done in past, have fared, worked historically, worked in past, "
        "historical test, would this have done, would it have done, would that have done, have "
        "done last year, have done last month, would have returned, would it have returned, it "
        "have made"
    ),
    Topic.REPLAY: (
        "replay, play it again, play back, playback, play again, play it back, rewatch, re-watch, "
        "watch again, rewind, rerun debate, rerun last debate, debate again, last debate once "
        "more"
    ),
    Topic.DEBATES: "past debates, old debates, records, transcripts",
    Topic.TRACK_RECORD: (
        "past suggestions, your past suggestions, past recommendations, old suggestions, past "
        "plans, your suggestions, your last calls, your past calls, how good were, how good was, "
        "how right, trustworthy, reliable, your recommendations, accurate, accuracy, trust you, "
        "your plans, hit rate, how accurate, how often are you right, how often were you right, "
        "been right, your calls, past advice, were you right, track record, scorecard, your "
        "advice, you right, was right, how good are you, your predictions, predictions, "
        "forecasts, your forecasts"
    ),
    Topic.THEME: "theme, dark mode, light mode, colours, colors",
    Topic.TROUBLE: (
        "what is cooking, red flag, red flags, buzzed, phone buzzed, pinged, got pinged, beeped, "
        "alerted, notified, rang, what is new, is new, beep, did it beep, that beep, that noise, "
        "red thing, red dot, red light, red mark, red sign, red text, red alert, yellow thing, "
        "yellow dot, yellow sign, orange thing, exclamation mark, exclamation point, blinking, "
        "flashing, beeping, badge, while i slept, while i was asleep, while i was sleeping, while "
        "i was away, while i was gone, while i was out, while away, overnight, whats new, what "
        "did i miss, did i miss, needs me, needs attention, fire, on fire, urgent, wrong, "
        "problem, problems, attention, issue, issues, anything new, warning, everything ok, is "
        "everything, everything fine, all good, all ok, happening, should know, need to know, "
        "going on here, trigger, triggered, went off, go off, fired"
    ),
    Topic.CONNECTION: (
        "latency, debug, ping time, is it online, slow today, hanging, frozen, so slow, too slow, "
        "lagging, laggy, is slow, diagnose, diagnostics, diagnostic, nothing loads, not loading, "
        "does not load, will not load, nothing is loading, nothing works, not working, offline, "
        "disconnected, health check, self test, self check, connectivity, connected, app is "
        "broken, node down, sanity check, checkup, check-up, troubleshoot, rpc, endpoint, "
        "connection, node"
    ),
    Topic.DRILL: "exit drill, drill, if i have to",
    Topic.PLAN: (
        "will i sign, i will sign, am i going to sign, do i sign, would i sign, calldata, raw "
        "transaction, did you prepare, you prepare, you prepared, prepared, have you prepared, "
        "before i sign, am i signing, i am signing, about to sign, am i about to sign, signing "
        "here, did you propose, you proposed, recommended, is recommended, how confident, how "
        "confident are you, how sure are you, how certain, how certain are you, confidence, are "
        "you sure, are you sure about, on card, card say, card says, you about to do, are you "
        "about to do, come up with, did you come up with, you come up with, proposed, the plan, "
        "on the table, plan, proposal, options, alternatives, did you recommend, did you say, you "
        "recommended, did you suggest, your recommendation, steps, what you propose, you propose, "
        "you are proposing, what you suggest"
    ),
    Topic.SENT: (
        "receipt, did it work, tx receipt, transaction receipt, waiting to be signed, waiting to "
        "sign, waiting for signature, waiting for signatures, to be signed, still to sign, needs "
        "signing, need signing, to sign, unsigned, sent, been sent, it been confirmed, been "
        "confirmed, it confirmed, is it confirmed, is it mined, is it done, has it landed, mined, "
        "mined yet, been mined, included yet, been included, landed yet, stuck, resend, "
        "rebroadcast, did you send, was it sent, has it been sent, confirmed on chain, mempool, "
        "unconfirmed, transaction, transactions, tx, txs, txn, txns, outbox, did i send, waiting "
        "to be sent, waiting to send, to be sent, queued, pending, go through, went through, "
        "confirmed yet, needs my signature, need my signature, my signature, awaiting signature, "
        "awaiting signatures"
    ),
}
