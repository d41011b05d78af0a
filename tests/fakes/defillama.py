"""A DefiLlama of our own: the two paths zuno asks, over real HTTP, with every way to fail."""

import json
from dataclasses import dataclass, field

from tests.fakes.coingecko import Answer, Asked, CoinGeckoDouble


@dataclass
class DefiLlamaDouble(CoinGeckoDouble):
    prices: dict[str, object] = field(default_factory=dict)
    """What `/prices/current` says of a coin like `base:0x…`."""
    past: dict[str, object] = field(default_factory=dict)
    """The `prices` rows of `/batchHistorical`."""

    def _answer(self, asked: Asked) -> Answer:
        match asked.path.split("/")[1:]:
            case ["prices", "current", names]:
                wanted = names.split(",")
                return _coins({one: self.prices[one] for one in wanted if one in self.prices})
            case ["batchHistorical"]:
                named = json.loads(asked.parameters["coins"])
                told = {one: self.past[one] for one in named if one in self.past}
                return _coins({one: {"symbol": "X", "prices": rows} for one, rows in told.items()})
            case _:
                return Answer(404, b"Not found")


def _coins(told: dict[str, object]) -> Answer:
    return Answer(body=json.dumps({"coins": told}).encode())
