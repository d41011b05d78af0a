"""Many calls in one, and an endpoint that is left alone."""

import pytest
from eth_abi.abi import decode as reference_decode
from eth_abi.abi import encode as reference_encode
from hypothesis import given
from hypothesis import strategies as st

from chain.contracts.abi import AbiError, decode, encode_call
from chain.contracts.addresses import keccak
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.rpc.client import RpcClient
from chain.rpc.endpoint import Breaker
from chain.rpc.records import InvalidValueError
from chain.rpc.requests import (
    Call,
    CallOutcome,
    RequestLimits,
    aggregate,
    call,
    decode_aggregate,
    multicall,
)

LIMITS = RequestLimits(faults_to_rest=3, rest_seconds=5.0, most_rest_seconds=60.0)


def test_it_rests_after_so_many_faults_and_longer_each_time() -> None:
    breaker, now = Breaker(LIMITS), 100.0
    for _ in range(2):
        assert breaker.admit(now)
        breaker.record_failure(now)
        assert breaker.wait(now) == 0
    rests = []
    for _ in range(7):
        assert breaker.admit(now)
        breaker.record_failure(now)
        assert not breaker.admit(now)
        rests.append(breaker.wait(now))
        now += breaker.wait(now)
    assert rests == [5, 10, 20, 40, 60, 60, 60]


def test_after_a_rest_one_probe_is_let_through() -> None:
    breaker = Breaker(LIMITS)
    for _ in range(3):
        breaker.record_failure(0.0)
    assert not breaker.admit(4.9)
    assert breaker.admit(5.0)
    assert not breaker.admit(5.0)
    breaker.release()
    assert breaker.admit(5.0)
    breaker.record_success()
    assert breaker.faults == 0
    assert all(breaker.admit(5.0) for _ in range(3))


def test_a_success_between_faults_starts_the_count_anew() -> None:
    breaker = Breaker(LIMITS)
    for _ in range(10):
        breaker.record_failure(0.0)
        breaker.record_failure(0.0)
        breaker.record_success()
    assert breaker.wait(0.0) == 0


MULTICALL3 = "0xca11bde05977b3631167028862be2a173976ca11"
ADDRESSES = st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex())
CALLS = st.lists(
    st.tuples(ADDRESSES, st.binary(max_size=100)).map(lambda one: Call(*one)), max_size=6
)
OUTCOMES = st.lists(
    st.tuples(st.booleans(), st.binary(max_size=100)).map(lambda one: CallOutcome(*one)), max_size=6
)


def written(outcomes: list[CallOutcome]) -> bytes:
    return reference_encode(["(bool,bytes)[]"], [[(one.success, one.data) for one in outcomes]])


@given(CALLS)
def test_calldata_is_what_the_contract_expects(calls: list[Call]) -> None:
    calldata = aggregate(calls)
    assert calldata[:4] == keccak(b"aggregate3((address,bool,bytes)[])")[:4]
    [decoded] = reference_decode(["(address,bool,bytes)[]"], calldata[4:])
    assert [Call(target, data) for target, _, data in decoded] == calls
    assert all(allow_failure for _, allow_failure, _ in decoded)


@given(OUTCOMES)
def test_answers_come_back_in_order(outcomes: list[CallOutcome]) -> None:
    assert decode_aggregate(written(outcomes)) == outcomes


@given(OUTCOMES, st.data())
def test_a_damaged_answer_is_refused_exactly_where_the_strict_decoder_refuses_it(
    outcomes: list[CallOutcome], data: st.DataObject
) -> None:
    damaged = bytearray(written(outcomes))
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), max_size=3)):
        damaged[place] = data.draw(st.integers(0, 255))
    answer = bytes(damaged[: data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))])
    try:
        [expected] = decode(["(bool,bytes)[]"], answer)
    except AbiError:
        with pytest.raises(AbiError):
            decode_aggregate(answer)
    else:
        assert decode_aggregate(answer) == [CallOutcome(*one) for one in expected]


@pytest.mark.parametrize("answer", [b"", b"\x00" * 31, b"\xff" * 96])
def test_an_answer_that_is_none_is_refused(answer: bytes) -> None:
    with pytest.raises(AbiError):
        decode_aggregate(answer)


def test_the_request_wants_as_many_outcomes_as_calls() -> None:
    request = multicall(MULTICALL3, [Call(MULTICALL3, b"\x01")] * 2, 7)
    assert request.params[1] == "0x7"
    assert request.at(9).params[1] == "0x9"
    right = [CallOutcome(True, b"\x01"), CallOutcome(False, b"")]
    assert request.parse("0x" + written(right).hex()) == right
    for wrong in ("0x", "0x" + written(right[:1]).hex(), None, "0x" + "ff" * 64):
        with pytest.raises(InvalidValueError):
            request.parse(wrong)


async def test_the_real_contract_answers_and_one_failure_harms_no_other(
    devnet: DevnetReady,
) -> None:
    wallet_positions = encode_call("balanceOf(address)", devnet.wallet)
    calls = [
        Call(devnet.contracts.position_manager, wallet_positions),
        Call(devnet.contracts.position_manager, encode_call("ownerOf(uint256)", 10**30)),
        Call(devnet.contracts.multicall3, encode_call("getBlockNumber()")),
        Call("0x" + "ee" * 20, b""),
    ]
    async with RpcClient(network_named("devnet"), [devnet.url]) as client:
        head = await client.head()
        outcomes = await client.at(head).ask(multicall(devnet.contracts.multicall3, calls))
        alone = await client.ask(call(calls[0].target, calls[0].data, head.hash))
    assert [one.success for one in outcomes] == [True, False, True, True]
    assert outcomes[0].data == alone
    assert int.from_bytes(alone) >= 7
    assert int.from_bytes(outcomes[2].data) == head.number
    assert outcomes[3].data == b""
