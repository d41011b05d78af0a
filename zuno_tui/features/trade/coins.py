"""Which contract a token's price moves with, by its name on venues."""

from chain.contracts.networks import NATIVE, Network
from chain.tokens import Token
from chain.tokens.token import TokenClass, listed_token

_WRAPPED = {"WBTC": "BTC", "CBBTC": "BTC", "TBTC": "BTC", "STETH": "ETH"}
"""Coins that are worth one of another, by what venues call that one."""
_RATED = {
    **dict.fromkeys(("WSTETH", "WEETH", "RETH", "CBETH", "EZETH"), "ETH"),
    **{coin: f"1000{coin}" for coin in ("PEPE", "SHIB", "FLOKI", "BONK", "XEC", "LUNC")},
}
"""Coins that are worth a share or a multiple of what a contract is of: its mark tells which."""


def coin_of(network: Network, token: Token) -> str:
    """What venues call it: wrapped coins trade under their own name."""
    if token.address in (NATIVE, network.wrapped_native):
        return network.native_symbol
    label = token.label.upper()
    return _WRAPPED.get(label) or _RATED.get(label, label)


def is_rated(token: Token) -> bool:
    return token.label.upper() in _RATED


def is_dollar(network: Network, token: Token) -> bool:
    listed = listed_token(network, token.address)
    return listed is not None and listed.kind is TokenClass.DOLLAR
