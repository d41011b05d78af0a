"""Every byte that reached a terminal, sorted into the desk's own and what must have been data."""

import re

from chain.base.clean_text import DROP

# No number of the desk's own begins with a zero: so a sequence in data can be told from it.
_NUMBER = r"(?:0|[1-9][0-9]*)"
_NOTIFICATION = r"\x1b\]9;zuno: [^\x00-\x1f\x7f-\x9f]*\x1b\\"
_OWN = re.compile(
    rf"\x1b\[(?:{_NUMBER}(?:;{_NUMBER})*)?m"
    rf"|\x1b\[{_NUMBER};{_NUMBER}H"
    rf"|\x1b\[\?{_NUMBER}(?:[hl]|\$p)"
    r"|\x1b\[>25u|\x1b\[<u"
    r"|\x1b\]22;[a-z]+\x07"
    rf"|{_NOTIFICATION}"
)
_AROUND = 24


def foreign(raw: bytes) -> list[str]:
    """What could steer a terminal and is not the desk's own, each with what stood around it."""
    text = raw.decode("utf-8")
    notified = len(re.findall(_NOTIFICATION, text))
    rest = _OWN.sub("", text).replace("\r\n", "")
    # One bell goes with each notification; a bell more is somebody else's.
    rest = rest.replace("\x07", "", notified)
    return [
        rest[max(0, place - _AROUND) : place + _AROUND]
        for place, character in enumerate(rest)
        if ord(character) in DROP
    ]
