"""Messages an attacker could send: from what was overheard, and with the keys of a lesser peer."""

import itertools
import random
from collections.abc import Iterator

from msgspec.structs import replace

from agents.bus.envelope import CLI, FailureCause, FlowFailed, Kind, Payload, Role
from agents.mesh.frame import FlowStamp, FrameHeader, FrameKind, new_key, seal_frame
from tests.fakes.jury import EXPERTS, JUDGE, JURY, JuryKind, Verdict
from tests.fakes.mesh_wire import Members

LIE = Verdict(total=666, heard=())


def hostile_frames(
    overheard: list[bytes], members: Members, boots: dict[str, str], desk_boot: str, request: str
) -> Iterator[bytes]:
    """Endlessly: replays, changes, forgeries, and lies of a peer whose own key is good."""
    chance = random.Random(7)
    desk = members.keys["desk"].name
    numbers = itertools.count(100_000)

    def header(sender: str, *, to: str = desk, asked: str = request) -> FrameHeader:
        stamp = FlowStamp(next(numbers), 0)
        boot = boots[sender]
        return FrameHeader(
            FrameKind.DATA, to, boot, next(numbers), to_boot=desk_boot, request=asked, stamp=stamp
        )

    def lie(sender: Role, kind: str, payload: Payload, asked: str = request) -> bytes:
        return JURY.registry.seal(
            asked,
            sender=sender,
            recipient=CLI,
            kind=kind,
            payload=payload,
            ts=1,
        ).wire

    failed = FlowFailed(stage="judge", cause=FailureCause.LOST, reason="")
    verdict = lie(JUDGE, JuryKind.VERDICT, LIE)
    stranger, news = new_key(), members.keys["news"]
    while True:
        whole = chance.choice(overheard)
        place = chance.randrange(len(whole))
        yield whole
        yield (
            whole[:place] + bytes([whole[place] ^ (1 << chance.randrange(8))]) + whole[place + 1 :]
        )
        yield whole[:place]
        yield chance.randbytes(200)
        # Nobody's key, and another's name with no key for it.
        yield seal_frame(stranger, header("judge"), verdict)
        forged = seal_frame(stranger, header("judge"), verdict)
        yield forged[:12] + members.keys["judge"].public + forged[44:]
        # A peer with a key of its own speaks as another, elsewhere, or to another.
        yield seal_frame(news, header("news"), verdict)
        yield seal_frame(news, header("news"), lie(JUDGE, Kind.FLOW_FAILED, failed))
        yield seal_frame(news, header("news"), lie(CLI, Kind.FLOW_FAILED, failed))
        yield seal_frame(news, header("news", asked="req_other"), verdict)
        other = lie(EXPERTS[0], Kind.FLOW_FAILED, failed, asked="req_other")
        yield seal_frame(news, header("news"), other)
        yield seal_frame(news, header("news", to=members.keys["judge"].name), verdict)
        # A process that is no more.
        yield seal_frame(news, replace(header("news"), to_boot="0"), verdict)
        yield seal_frame(members.keys["judge"], replace(header("judge"), boot="0"), verdict)
        yield seal_frame(news, header("news"), verdict[:-3])
        yield seal_frame(news, header("news"), b"[" * 5_000)
        yield seal_frame(news, header("news"), b"x" * (1 << 20))


def lie_of(
    role: Role, members: Members, boot: str, desk_boot: str, request: str
) -> tuple[bytes, ...]:
    """What a peer might say in its own role, under its own key, as if it had been asked."""
    desk = members.keys["desk"].name
    failed = FlowFailed(stage=str(role), cause=FailureCause.LOST, reason="")
    envelope = JURY.registry.seal(
        request, sender=role, recipient=CLI, kind=Kind.FLOW_FAILED, payload=failed, ts=1
    )
    return tuple(
        seal_frame(
            members.keys[str(role)],
            FrameHeader(
                FrameKind.DATA,
                desk,
                boot,
                number,
                to_boot=desk_boot,
                request=request,
                stamp=FlowStamp(0, 0),
            ),
            envelope.wire,
        )
        for number in range(100_000, 100_003)
    )
