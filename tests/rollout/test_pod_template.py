"""Pod templates as text. `described_templates.txt` is what kubectl 1.37.1 printed for all of `TEMPLATES`:

kubectl rollout history deployments --revision=1
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rawkube.api.objects import Object
from rawkube.rollout.pod_template import describe_template
from rawkube.rollout.prefix_writer import PrefixWriter, cut, write_map
from rawkube.rollout.typed import typed
from tests.support.rows import looped
from tests.support.templates import TEMPLATES, VOLUMES

_PRINTED = (Path(__file__).parent / "described_templates.txt").read_text()
_HEADS = re.compile(r"^deployment\.apps/(\S+) with revision #1\n", re.MULTILINE)


def described() -> dict[str, str]:
    """Name → text; the line feed that ends each is the printer's."""
    _, *pieces = _HEADS.split(_PRINTED)
    return {name: text.removesuffix("\n") for name, text in zip(pieces[::2], pieces[1::2], strict=True)}


DESCRIBED = described()


def describe(template: Object) -> str:
    return describe_template(typed(template, "PodTemplateSpec"))


@looped("name", TEMPLATES)
def test_a_template_reads_as_from_kubectl(name: str) -> None:
    template = TEMPLATES[name]
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), "pod-template-hash": "h1"}
    assert describe({**template, "metadata": {**metadata, "labels": labels}}) == DESCRIBED[name]


def test_every_kind_of_volume_is_described() -> None:
    from rawkube.rollout.api_types import fields_of

    fields = fields_of("Volume")
    assert fields is not None
    assert {field.name for field in fields} - {"name"} == set(VOLUMES)


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        (
            {"volumes": [{"name": "a", "projected": {"sources": [{"serviceAccountToken": {"path": "p"}}]}}]},
            "Seconds:\t0",
        ),
        ({"volumes": [{"name": "a", "azureDisk": {"diskName": "d", "diskURI": "u"}}]}, "CachingMode:\t\n"),
        ({"schedulingGroup": {}}, "PodGroupName:\t\n"),
        ({"containers": [{"name": "a", "livenessProbe": {"grpc": {"port": 5}}}]}, "grpc <pod>:5  delay=0s"),
        (
            {"containers": [{"name": "a", "securityContext": {"seccompProfile": {"type": "Localhost"}}}]},
            "LocalhostProfile:\t\n",
        ),
    ],
)
def test_what_makes_kubectl_crash_is_described(spec: Object, line: str) -> None:
    """Fields that kubectl takes for granted and the API does not ask for."""
    assert line in describe({"spec": spec})


def test_a_long_text_is_cut_at_its_bytes() -> None:
    assert cut("ü" * 80, 5) == "üü\udcc3..."
    assert cut("abcde", 5) == "abcde"


def test_each_piece_is_indented_wherever_it_stands() -> None:
    out = PrefixWriter()
    out.nested(1).write(1, "a")
    out.write(1, "b\n")
    write_map(out, "L", {"b": "2", "a": "1"}, level=1)
    assert out.text() == "    a  b\n  L:\t  a=1\n    \t  b=2\n"
