"""What is said when a credential plugin is not installed, and how often. Pure."""

from __future__ import annotations

LIMIT = 10
SECONDS = 3600.0
"""The help is shown `LIMIT` times in so many seconds, for each plugin (client-go)."""

_HELP = (
    "",
    "It looks like you are trying to use a client-go credential plugin that is not installed.",
    "",
    "To learn more about this feature, consult the documentation available at:",
    "      https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins",
)
# Letters, marks, numbers, punctuation, symbols, separators: what Go's unicode.GraphicRanges holds.
_SHOWN = frozenset("LMNPSZ")


def escaped(hint: str) -> str:
    """A kubeconfig's `installHint`, harmless for a terminal: `ESC[1m` → `U+001B[1m`; TAB to CR stay."""
    return "".join(c if "\t" <= c <= "\r" or _is_shown(c) else f"U+{ord(c):04X}" for c in hint)


def _is_shown(char: str) -> bool:
    if " " <= char <= "~":
        return True
    from unicodedata import category

    return category(char)[0] in _SHOWN


def help_lines(hint: str) -> tuple[str, ...]:
    """The lines that stand below the error, the kubeconfig's own hint last."""
    return (*_HELP, "", *escaped(hint).split("\n")) if hint else _HELP


class RateLimit:
    """At most `limit` times in any window of `seconds`; a window begins with the first time after the last one.

    Times are the caller's to give.
    """

    __slots__ = ("_began", "_count", "_limit", "_seconds")

    def __init__(self, limit: int = LIMIT, seconds: float = SECONDS) -> None:
        self._limit = limit
        self._seconds = seconds
        self._began: float | None = None
        self._count = 0

    def allows(self, now: float) -> bool:
        """Whether it may happen now; if so, it has."""
        if self._began is None or now - self._began >= self._seconds:
            self._began, self._count = now, 0
        if self._count >= self._limit:
            return False
        self._count += 1
        return True
