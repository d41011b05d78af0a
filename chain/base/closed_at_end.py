"""What holds connections: used with `async with`, and closed at its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class ClosedAtEnd(ABC):
    @abstractmethod
    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()
