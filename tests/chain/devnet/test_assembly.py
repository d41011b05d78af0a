"""The assembler writes what it was told, byte for byte."""

import pytest

from chain.devnet.world.deployment import AssemblyError, assemble


def test_pushes_take_as_few_bytes_as_the_number_needs() -> None:
    assert assemble("PUSH 0\nPUSH 1\nPUSH 256\nPUSH 0xff") == bytes.fromhex("5f600161010060ff")


def test_a_label_is_the_offset_of_its_jumpdest() -> None:
    code = assemble("""
        PUSH @end     ; forward
        JUMP
    end:
        STOP
    """)
    assert code == bytes.fromhex("610004" + "56" + "5b" + "00")


def test_comments_and_blank_lines_are_for_the_reader() -> None:
    assert assemble("; nothing\n\n   STOP ; the end") == b"\x00"


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("ADDMODX", "not an instruction"),
        ("STOP 1", "not an instruction"),
        ("PUSH @nowhere", "not defined"),
        ("here:\nhere:", "twice"),
    ],
)
def test_mistakes_are_named(source: str, complaint: str) -> None:
    with pytest.raises(AssemblyError, match=complaint):
        assemble(source)
