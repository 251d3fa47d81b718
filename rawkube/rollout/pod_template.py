"""A Pod template as `kubectl describe` (1.37) writes it, before the columns are aligned. Pure.

`rollout history --revision` and `rollout undo --dry-run=client` print this text with its tabs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rawkube._typing import Any
from rawkube.api.objects import Object
from rawkube.api.paths import escape_segment
from rawkube.api.selectors import SelectorError, from_label_selector
from rawkube.gotext import go_quote
from rawkube.rollout import quantity
from rawkube.rollout.pod_volumes import write_volumes
from rawkube.rollout.prefix_writer import PrefixWriter, write_annotations, write_map

Value = Any  # what JSON can hold

_INDENT = "  "


def describe_template(template: Object) -> str:
    """The text of a typed `PodTemplateSpec` (see `rawkube.rollout.typed`), ended by a line feed."""
    out = PrefixWriter()
    metadata, spec = template["metadata"], template["spec"]
    out.write(0, "Pod Template:\n")
    write_map(out, f"{_INDENT}Labels", metadata.get("labels"))
    if metadata.get("annotations"):
        write_annotations(out, f"{_INDENT}Annotations", metadata["annotations"])
    if spec.get("serviceAccountName"):
        out.write(1, f"Service Account:\t{spec['serviceAccountName']}\n")
    if spec.get("initContainers"):
        _write_containers(out, "Init Containers", spec["initContainers"])
    _write_containers(out, "Containers", spec.get("containers") or ())
    write_volumes(out, spec.get("volumes", ()), _INDENT)
    _write_spread(out, spec.get("topologySpreadConstraints", ()))
    if spec.get("priorityClassName"):
        out.write(1, f"Priority Class Name:\t{spec['priorityClassName']}\n")
    write_map(out, f"{_INDENT}Node-Selectors", spec.get("nodeSelector"))
    _write_tolerations(out, spec.get("tolerations", ()))
    if "schedulingGroup" in spec:
        out.write(0, f"{_INDENT}SchedulingGroup:\n")
        out.write(1, f"PodGroupName:\t{spec['schedulingGroup'].get('podGroupName', '')}\n")
    return out.text()


# Containers.


def _write_containers(out: PrefixWriter, label: str, containers: Sequence[Object]) -> None:
    out.write(0, f"{_INDENT}{label}:{'' if containers else ' <none>'}\n")
    for container in containers:
        _write_basics(out, container)
        _write_words(out, "Command", container.get("command", ()))
        _write_words(out, "Args", container.get("args", ()))
        _write_resources(out, container["resources"])
        for label_of, field in (
            ("Liveness", "livenessProbe"),
            ("Readiness", "readinessProbe"),
            ("Startup", "startupProbe"),
        ):
            if field in container:
                out.write(2, f"{label_of}:\t{_probe(container[field])}\n")
        _write_env_from(out, container.get("envFrom", ()))
        _write_env(out, container)
        _write_mounts(out, container)


def _write_basics(out: PrefixWriter, container: Object) -> None:
    out.write(1, f" {container['name']}:\n")
    out.write(2, f"Image:\t{container.get('image', '')}\n")
    ports = container.get("ports", ())
    for label, field in (("Port", "containerPort"), ("Host Port", "hostPort")):
        text = ", ".join(_port(port, field) for port in ports)
        out.write(2, f"{label}{'s' if ',' in text else ''}:\t{text or '<none>'}\n")
    profile = container.get("securityContext", {}).get("seccompProfile")
    if profile is not None:
        out.write(2, f"SeccompProfile:\t{profile['type']}\n")
        if profile["type"] == "Localhost":
            out.write(3, f"LocalhostProfile:\t{profile.get('localhostProfile', '')}\n")


def _port(port: Object, field: str) -> str:
    name = f" ({port['name']})" if port.get("name") else ""
    return f"{port.get(field, 0)}/{port.get('protocol', '')}{name}"


def _write_words(out: PrefixWriter, label: str, words: Sequence[str]) -> None:
    if words:
        out.write(2, f"{label}:\n")
    for line in (line for word in words for line in word.split("\n")):
        out.write(3, f"{line}\n")


def _write_resources(out: PrefixWriter, resources: Object) -> None:
    for label, field in (("Limits", "limits"), ("Requests", "requests")):
        amounts = resources.get(field) or {}
        if amounts:
            out.write(2, f"{label}:\n")
        for name in sorted(amounts):
            out.write(3, f"{name}:\t{amounts[name]}\n")


def _write_mounts(out: PrefixWriter, container: Object) -> None:
    mounts, devices = container.get("volumeMounts", ()), container.get("volumeDevices", ())
    none = "" if mounts else "\t<none>"
    out.write(2, f"Mounts:{none}\n")
    for mount in sorted(mounts, key=lambda one: one["mountPath"].encode()):
        path = f",path={go_quote(mount['subPath'])}" if mount.get("subPath") else ""
        out.write(3, f"{mount['mountPath']} from {mount['name']} ({'ro' if mount.get('readOnly') else 'rw'}{path})\n")
    if devices:
        out.write(2, f"Devices:{none}\n")
    for device in sorted(devices, key=lambda one: one["devicePath"].encode()):
        out.write(3, f"{device['devicePath']} from {device['name']}\n")


# Environment.


def _write_env_from(out: PrefixWriter, sources: Sequence[Object]) -> None:
    if sources:
        out.write(2, "Environment Variables from:\n")
    for source in sources:
        kind, field = next(
            (pair for pair in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")) if pair[1] in source), ("", "")
        )
        reference = source.get(field, {})
        prefix = f" with prefix '{source['prefix']}'" if source.get("prefix") else ""
        out.write(3, f"{reference.get('name', '')}\t{kind}{prefix}\tOptional: {_bool(reference.get('optional'))}\n")


def _write_env(out: PrefixWriter, container: Object) -> None:
    variables = container.get("env", ())
    out.write(2, f"Environment:{'' if variables else chr(9) + '<none>'}\n")
    for variable in variables:
        name = variable["name"]
        if "valueFrom" not in variable:
            first, *more = variable.get("value", "").split("\n")
            out.write(3, f"{name}:\t{first}\n")
            for line in more:
                out.write(3, f"\t{line}\n")
        elif text := _value_from(variable["valueFrom"], container):
            out.write(3, f"{name}:\t{text}\n")


def _value_from(source: Object, container: Object) -> str:
    """Where a value comes from; empty where kubectl says nothing."""
    if "fieldRef" in source:
        field = source["fieldRef"]
        return f" ({field.get('apiVersion', '')}:{field['fieldPath']})"
    if "resourceFieldRef" in source:
        field = source["resourceFieldRef"]
        return f"{_resource_value(field, container['resources'])} ({field['resource']})"
    if "secretKeyRef" in source:
        return _key_of("in secret", source["secretKeyRef"])
    return _key_of("of config map", source["configMapKeyRef"]) if "configMapKeyRef" in source else ""


def _key_of(what: str, reference: Object) -> str:
    optional = _bool(reference.get("optional"))
    return f"<set to the key '{reference['key']}' {what} '{reference.get('name', '')}'>\tOptional: {optional}"


def _bool(value: Value) -> str:
    return str(bool(value)).lower()


def _resource_value(field: Object, resources: Object) -> str:
    """A container's own request or limit, in units of the divisor; empty for what no variable can show."""
    kind, _, name = str(field["resource"]).partition(".")
    shown = name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-")
    if kind not in ("limits", "requests") or not shown:
        return ""
    milli = name == "cpu"
    amount = quantity.units(str((resources.get(kind) or {}).get(name, "0")), milli=milli)
    divisor = str(field.get("divisor", "0"))
    unit = quantity.units(divisor if quantity.value(divisor) else "1", milli=milli)
    result = str(-(-amount // unit))
    return "node allocatable" if result == "0" and field["resource"] in ("limits.cpu", "limits.memory") else result


# Probes.


def _probe(probe: Object) -> str:
    return (
        f"{_handler(probe)} delay={probe.get('initialDelaySeconds', 0)}s timeout={probe.get('timeoutSeconds', 0)}s "
        f"period={probe.get('periodSeconds', 0)}s successThreshold={probe.get('successThreshold', 0)} "
        f"failureThreshold={probe.get('failureThreshold', 0)}"
    )


def _handler(probe: Object) -> str:
    if "exec" in probe:
        return f"exec [{' '.join(probe['exec'].get('command', ()))}]"
    if "httpGet" in probe:
        return f"http-get {_url(probe['httpGet'])}"
    if "tcpSocket" in probe:
        return f"tcp-socket {probe['tcpSocket'].get('host', '')}:{probe['tcpSocket']['port']}"
    if "grpc" in probe:
        service = probe["grpc"].get("service")
        return f"grpc <pod>:{probe['grpc']['port']} {'' if service is None else service}"
    return "unknown"


def _url(action: Mapping[str, Value]) -> str:
    """The URL of a probe as Go's url.URL writes it; `host` and `scheme` may be empty."""
    scheme, host, port = str(action.get("scheme", "")).lower(), str(action.get("host", "")), str(action["port"])
    if port:
        host = f"[{host}]:{port}" if ":" in host or "%" in host else f"{host}:{port}"
    path = "/".join(map(escape_segment, str(action.get("path", "")).split("/")))
    text = f"{scheme}:" if scheme else ""
    if host or (scheme and path):
        text += f"//{host}"
    if host and path and path[0] != "/":
        text += "/"
    return text + path


# Where it may run.


def _write_spread(out: PrefixWriter, constraints: Sequence[Object]) -> None:
    if constraints:
        out.write(0, f"{_INDENT}Topology Spread Constraints:\t")
    for number, one in enumerate(sorted(constraints, key=lambda one: one["topologyKey"].encode())):
        start = f"{_INDENT}\t" if number else ""
        selector = f" for selector {_selector(one['labelSelector'])}" if "labelSelector" in one else ""
        when = f"{one['whenUnsatisfiable']} when max skew {one['maxSkew']} is exceeded"
        out.write(0, f"{start}{one['topologyKey']}:{when}{selector}\n")


def _selector(selector: Object) -> str:
    try:
        return from_label_selector(selector) or "<none>"
    except SelectorError:
        return "<error>"


def _write_tolerations(out: PrefixWriter, tolerations: Sequence[Object]) -> None:
    out.write(0, f"{_INDENT}Tolerations:\t{'' if tolerations else '<none>' + chr(10)}")
    for number, one in enumerate(sorted(tolerations, key=lambda one: one.get("key", "").encode())):
        out.write(0, f"{chr(9) if number else ''}{_toleration(one)}\n")


def _toleration(one: Object) -> str:
    text = str(one.get("key", ""))
    text += f"={one['value']}" if one.get("value") else ""
    text += f":{one['effect']}" if one.get("effect") else ""
    if one.get("operator") == "Exists" and not one.get("value"):
        text += " op=Exists" if text else "op=Exists"
    return text + (f" for {one['tolerationSeconds']}s" if "tolerationSeconds" in one else "")
