"""The providers people use, and where each habit is documented or was recorded.

How many calls a second and how slow a query is are chosen to bite within a test: providers count
in units of their own, and change them.
"""

import math

from tests.fakes.providers.profile import Profile, RateLimit, Refusal

_PER_SECOND = Refusal(
    429,
    "Your app has exceeded its compute units per second capacity. If you have retries enabled,"
    " you can safely ignore this message.",
)

PROFILES: tuple[Profile, ...] = (
    # The words for over 10,000 blocks: ponder-sh/ponder packages/utils/src/_test/base.test.ts.
    # Single items of a batch over the limit, and the batch cap: ethereum-optimism/infra
    # proxyd/server.go and proxyd/errors.go.
    Profile(
        "mainnet.base.org",
        most_blocks=10_000,
        too_many_blocks=Refusal(-32011, "no backend is currently healthy to serve traffic"),
        most_in_batch=10,
        batch_too_large=Refusal(-32014, "too many RPC calls in batch request"),
        rate=RateLimit(20, 40, each_item=True, refusal=Refusal(-32016, "over rate limit")),
    ),
    # proxyd again, with its own range limit: proxyd/README.md, "block_range_limit" (-32600), and
    # back-ends of one group that differ by a block.
    Profile(
        "proxyd",
        network="optimism",
        most_blocks=10_000,
        too_many_blocks=Refusal(-32600, "block range greater than {most} max"),
        most_in_batch=10,
        batch_too_large=Refusal(-32014, "too many RPC calls in batch request"),
        rate=RateLimit(20, 40, each_item=True, refusal=Refusal(-32016, "over rate limit")),
        share_behind=0.2,
    ),
    # The words of geth's fork for BSC, which publicnode uses with 50,000 blocks:
    # AlphaWallet/alpha-wallet-android#2736.
    Profile(
        "publicnode",
        most_blocks=50_000,
        too_many_blocks=Refusal(-32000, "exceed maximum block range: {most}"),
        share_behind=0.1,
    ),
    # INFURA/infura#237 (August 2026) and docs.infura.io, eth_getLogs, "Constraints".
    Profile(
        "infura",
        network="ethereum",
        most_blocks=10_000,
        most_logs=10_000,
        rate=RateLimit(
            10,
            20,
            each_item=False,
            refusal=Refusal(-32005, "project ID request rate exceeded", 429),
        ),
    ),
    # alchemy.com/docs/deep-dive-into-eth_getlogs (10 blocks on the free tier); the shape of the
    # words with HTTP 400: boundless-xyz/boundless#838; single items over the limit:
    # alchemy.com/docs/reference/throughput.
    Profile(
        "alchemy free",
        most_blocks=10,
        too_many_blocks=Refusal(
            -32600,
            "Under the Free tier plan, you can make eth_getLogs requests with up to a {most} block"
            " range. Upgrade to PAYG for expanded block range.",
            400,
        ),
        rate=RateLimit(15, 60, each_item=True, refusal=_PER_SECOND),
    ),
    # ethers-io/ethers.js#4703: any range with at most 10,000 logs.
    Profile(
        "alchemy paid",
        most_logs=10_000,
        too_many_logs=Refusal(
            -32602,
            "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block"
            " range and no limit on the response size, or you can request any block range with a"
            " cap of 10K logs in the response.",
        ),
        rate=RateLimit(100, 300, each_item=True, refusal=_PER_SECOND),
    ),
    # quicknode.com/docs, eth_getLogs: 5 blocks on the free plan, 10,000 on paid ones. The words
    # and HTTP 413: palomachain/paloma#1165, OffchainLabs/arbitrum-sdk#609.
    Profile(
        "quicknode free",
        most_blocks=5,
        too_many_blocks=Refusal(-32614, "eth_getLogs is limited to a {most} range", 413),
        rate=RateLimit(
            15, 15, each_item=False, refusal=Refusal(-32007, "15/second request limit reached", 429)
        ),
    ),
    Profile(
        "quicknode paid",
        most_blocks=10_000,
        too_many_blocks=Refusal(-32614, "eth_getLogs is limited to a 10,000 range", 413),
    ),
    # ponder-sh/ponder packages/utils/src/_test/coinbase.test.ts.
    Profile(
        "coinbase",
        most_blocks=1_000,
        too_many_blocks=Refusal(-32005, "please limit the query to at most {most} blocks"),
        rate=RateLimit(50, 50, each_item=False, retry_after=1),
    ),
    # foundry-rs/foundry#12687 (code 35); batches of three and the time-out: drpc.org/docs, "Free
    # tier".
    Profile(
        "drpc free",
        most_blocks=10_000,
        too_many_blocks=Refusal(35, "ranges over {most} blocks are not supported on freetier"),
        most_in_batch=3,
        batch_too_large=Refusal(
            31, "Batch of more than 3 requests are not allowed on free tier, to use upgrade to paid"
        ),
        seconds_a_million_blocks=300,
        slow=Refusal(
            30, "Request timeout on the free tier, please upgrade your tier to the paid one"
        ),
        slow_seconds=2.0,
    ),
    # ponder-sh/ponder#1940.
    Profile(
        "ankr",
        most_blocks=10_000,
        too_many_blocks=Refusal(-32602, "maximum [from, to] blocks distance: {most}"),
        rate=RateLimit(30, 30, each_item=False),
    ),
    # ponder-sh/ponder packages/utils/src/_test/arbitrum.test.ts; eth_simulateV1:
    # OffchainLabs/nitro#3372.
    Profile(
        "arb1.arbitrum.io",
        network="arbitrum",
        most_logs=10_000,
        too_many_logs=Refusal(-32000, "logs matched by query exceeds limit of {most}"),
        seconds_a_million_blocks=1.0,
        slow=Refusal(-32000, "log query timed out"),
        refused_methods=(("eth_simulateV1", Refusal(-32603, "method handler crashed")),),
    ),
    # At most 100 calls in a batch and 100,000 bytes of result: 0xPolygon/bor v0.3.4-beta3;
    # eth_simulateV1: 0xPolygon/bor#1994.
    Profile(
        "bor",
        network="polygon",
        most_in_batch=100,
        batch_too_large=Refusal(-32600, "batch limit 100 exceeded"),
        most_blocks=10_000,
        too_many_blocks=Refusal(-32602, "block range too large"),
        refused_methods=(("eth_simulateV1", Refusal(-32603, "internal error")),),
    ),
    # geth with its defaults: state of 128 blocks, batches of 1,000 (base-org/node#234).
    Profile("own geth", most_in_batch=1_000, state_kept=128, latency=0.005),
    # geth after `prune-history`: EIP-4444, error 4444 "pruned history unavailable".
    Profile("pruned geth", state_kept=128, logs_kept=1_000_000, latency=0.005),
    # A node whose receipts were dropped and which says nothing of it: erigontech/erigon,
    # `--prune.receipt.older`.
    Profile("silent node", state_kept=128, logs_kept=1_000_000, old_logs="left out", latency=0.005),
    # JsonRpc.Timeout is 20 s and eth_getLogs keeps to it: Nethermind 1.8.106, release notes.
    Profile(
        "own nethermind",
        seconds_a_million_blocks=4.0,
        slow=Refusal(-32016, "eth_getLogs request was canceled due to enabled timeout."),
        slow_seconds=20.0,
        state_kept=128,
        latency=0.005,
    ),
    # --rpc-max-logs-range is 5,000 by default (hyperledger/besu#4597), batches 1,024
    # (hyperledger/besu#4965).
    Profile(
        "own besu",
        most_blocks=5_000,
        too_many_blocks=Refusal(-32005, "Requested range exceeds maximum range limit"),
        state_kept=512,
        takes_hashes=False,
        latency=0.005,
    ),
    # Public endpoints of BNB Chain do without eth_getLogs (docs.bnbchain.org, "JSON-RPC endpoint");
    # some gateways also stop calls early and take little at once.
    Profile(
        "no logs, small calls",
        refused_methods=(
            (
                "eth_getLogs",
                Refusal(-32601, "the method eth_getLogs does not exist/is not available"),
            ),
        ),
        most_body_bytes=100_000,
        call_gas=1_000_000,
    ),
    # Infura, Alchemy and QuickNode without a key: docs.infura.io, "HTTP error codes", 401.
    Profile("without a key", closed=401),
    # A machine that takes connections and is stuck.
    Profile("never answers", latency=math.inf),
)


def profile_named(name: str) -> Profile:
    return next(one for one in PROFILES if one.name == name)
