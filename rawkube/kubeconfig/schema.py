"""The shape of a kubeconfig file (`apiVersion: v1`, `kind: Config`), and kubectl's words for another shape.
Pure.

Nothing is coerced: `token: 123` is an error. Unknown fields are ignored, `null` is the same as no field.
"""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._pattern import pattern
from rawkube._typing import Any, NamedTuple
from rawkube.gotext import go_quote, one_line
from rawkube.kubeconfig.yaml_scalars import Binary

Value = Any  # what JSON can hold


class SchemaError(ValueError):
    """A value that kubectl refuses.

    The text is kubectl's. `path`: where it stands (keys and indexes); `other`: the place of the entry that it
    repeats, or empty; `advice`: what to do, for a person.
    """

    def __init__(self, text: str, path: tuple[str | int, ...], advice: str, other: tuple[str | int, ...] = ()) -> None:
        super().__init__(text)
        self.path = path
        self.advice = advice
        self.other = other


class Kind(NamedTuple):
    """What may stand in a field: `go` is Go's name of the type, `json` what it is in JSON (`any`: all of it).

    `struct` names the Go type that holds `fields`; `item` is the kind of each element or value;
    `named`: the elements have names, which differ (Go's names of the list and of its elements).
    """

    go: str
    json: str
    struct: str = ""
    fields: Mapping[str, Kind] = {}
    item: Kind | None = None
    named: tuple[str, str] | None = None
    base64: bool = False


def _struct(struct: str, /, **fields: Kind) -> Kind:
    spelled = {field.replace("_", "-"): kind for field, kind in fields.items()}
    return Kind(f"v1.{struct}", "object", struct, spelled)


def _named(struct: str, converted: str, /, **fields: Kind) -> Kind:
    element = _struct(struct, name=STRING, **fields)
    return Kind(f"[]v1.{struct}", "array", item=element, named=(struct, converted))


STRING = Kind("string", "string")
BOOL = Kind("bool", "bool")
DATA = Kind("[]uint8", "string", base64=True)
STRINGS = Kind("[]string", "array", item=STRING)
ANYTHING = Kind("", "any")
EXTENSIONS = _named("NamedExtension", "runtime.Object", extension=ANYTHING)

CLUSTER = _struct(
    "Cluster",
    server=STRING,
    tls_server_name=STRING,
    insecure_skip_tls_verify=BOOL,
    certificate_authority=STRING,
    certificate_authority_data=DATA,
    proxy_url=STRING,
    disable_compression=BOOL,
    extensions=EXTENSIONS,
)
CONTEXT = _struct("Context", cluster=STRING, user=STRING, namespace=STRING, extensions=EXTENSIONS)
_ENVIRONMENT = Kind("[]v1.ExecEnvVar", "array", item=_struct("ExecEnvVar", name=STRING, value=STRING))
_EXEC = _struct(
    "ExecConfig",
    command=STRING,
    args=STRINGS,
    env=_ENVIRONMENT,
    apiVersion=STRING,
    installHint=STRING,
    provideClusterInfo=BOOL,
    interactiveMode=STRING,
)
_PROVIDER = _struct("AuthProviderConfig", name=STRING, config=Kind("map[string]string", "object", item=STRING))
USER = _struct(
    "AuthInfo",
    client_certificate=STRING,
    client_certificate_data=DATA,
    client_key=STRING,
    client_key_data=DATA,
    token=STRING,
    tokenFile=STRING,
    username=STRING,
    password=STRING,
    **{"as": STRING},
    as_uid=STRING,
    as_groups=STRINGS,
    as_user_extra=Kind("map[string][]string", "object", item=STRINGS),
    auth_provider=_PROVIDER,
    exec=_EXEC,
    extensions=EXTENSIONS,
)
CONFIG = _struct(
    "Config",
    clusters=_named("NamedCluster", "*api.Cluster", cluster=CLUSTER),
    users=_named("NamedAuthInfo", "*api.AuthInfo", user=USER),
    contexts=_named("NamedContext", "*api.Context", context=CONTEXT),
    current_context=STRING,
    preferences=_struct("Preferences", colors=BOOL, extensions=EXTENSIONS),
    extensions=EXTENSIONS,
)


def json_type(value: Value) -> str:
    """Go's word for the JSON type of `value`: `null`, `bool`, `number`, `string`, `array`, `object`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def check(value: Value) -> None:
    """Raises SchemaError if kubectl would refuse `value`, a whole file, for its shape."""
    if value is None:
        return
    _check_type_of_file(value)
    _check(value, CONFIG, "Config", (), ())


def check_kind(value: Value, kind: Kind) -> None:
    """Raises SchemaError if `value` is not what `kind`, a struct of Go, takes."""
    _check(value, kind, kind.struct, (), ())


def _check_type_of_file(value: Value) -> None:
    found = json_type(value)
    if found != "object":
        text = f"couldn't get version/kind; json parse error: json: cannot unmarshal {found} into a kubeconfig"
        raise SchemaError(text, (), "a kubeconfig is a mapping")
    for field in ("apiVersion", "kind"):
        found = json_type(value.get(field))
        if found not in ("string", "null"):
            text = "couldn't get version/kind; json parse error: json: "
            text += f"cannot unmarshal {found} into Go struct field .{field} of type string"
            raise SchemaError(text, (field,), "must be a string: put it in quotes")
    version, kind = value.get("apiVersion") or "v1", value.get("kind") or "Config"
    if (version, kind) != ("v1", "Config"):
        text = f"no kind {go_quote(kind)} is registered for version {go_quote(version)}"
        raise SchemaError(text, ("kind",), "a kubeconfig has apiVersion v1 and kind Config")


def _check(value: Value, kind: Kind, struct: str, fields: tuple[str, ...], path: tuple[str | int, ...]) -> None:
    """`struct` and `fields` are Go's names of the place, `path` the place itself."""
    if value is None or kind.json == "any":
        return
    found = json_type(value)
    if found != kind.json:
        place = f"{struct}.{'.'.join(fields)}"
        text = f"json: cannot unmarshal {found} into Go struct field {place} of type {kind.go}"
        raise SchemaError(text, path, _advice(kind, found))
    if found == "object":
        _check_object(value, kind, struct, fields, path)
    elif found == "array":
        _check_list(value, kind, struct, fields, path)
    elif kind.base64:
        _check_base64(value, path)


def _check_object(value: Value, kind: Kind, struct: str, fields: tuple[str, ...], path: tuple[str | int, ...]) -> None:
    for field, inner in value.items():
        if kind.item is not None:
            _check(inner, kind.item, struct, fields, (*path, field))
        elif inner is not None and field in kind.fields:
            _check(inner, kind.fields[field], kind.struct, (*fields, field), (*path, field))


def _check_list(value: Value, kind: Kind, struct: str, fields: tuple[str, ...], path: tuple[str | int, ...]) -> None:
    seen: dict[str, int] = {}
    for index, inner in enumerate(value):
        if kind.item is not None:
            _check(inner, kind.item, struct, fields, (*path, index))
        if kind.named is not None:
            name = (inner or {}).get("name") or ""
            if name in seen:
                listed, converted = kind.named
                text = f"error converting *[]{listed} into *map[string]{converted}: "
                text += f"duplicate name {go_quote(name)} in list"
                raise SchemaError(text, (*path, index), "names differ in a list", (*path, seen[name]))
            if kind is not EXTENSIONS or (inner or {}).get("extension") is not None:
                seen[name] = index


def _advice(kind: Kind, found: str) -> str:
    wanted = {"string": "a string", "bool": "true or false", "array": "a list", "object": "a mapping"}[kind.json]
    hint = ": put it in quotes" if kind.json == "string" and found in ("number", "bool") else ""
    return f"must be {wanted}, not {'an' if found[0] in 'ao' else 'a'} {found}{hint}"


_NOT_BASE64 = pattern(r"[^A-Za-z0-9+/\s]")


def _check_base64(value: str, path: tuple[str | int, ...]) -> None:
    """Standard base64; white space anywhere in it does no harm."""
    if isinstance(value, Binary):
        return
    from binascii import a2b_base64

    text = "".join(value.split())
    try:
        if len(text) % 4:  # strict as it is, it lets a `=` too many pass
            raise ValueError
        a2b_base64(text, strict_mode=True)
    except ValueError:
        wrong = _NOT_BASE64.search(value)
        at = wrong.start() if wrong else len(value)
        raise SchemaError(f"illegal base64 data at input byte {at}", path, "must be standard base64") from None


def data_of(value: Value) -> bytes | None:
    """The bytes of a checked `*-data` field; None where it is absent or empty."""
    if not value:
        return None
    if isinstance(value, Binary):
        return value.encode("utf-8", "replace")
    from binascii import a2b_base64

    return a2b_base64("".join(value.split()))


def shown_path(value: Value, path: tuple[str | int, ...]) -> str:
    """`users[dev].user.token` for a person: an element of a list by its name where it has one."""
    shown = ""
    for step in path:
        value = value[step] if isinstance(step, int) else (value or {}).get(step)
        if isinstance(step, str):
            shown += ("." if shown else "") + one_line(step)
        else:
            name = value.get("name") if isinstance(value, dict) else None
            shown += f"[{one_line(name) if isinstance(name, str) and name else step}]"
    return shown
