"""The columns of the tables that commands print."""

from zuno_tui.present.terminal import OutputColumn


def columns(*titles: str) -> tuple[OutputColumn, ...]:
    """By their titles; one that ends in > is set flush right."""
    return tuple(
        OutputColumn(title.removesuffix(">"), "right" if title.endswith(">") else "left")
        for title in titles
    )
