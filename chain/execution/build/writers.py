"""The protocols whose bytes are made here."""

from chain.contracts.pool_key import PoolKey
from chain.execution.plan.writing import ProtocolWriter
from chain.execution.v4.writer import V4Writer

WRITERS: tuple[ProtocolWriter, ...] = (V4Writer(),)


def writer_of(key: PoolKey) -> ProtocolWriter:
    return next(writer for writer in WRITERS if type(key) is writer.key_type)
