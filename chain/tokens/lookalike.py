"""Whether a symbol passes for another: the same to the eye, not the same to a computer.

A small table of our own for the letters that token symbols use. It need not hold every confusable
letter there is: an unlisted token is never shown as a known one, whatever it calls itself.
"""

from __future__ import annotations

import unicodedata

_LOOKS_LIKE = {
    "a": "ΑαАаᎪᗅꓮⲀɑᴀΛ₳",
    "b": "ΒВвᏴᗷꓐⲂЬьƄʙß₿",
    "c": "ϹСсᏟᑕꓚⲤϲᴄ¢©₵",
    "d": "ĐđÐðᎠᗞꓓԁɖɗƊᴅ₫",
    "e": "ΕЕеᎬꓰⲈҽєεℯᴇ€ƐΞΣ",
    "f": "ϜҒғᖴꓝƑƒꜰ₣",
    "g": "ԌᏀꓖɡցɢ₲",
    "h": "ΗНнᎻꓧⲎһհҺʜĦħ",
    "i": "ΙІіӀıιᎥꓲⲒɪℹ|!¡",
    "j": "ЈјᎫꓙϳᴊ",
    "k": "ΚКкᏦꓗⲔκᴋ₭",
    "l": "ԼⅼᏞꓡⳐʟŁłℓ£₤",
    "m": "ΜМмᎷꓟⲘᴍ₥",
    "n": "ΝꓠⲚɴոռηпŊŋ₦",
    "o": "ΟОоՕօꓳⲞσοᴏØøө",
    "p": "ΡРрᏢꓑⲢρᴘ₱",
    "q": "ԚԛႭզ",
    "r": "ᎡᖇꓣГгɼʀ®",
    "s": "ЅѕՏᏚꓢꜱ§$ʂ",
    "t": "ΤТтᎢꓔⲦτᴛŦŧ₮₸†",
    "u": "ՍսᑌꓴυᴜμՄ",
    "v": "ᏙꓦѴѵνᴠ√",
    "w": "ԜԝᎳꓪωшШᴡѡ₩",
    "x": "ΧХхᚷꓫⲬχ×",
    "y": "ΥҮүУуᎩꓬⲨγʏ¥",
    "z": "ΖᏃꓜⲌᴢƵƶ",
}
_TO_ASCII = {
    **{ord(alike): letter for letter, group in _LOOKS_LIKE.items() for alike in group},
    # Letters in filled circles and squares, and the letters that make flags, are no letters by
    # their compatibility form, though a person reads them as such.
    **{
        first + index: chr(ord("a") + index)
        for first in (0x1F150, 0x1F170, 0x1F1E6)
        for index in range(26)
    },
}
# One drawing for several: zero and O, one and I and l, five and S, eight and B, two and Z.
_SAME_DRAWING = str.maketrans("0158i2", "olsblz")
_PAIRS_THAT_DRAW_ONE = (("vv", "w"), ("rn", "m"), ("nn", "m"))
_CONFUSABLE_SCRIPTS = frozenset(("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"))


# What people hang on a name without making it another: "$USDC", "USDC.", "(USDC)".
_ADORNMENTS = "$€£¥.,:;-_~*'\"()[]{}<>! "


def skeletons(symbol: str) -> frozenset[str]:
    """What is left of a symbol once all that the eye may confuse is made the same."""
    return frozenset((_drawn(symbol), _drawn(symbol.strip(_ADORNMENTS)))) - {""}


def mixes_scripts(symbol: str) -> bool:
    """Latin letters beside those of a script that shares their drawings: never by chance."""
    scripts = {
        unicodedata.name(letter, "").partition(" ")[0] for letter in symbol if letter.isalpha()
    }
    return "LATIN" in scripts and not scripts.isdisjoint(_CONFUSABLE_SCRIPTS)


def _drawn(symbol: str) -> str:
    folded = unicodedata.normalize("NFKD", symbol).translate(_TO_ASCII).casefold()
    drawn = "".join(letter for letter in folded if letter.isascii() and letter.isalnum())
    for pair, single in _PAIRS_THAT_DRAW_ONE:
        drawn = drawn.replace(pair, single)
    return drawn.translate(_SAME_DRAWING)
