"""Tokens: identity by address against a bundled list, names cleaned and never trusted."""

from chain.tokens.reading import (
    TokenQuestion,
    ask_tokens,
    forget_token,
    read_tokens,
    remembered_tokens,
    unlisted_token,
)
from chain.tokens.token import (
    MOST_DECIMALS,
    ListedToken,
    Token,
    TokenClass,
    TokenList,
    amount_text,
    every_listed_token,
    listed_token,
    listed_tokens,
    named_tokens,
)

__all__ = [
    "MOST_DECIMALS",
    "ListedToken",
    "Token",
    "TokenClass",
    "TokenList",
    "TokenQuestion",
    "amount_text",
    "ask_tokens",
    "every_listed_token",
    "forget_token",
    "listed_token",
    "listed_tokens",
    "named_tokens",
    "read_tokens",
    "remembered_tokens",
    "unlisted_token",
]
