"""What endpoints were seen to do besides what their providers document, and where it was seen."""

from tests.fakes.providers.profile import Profile, RateLimit, Refusal


def _habit(name: str, **habits: object) -> Profile:
    return Profile(name, network="devnet", latency=0.0, **habits)  # type: ignore[arg-type]


_TOO_MANY = Refusal(429, "Too Many Requests", 429, page=True, retry_after=1)
_GONE = Refusal(-32601, "the method does not exist/is not available")

BEHAVIOURS: tuple[Profile, ...] = (
    _habit("plain"),
    # circlefin/arc-node#454: machines of one address that differ by blocks.
    _habit("a block behind", share_behind=0.2),
    # Alethio/memento#16 (Kaleido), ethers-io/ethers.js#4123 (mevblocker), hedera relay#1820.
    _habit("no batch: -32700", most_in_batch=1, batch_too_large=Refusal(-32700, "parse error")),
    _habit(
        "no batch: 405",
        most_in_batch=1,
        batch_too_large=Refusal(405, "405 Not Allowed", 405, page=True),
    ),
    _habit("no batch: -32600", most_in_batch=1, batch_too_large=Refusal(-32600, "")),
    # AlphaWallet/alpha-wallet-ios#5021, Gnosis' gateway.
    _habit(
        "one getLogs a batch",
        alone_in_batch=(
            "eth_getLogs",
            Refusal(-32600, 'Too many ["eth_getLogs"] methods in the batch'),
        ),
    ),
    _habit("batch limit 2", most_in_batch=2, batch_too_large=Refusal(-32000, "batch limit 2")),
    # erigontech/erigon#7090, risc0/risc0-ethereum#656, INFURA#237, dimension-adapters#1136.
    _habit(
        "20 blocks", most_blocks=20, too_many_blocks=Refusal(-32600, "up to a {most} block range")
    ),
    _habit("30 blocks", most_blocks=30),
    _habit(
        "24 blocks", most_blocks=24, too_many_blocks=Refusal(-32602, "maximum is set to {most}")
    ),
    _habit("40 blocks", most_blocks=40, too_many_blocks=Refusal(-32012, "block range too large")),
    # bnb-chain docs-site#621; ethers-io/ethers.js#841.
    _habit(
        "no logs: -32005", refused_methods=(("eth_getLogs", Refusal(-32005, "limit exceeded")),)
    ),
    _habit(
        "logs of few blocks",
        logs_kept=20,
    ),
    # What gateways answer now and then.
    _habit("-32046 10 %", some_requests=(0.1, Refusal(-32046, "Cannot fulfill request"))),
    _habit("403 17 %", some_requests=(0.17, Refusal(403, "Just a moment...", 403, page=True))),
    _habit("404 20 %", some_requests=(0.2, Refusal(404, "default backend - 404", 404, page=True))),
    _habit(
        "404 Kong 20 %",
        some_requests=(0.2, Refusal(404, "no Route matched with those values", 404, page=True)),
    ),
    _habit("520 15 %", some_requests=(0.15, Refusal(520, "Web server error", 520, page=True))),
    _habit("reset 20 %", some_requests=(0.2, Refusal(0, "", reset=True))),
    _habit("429 each 4th", each_request=(4, _TOO_MANY)),
    _habit(
        "-32090 10/s",
        rate=RateLimit(
            10, 20, each_item=True, refusal=Refusal(-32090, "Too many requests, retry in 10s")
        ),
    ),
    _habit(
        "daily quota",
        quota=(12, Refusal(-32005, "daily request count exceeded, request rate limited")),
    ),
    _habit("402 after 12", quota=(12, Refusal(402, "Payment Required", 402, page=True))),
    # hoprnet/hoprnet#7437, erigontech/erigon#16364, NethermindEth/nethermind#9178.
    _habit("logs at random none", empty_logs=0.25),
    _habit("at most 5 logs", fewest_logs=5),
    _habit("null blocks 25 %", null_blocks=0.25),
    # node-real/bsc-erigon#376.
    _habit("no finalized", refused_tags=(("finalized", Refusal(-39001, "Unknown block")),)),
    _habit("no pending", refused_tags=(("pending", Refusal(-32000, "pending is not available")),)),
    _habit("fee history null", null_methods=("eth_feeHistory",)),
    _habit("no fee history", refused_methods=(("eth_feeHistory", _GONE),)),
    _habit("no simulation", refused_methods=(("eth_simulateV1", _GONE),)),
    _habit(
        "simulation crashes",
        refused_methods=(("eth_simulateV1", Refusal(-32603, "method handler crashed")),),
    ),
    _habit("no estimate", refused_methods=(("eth_estimateGas", Refusal(-32053, "not allowed")),)),
    _habit("no tip", refused_methods=(("eth_maxPriorityFeePerGas", _GONE),)),
    _habit("no block hashes", takes_hashes=False),
    _habit("ids as text", ids_as_text=True),
    _habit("shuffled", shuffled=True),
    _habit("extra fields", extra_fields=True),
    _habit("no overrides", overrides=Refusal(-32602, "too many arguments, want at most 2")),
    _habit("gzip", line="gzip"),
    _habit("chunked", line="chunked"),
    _habit("idle close", line="idle close"),
    _habit("[::1]", line="::1"),
    _habit("answers after 30 s", answers_after=30.0),
    _habit("send: answer lost", sends="answer lost"),
    _habit("send: already known", sends="already known"),
    _habit("send: 403", sends="refused"),
    _habit("send: dropped", sends="dropped"),
    _habit("receipt 8 s late", receipts_late=8.0),
    _habit("receipt 40 s late", receipts_late=40.0),
    _habit("without a key", closed=401),
)
"""Those of a virtual chain of years are in profiles.py; faults of the line in tests/chain/rpc."""
