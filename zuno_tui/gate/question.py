"""What a person is asked before anything is signed or sent: one hash, one word, until when."""

from msgspec import Struct


class Question(Struct, frozen=True):
    hash: str
    """Of what was approved and is shown."""
    word: str
    """To be typed to the letter."""
    until: float
    """By the wall's clock: nobody signs what was shown to somebody an hour ago."""
    refusal: str = ""
    """Why nothing here can sign it; empty where something can."""
    needs_passphrase: bool = False
    undone: str = "Nothing was signed."
    """What is true while the word was not typed."""

    def objection(
        self, approval_hash: str, word: str, *, has_passphrase: bool, now: float
    ) -> str | None:
        """Why this answer signs nothing; None when it does."""
        if approval_hash != self.hash or now >= self.until:
            return "Nothing is waiting under that hash. Ask again: apply."
        if word != self.word:
            return f"That was not the word {self.word!r}."
        if self.refusal:
            return f"It would be signed with {self.refusal}."
        if self.needs_passphrase and not has_passphrase:
            return "The passphrase is missing."
        return None
