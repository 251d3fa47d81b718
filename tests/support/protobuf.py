"""Kubernetes' protobuf, as far as recordings of `kubectl rollout` hold it, decoded into what the JSON would be.

The numbers are those of `generated.proto` of apps/v1, core/v1 and meta/v1. A field that is not in the table is an
error: nothing is passed over.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

MAGIC = b"k8s\x00"

# message → number → (name, type); `[]` repeated, `{}` a map of strings, another message, or a scalar.
# What no test looks at is left out.
_MESSAGES: dict[str, dict[int, tuple[str, str]]] = {
    "Unknown": {1: ("typeMeta", "TypeMeta"), 2: ("raw", "bytes"), 3: ("contentEncoding", "str"), 4: ("contentType", "str")},
    "TypeMeta": {1: ("apiVersion", "str"), 2: ("kind", "str")},
    "ListMeta": {1: ("selfLink", "str"), 2: ("resourceVersion", "str"), 3: ("continue", "str")},
    "ObjectMeta": {
        1: ("name", "str"), 2: ("generateName", "str"), 3: ("namespace", "str"), 4: ("selfLink", "str"),
        5: ("uid", "str"), 6: ("resourceVersion", "str"), 7: ("generation", "int"), 8: ("creationTimestamp", "time"),
        11: ("labels", "{}"), 12: ("annotations", "{}"), 13: ("ownerReferences", "[]OwnerReference"),
        17: ("managedFields", "left out"),
    },
    "OwnerReference": {
        1: ("kind", "str"), 3: ("name", "str"), 4: ("uid", "str"), 5: ("apiVersion", "str"),
        6: ("controller", "bool"), 7: ("blockOwnerDeletion", "bool"),
    },
    "ReplicaSetList": {1: ("metadata", "ListMeta"), 2: ("items", "[]ReplicaSet")},
    "ReplicaSet": {1: ("metadata", "ObjectMeta"), 2: ("spec", "ReplicaSetSpec"), 3: ("status", "left out")},
    "ReplicaSetSpec": {
        1: ("replicas", "int"), 2: ("selector", "LabelSelector"), 3: ("template", "PodTemplateSpec"),
        4: ("minReadySeconds", "int"),
    },
    "ControllerRevisionList": {1: ("metadata", "ListMeta"), 2: ("items", "[]ControllerRevision")},
    "ControllerRevision": {1: ("metadata", "ObjectMeta"), 2: ("data", "RawExtension"), 3: ("revision", "int")},
    "RawExtension": {1: ("raw", "json")},
    "LabelSelector": {1: ("matchLabels", "{}")},
    "PodTemplateSpec": {1: ("metadata", "ObjectMeta"), 2: ("spec", "PodSpec")},
    "PodSpec": {
        2: ("containers", "[]Container"), 3: ("restartPolicy", "str"), 4: ("terminationGracePeriodSeconds", "int"),
        6: ("dnsPolicy", "str"), 8: ("serviceAccountName", "str"), 9: ("serviceAccount", "str"), 10: ("nodeName", "str"),
        11: ("hostNetwork", "bool"), 12: ("hostPID", "bool"), 13: ("hostIPC", "bool"), 14: ("securityContext", "Empty"),
        16: ("hostname", "str"), 17: ("subdomain", "str"), 19: ("schedulerName", "str"), 24: ("priorityClassName", "str"),
    },
    "Empty": {},
    "Container": {
        1: ("name", "str"), 2: ("image", "str"), 3: ("command", "[]str"), 5: ("workingDir", "str"), 7: ("env", "[]EnvVar"),
        8: ("resources", "Empty"), 11: ("readinessProbe", "Probe"), 13: ("terminationMessagePath", "str"),
        14: ("imagePullPolicy", "str"), 16: ("stdin", "bool"), 17: ("stdinOnce", "bool"), 18: ("tty", "bool"),
        20: ("terminationMessagePolicy", "str"),
    },
    "EnvVar": {1: ("name", "str"), 2: ("value", "str")},
    "Probe": {
        1: ("", "ProbeHandler"), 2: ("initialDelaySeconds", "int"), 3: ("timeoutSeconds", "int"), 4: ("periodSeconds", "int"),
        5: ("successThreshold", "int"), 6: ("failureThreshold", "int"),
    },
    "ProbeHandler": {1: ("exec", "ExecAction")},
    "ExecAction": {1: ("command", "[]str")},
}  # fmt: skip


def decoded(data: bytes) -> dict[str, Any]:
    """The object in an answer of the type `application/vnd.kubernetes.protobuf`; items of a list get their kind."""
    assert data.startswith(MAGIC)
    envelope = _message(data[len(MAGIC) :], "Unknown")
    kind, version = envelope["typeMeta"]["kind"], envelope["typeMeta"]["apiVersion"]
    found = _message(envelope["raw"], kind)
    for item in found.get("items", ()):
        item |= {"kind": kind.removesuffix("List"), "apiVersion": version}
    return {"kind": kind, "apiVersion": version, **found}


def _message(data: bytes, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, value in _fields(data):
        assert number in _MESSAGES[name], f"{name} has a field {number}: {value!r}"
        field, kind = _MESSAGES[name][number]
        if kind == "left out":
            continue
        if kind == "{}":
            entry = dict(_fields(value))
            found.setdefault(field, {})[entry[1].decode()] = entry[2].decode()
        elif kind.startswith("[]"):
            found.setdefault(field, []).append(_value(value, kind[2:]))
        elif not field:  # a message that JSON has inline
            found |= _value(value, kind)
        else:
            found[field] = _value(value, kind)
    return found


def _value(value: Any, kind: str) -> Any:
    if kind == "RawExtension":
        return _message(value, kind)["raw"]
    if kind in _MESSAGES:
        return _message(value, kind)
    if kind == "time":
        seconds = dict(_fields(value)).get(1)
        return seconds if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    readers: dict[str, Callable[[Any], Any]] = {"str": bytes.decode, "json": json.loads, "bytes": bytes}
    readers |= {"bool": bool, "int": int}
    return readers[kind](value)


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field: an int for a varint, bytes for what has a length."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        assert key & 7 in (0, 2), f"wire type {key & 7}"
        size, at = _varint(data, at)
        if key & 7 == 2:
            yield key >> 3, data[at : at + size]
            at += size
        else:
            yield key >> 3, size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
