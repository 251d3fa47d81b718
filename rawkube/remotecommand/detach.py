"""The keys that leave a process which one is attached to, and let it run. Pure.

They are those of `kubectl attach` 1.37 (moby/term, the escape proxy): a typed beginning of the sequence is held back
until it is known to be none.
"""

from __future__ import annotations

from rawkube.errors import UsageError
from rawkube.remotecommand.channels import Channels
from rawkube.remotecommand.protocols import Protocol

DETACH_KEYS = "ctrl-p,ctrl-q"

_NAMED = {f"ctrl-{chr(0x60 + code)}": code for code in range(1, 27)} | {
    "ctrl-@": 0x00,
    "ctrl-[": 0x1B,
    "ctrl-\\": 0x1C,
    "ctrl-]": 0x1D,
    "ctrl-^": 0x1E,
    "ctrl-_": 0x1F,
    "DEL": 0x7F,
}


class Detached(Exception):
    """The keys were typed."""


def parse_detach_keys(text: str) -> bytes:
    """`ctrl-p,ctrl-q` → the bytes that a terminal sends; empty text is the default. Raises UsageError."""
    codes = bytearray()
    for key in (text or DETACH_KEYS).split(","):
        code = _NAMED.get(key, ord(key) if len(key) == 1 and key.isascii() else None)
        if code is None:
            raise UsageError(f"could not bind detach keys: Unknown character: '{key}'")
        codes.append(code)
    return bytes(codes)


class KeySequence:
    """Looks for a sequence of keys in what is typed. `matched`: it was typed; what follows it is dropped."""

    def __init__(self, keys: bytes) -> None:
        self._keys = keys
        self._at = 0
        self.matched = False

    def feed(self, data: bytes | memoryview) -> bytes:
        """What is to be passed on by now."""
        passed = bytearray()
        for byte in data:
            if self.matched:
                break
            if byte == self._keys[self._at]:
                self._at += 1
                self.matched = self._at == len(self._keys)
            else:
                # As moby/term does, the byte that breaks a sequence begins no other one.
                passed += self._keys[: self._at] + bytes((byte,))
                self._at = 0
        return bytes(passed)


class DetachableChannels(Channels):
    """Channels whose `stdin` raises Detached when the keys are typed; what was typed before is sent on leaving."""

    def __init__(self, protocol: Protocol, keys: bytes, *, tty: bool = False) -> None:
        super().__init__(protocol, tty=tty)
        self._sequence = KeySequence(keys)
        self._before = b""

    def stdin(self, data: bytes | memoryview) -> bytes:
        """As ever, without the keys. Raises Detached."""
        sent = super().stdin(self._sequence.feed(data))
        if not self._sequence.matched:
            return sent
        self._before = sent
        raise Detached

    def close_stdin(self) -> bytes:
        """As ever, behind what was typed before the keys."""
        return self._take_before() + super().close_stdin()

    def close(self, code: int = 1000, reason: str = "") -> bytes:
        """As ever, behind what was typed before the keys."""
        return self._take_before() + super().close(code, reason)

    def _take_before(self) -> bytes:
        before, self._before = self._before, b""
        return before
