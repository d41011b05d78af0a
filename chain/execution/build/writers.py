"""The protocols whose bytes are made here."""

from chain.contracts.pool_key import PoolKey
from chain.execution.plan.writing import ProtocolWriter
from chain.execution.v3.writer import V3Writer
from chain.execution.v4.writer import V4Writer

WRITERS: tuple[ProtocolWriter, ...] = (V4Writer(), V3Writer())


def writer_of(key: PoolKey) -> ProtocolWriter:
    return next(writer for writer in WRITERS if writer.name == key.protocol)
