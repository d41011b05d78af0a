"""What each word on the cards and over the columns means, for whoever asks with `?`."""

from __future__ import annotations

PLAN_TERMS = {
    "hold, exit": "leave it as it is; close it and take the tokens back",
    "A, B, C": "the moves the agents argued about; approve B takes the second",
    "pool": "the pool an option is in, where there are several",
    "pays 7 d": "what the pool paid over what arbitrage took in 7 days; over 1 it pays",
    "range, from, to": "the prices between which it earns",
    "stays 24 h": "the chance that the price stays in the range for a day",
    "stays 7 d": "the same for a week",
    "net in 7 d": "fees less LVR less cost of a week: 8 weeks in 10 end between the two",
    "cost": "gas, swap fee and slippage, all of it",
    "earned back": "how long until what it earns more than holding has paid its cost",
    "expected": "the middle of what a week nets",
    "fees a day": "what a day earns: 8 days in 10 end between the two",
    "LVR a day": "loss versus rebalancing: what arbitrage takes from the range in a day",
    "swaps": "what must be sold first to fill the range",
    "buffer": "how long the price stays in the range with 95 % certainty",
    "buffer at 2σ": "the same if the price moves twice as wildly",
    "buffer at 3σ": "the same if it moves three times as wildly",
    "fees APR": "a day's fees as a share of the worth, a year of them",
    "LVR APR": "a day's LVR as a share of the worth, a year of it",
    "net APR": "fees APR less LVR APR",
    "past 24 h": "what the range would have netted over the last day, and how much was in range",
    "past 7 d": "the same over the last week",
    "judged": "what the Critic said: accept, revise or veto",
}
POSITION_TERMS = {
    "ID": "the number of the position: inspect 7, recommend 7",
    "PAIR": "its two tokens and the pool's fee; * is a fee that changes",
    "STATE": "● in range and earning, ▲ near an edge, ✗ out of range, · empty",
    "RANGE": "the range from edge to edge, and the price in it or beyond it",
    "VALUE": "what its tokens are worth, without fees",
    "FEES": "fees that wait to be collected",
    "APR": "the last day's fees as a share of the value, a year of them",
    "VS HOLD": "what it won or lost against keeping the tokens that went in",
    "NET/DAY": "the last day's fees less LVR, what arbitrage took",
    "24 H": "the price of the last day, the newest right",
    "PRICE": "the pool's price now",
    "FROM – TO": "the prices between which it earns",
    "NOTES": "a hook that can harm, a stranger who may move it, a subscriber",
}
ALERT_TERMS = {
    "NO": "the alert's own number: ack 3, mute 3 for 2h",
    "ALERT": "✗ critical, ▲ warning, · info, or what became of it",
    "ID": "the position it is about",
    "MESSAGE": "what is the matter, with its figures",
    "NEXT": "what to type about it; enter puts it in the prompt",
    "AGE": "since when it is so",
}
