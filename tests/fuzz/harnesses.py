"""The harnesses by name: what is checked, what it starts from, how its inputs are changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.fuzz import of_answers, of_streams, of_words, seeds
from tests.fuzz.mutation import Mutate, mutate_bytes, mutate_json


class Harness(NamedTuple):
    check: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
    mutate: Mutate = mutate_bytes


HARNESSES = {
    "arguments": Harness(of_words.arguments, lambda: seeds.ARGUMENTS),
    "channels": Harness(of_streams.channels, seeds.chosen_sessions),
    "conversation": Harness(of_streams.conversation, seeds.connections),
    "explain": Harness(of_answers.explain, seeds.scenes_of_recordings, mutate_json),
    "faults": Harness(of_words.faults, lambda: seeds.FAULTS),
    "flags": Harness(of_words.flags, lambda: seeds.FLAGS),
    "frames": Harness(of_streams.frames, seeds.sessions),
    "har": Harness(of_streams.har, seeds.hars, mutate_json),
    "http1": Harness(of_streams.http1, seeds.server_sides),
    "json_path": Harness(of_words.json_path, lambda: seeds.PATHS),
    "kubeconfig": Harness(of_words.kubeconfig, lambda: seeds.KUBECONFIGS),
    "recording": Harness(of_streams.recording, seeds.files),
    "redaction": Harness(of_answers.redaction, seeds.choices),
    "scalars": Harness(of_words.scalars, lambda: seeds.SCALARS),
    "selectors": Harness(of_words.selectors, lambda: seeds.SELECTORS),
    "status": Harness(of_answers.status, seeds.statuses),
    "transcript": Harness(of_answers.transcript, seeds.connections),
    "watch": Harness(of_streams.watch, seeds.watches),
}
