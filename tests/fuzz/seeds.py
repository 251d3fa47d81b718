"""What the fuzzing starts from: the recordings in fixtures/, and a line of each grammar."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.support import recordings, scenes

_LARGEST = 6000  # bytes of a recorded side: a longer one is cut, so that an input is quick


def watches() -> list[bytes]:
    return [b"\x07" + one.body[:_LARGEST] for one in _exchanges("watch") if one.query.get("watch")]


def server_sides() -> list[bytes]:
    return [b"\0\x05" + both["server"][:_LARGEST] for both in _sides("errors", "exec", "rollout")]


def connections() -> list[bytes]:
    found = _sides("errors", "exec", "rollout")
    return [b"\x05" + both["client"][:_LARGEST] + b"\0--" + both["server"][:_LARGEST] for both in found]


def sessions() -> list[bytes]:
    """What the servers of exec sent behind their handshakes."""
    heads = [both["server"].partition(b"\r\n\r\n") for both in _sides("exec")]
    return [b"\x05" + frames[:_LARGEST] for head, _, frames in heads if b" 101 " in head[:20] and frames]


def chosen_sessions() -> list[bytes]:
    return [bytes((choice,)) + one for choice, one in enumerate(sessions())]


def files() -> list[bytes]:
    paths = recordings.recordings("errors", "exec")
    return [path.read_bytes()[:_LARGEST] for path in paths]


def hars() -> list[bytes]:
    message = {"type": "receive", "time": 1764514800.5, "opcode": 2, "data": "AWhlbGxv"}
    return [_har("GET", "https://h/api/v1/pods", "[]"), _har("GET", "wss://h/exec", "", [message])]


def _har(method: str, url: str, text: str, messages: Sequence[object] = ()) -> bytes:
    headers = [
        {"name": "Sec-WebSocket-Protocol", "value": "v5.channel.k8s.io"},
        {"name": "Upgrade", "value": "websocket"},
    ]
    entry = {
        "startedDateTime": "2026-11-30T15:00:00.000Z",
        "time": 12.5,
        "connection": "1",
        "request": {
            "method": method,
            "url": url,
            "httpVersion": "HTTP/1.1",
            "headers": headers,
            "postData": {"text": text},
        },
        "response": {
            "status": 101 if messages else 200,
            "statusText": "OK",
            "headers": headers,
            "content": {"text": text, "mimeType": "application/json", "encoding": ""},
        },
        "timings": {"wait": 3, "send": 1, "receive": 1},
        "_webSocketMessages": list(messages),
    }
    return json.dumps(
        {"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [entry]}}
    ).encode()


def statuses() -> list[bytes]:
    found = [one for one in _exchanges("errors") if one.status >= 400]
    return [b"\4" + "\n".join(map(": ".join, one.headers)).encode() + b"\n\n" + one.body for one in found] + [
        b'\x0a\n\n{"kind":"Status","reason":"Invalid","details":{"kind":"Pod","name":"a","causes":[{"field":"f","message":"m"}]}}'
    ]


def scenes_of_recordings() -> list[bytes]:
    found = []
    for path in recordings.recordings("stuck"):
        scene, _ = scenes.scene_of(path.stem)
        fields = ("workload", "owned", "pods", "events", "claims", "nodes")
        found.append(json.dumps({name: getattr(scene, name) for name in fields}).encode())
    return found


def choices() -> list[bytes]:
    """For a harness that builds what it needs from a number: the number, and some noise."""
    return [bytes((number,)) * 8 + noise for number in range(40) for noise in (b"", b"web", b'"\\\xe9: {[')]


def _exchanges(*folders: str) -> list[recordings.Exchange]:
    return [one for path in recordings.recordings(*folders) for one in recordings.exchanges(path)]


def _sides(*folders: str) -> list[dict[str, bytes]]:
    return [both for path in recordings.recordings(*folders) for both in recordings.sides(path).values()]


ARGUMENTS = (
    b"\npods",
    b"\ndeployment/web\nsts/db",
    b"app=web\ndeploy",
    b"\ndeploy,sts\na\nb",
    b"\npods/a/b",
    b"\npods\n..",
)
FLAGS = (
    b"rollout\nstatus\ndeployment/web\n--timeout=5m\n-n\nd\n-w=false",
    b"exec\n-it\nweb-0\n-c\nmain\n--\nsh\n-c\ntrue",
    b"wait\n--for=condition=Ready\npod/a\n--timeout\n1h2m3.5s",
    b"get\npods\n-l\na=b\n-o=jsonpath={.items}\n--chunk-size=0x1f",
    b'logs\n-f\n--tail=-1\n--since=1us\n--as-group=a\n--as-group="b,c",d\nweb-0',
    b"replay\nfile\n--fault=after=3:reset\n--tls",
)
FAULTS = (
    b"after=3:reset",
    b"after=0:status=503,match=/pods,times=2",
    b"match=watch,after=12:truncate,times=all",
    b"1h2m3.5s",
    b"-.5ms",
)
SELECTORS = (
    b"a=b,c!=d,e in (f,g),h notin (),!i,j,k>1,l<2",
    b'{"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}',
    b"example.com/a==b",
)
PATHS = (
    b"{.a[0].b}",
    b"{..b}\n[1]",
    b"{.a[?(@.b==1)].b}",
    b"{.a[-1:0:2]['b','c']}",
    b"d.e\\.f",
    b'{.a[*].c[1:]}\n{"a": [{"c": [1, 2]}]}',
    b"{.a[?(@.b!='x')]}",
    b'{range .a[*]}{.b}{"\\n"}{end}',
)
SCALARS = tuple(
    f"{tag}\n{text}".encode()
    for tag in ("int", "float", "bool", "null", "binary", "timestamp", "str")
    for text in ("0x1f", "1_000.5e3", "yes", "~", "aGk=", "2001-12-14t21:59:43.10-05:00")
)
_YAML = b"""apiVersion: v1
kind: Config
current-context: dev
clusters: [{name: c, cluster: &c {server: "https://h:6443/p", certificate-authority-data: aGk=, tls-server-name: x}}]
contexts:
- name: dev
  context: {cluster: c, user: u, namespace: 'a'}
- {name: "other", context: {cluster: c, user: v}}
users:
- name: u
  user:
    token: 0x1f
    as: me
    as-user-extra: {a: [b]}
- name: v
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, args: [eks], env: [{name: A, value: b}], interactiveMode: Never}
- name: w
  user: {auth-provider: {name: oidc, config: {id-token: a.b.c, idp-issuer-url: "https://i"}}}
extensions: [{name: e, extension: {a: !!binary aGk=}}]
preferences: {colors: true}
"""
_JSON = (
    b'{"clusters":[{"name":"c","cluster":{"server":"h:1","proxy-url":"socks5://u:p@h:1","insecure-skip-tls-verify":true}}],'
    b'"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"current-context":"x",'
    b'"users":[{"name":"u","user":{"username":"a","password":"b","tokenFile":"t","client-certificate-data":"aGk="}}]}'
)
KUBECONFIGS = (_YAML, _JSON, b"a: &a [*a]", b"? {a: 1}\n: b\n", b"\xff\xfea\0", b"")
