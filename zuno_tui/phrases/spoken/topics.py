"""What a word can say in a sentence."""

from __future__ import annotations

from enum import Enum, auto


class Topic(Enum):
    """What a word says in a sentence."""

    # What is to be done.
    COLLECT = auto()
    COMPOUND = auto()
    LEAVE = auto()
    TAKE = auto()
    LESS = auto()
    MORE = auto()
    DOUBLE = auto()
    OPEN = auto()
    MOVE = auto()
    WIDTH = auto()
    ADVISE = auto()
    SWAP = auto()
    BUY = auto()
    WRAP = auto()
    UNWRAP = auto()
    ALERT = auto()
    MUTE = auto()
    UNMUTE = auto()
    ACKNOWLEDGE = auto()
    SHOW = auto()
    KEEP = auto()
    UNDO = auto()
    CANCEL = auto()
    HURRY = auto()
    REMOVE = auto()
    SEND = auto()
    SWITCH = auto()
    AGREE = auto()
    SET = auto()
    PUT = auto()
    QUIT = auto()
    APPROVE = auto()
    APPLY = auto()
    TELL = auto()
    # What it is about.
    FEES = auto()
    POSITIONS = auto()
    POSITION = auto()
    LIQUIDITY = auto()
    RANGE = auto()
    POOLS = auto()
    ALERTS = auto()
    PRICE_ALERTS = auto()
    WALLET = auto()
    GAS = auto()
    PRICE = auto()
    WORTH = auto()
    EARNED = auto()
    HISTORY = auto()
    DEBATES = auto()
    PORTFOLIO = auto()
    TAXES = auto()
    SENT = auto()
    PLAN = auto()
    NETWORK = auto()
    ALLOWANCES = auto()
    DRILL = auto()
    CONNECTION = auto()
    TRACK_RECORD = auto()
    THEME = auto()
    TROUBLE = auto()
    SETTINGS = auto()
    HELP = auto()
    COMPARE = auto()
    SIMULATION = auto()
    BACKTEST = auto()
    REPLAY = auto()
    BOUND = auto()
    """One edge of a range."""
    # Which, how much, when.
    ALL = auto()
    IT = auto()
    ONE = auto()
    ONES = auto()
    EXCEPT = auto()
    OR = auto()
    OUT_OF_RANGE = auto()
    IN_RANGE = auto()
    NEAR_EDGE = auto()
    EMPTY = auto()
    LOSING = auto()
    WINNING = auto()
    STABLE = auto()
    DYNAMIC_FEE = auto()
    WORST = auto()
    BEST = auto()
    BIGGEST = auto()
    SMALLEST = auto()
    NEWEST = auto()
    OLDEST = auto()
    MOST_FEES = auto()
    SOME = auto()
    WHOLE = auto()
    NEW = auto()
    BELOW = auto()
    ABOVE = auto()
    REACHES = auto()
    FALLS = auto()
    RISES = auto()
    BETWEEN = auto()
    AROUND = auto()
    """To both sides of the price."""
    DOWN_TO = auto()
    NOT = auto()
    IF = auto()
    LATER = auto()
    WHAT_IF = auto()
    WHAT = auto()
    HOW = auto()
    HOW_TO = auto()
    SHOULD = auto()
    WHETHER = auto()
    WHY = auto()
    MEANS = auto()
    INTO = auto()
    FOR = auto()
    FILLING = auto()
    """Says nothing here."""


DEEDS = frozenset(
    (
        *(Topic.COLLECT, Topic.COMPOUND, Topic.LEAVE, Topic.TAKE, Topic.LESS, Topic.MORE),
        *(Topic.OPEN, Topic.MOVE, Topic.SWAP, Topic.BUY, Topic.WRAP, Topic.UNWRAP, Topic.REMOVE),
    )
)
"""What would change something on the chain."""
QUESTIONS = frozenset(
    (
        *(Topic.SHOULD, Topic.WHAT, Topic.HOW, Topic.HOW_TO),
        *(Topic.WHETHER, Topic.WHY, Topic.WHAT_IF),
    )
)
"""What makes a question of a sentence that begins with it."""
HELD = (Topic.POSITION, Topic.POSITIONS, Topic.IT, Topic.ONE, Topic.ONES)
"""What points at something that is held, and not at tokens of the wallet."""
