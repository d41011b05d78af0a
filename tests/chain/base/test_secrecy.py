"""What of a URL may be shown: whom it names, and nothing that may be a key."""

from __future__ import annotations

import pytest

from chain.base.clean_text import masked_urls, shortened_urls


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://mainnet.base.org", "https://mainnet.base.org"),
        ("https://mainnet.base.org/", "https://mainnet.base.org/"),
        ("http://127.0.0.1:8545", "http://127.0.0.1:8545"),
        ("https://base.example/v2/8e1fCANARY", "https://base.example/v2/…"),
        ("https://eth.example/eth-mainnet/v3/12CANARY90ab", "https://eth.example/eth-mainnet/v3/…"),
        ("https://eth.example/canarycanarycanary/", "https://eth.example/…/"),
        ("https://me:CANARY@eth.example/8453", "https://…@eth.example/8453"),
        ("https://me:CAN@ARY@eth.example", "https://…@eth.example"),
        ("https://eth.example?key=CANARY,CANARY", "https://eth.example?…"),
        ("https://eth.example/#CANARY", "https://eth.example/#…"),
        ("wss://0123456789abcCANARYdef01.example/ws", "wss://….example/ws"),
        ("HTTPS://eth.example/CANARY1", "HTTPS://eth.example/…"),
        (
            "https://a.example/CANARY1, wss://b.example/CANARY2",
            "https://a.example/…, wss://b.example/…",
        ),
        ("0123456789CANARY0123456789", "…"),
    ],
)
def test_what_may_be_a_key_is_not_shown(url: str, shown: str) -> None:
    assert shortened_urls(url) == shown
    assert len(masked_urls(url)) == len(url)
    assert "CANARY" not in masked_urls(url)
