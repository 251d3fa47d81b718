"""`rawkube auth …`: what the server says about who one is, and about what one may do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from rawkube._typing import TYPE_CHECKING, Any, NamedTuple
from rawkube.api.client import ApiClient
from rawkube.api.objects import Object
from rawkube.api.paths import resource_path
from rawkube.api.resource import Resource
from rawkube.cli.columns import columns
from rawkube.cli.command import PROGRAM
from rawkube.cli.output import Output
from rawkube.errors import RawkubeError, StatusError, UsageError
from rawkube.gotext import one_line

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

_NOT_ENABLED = "the selfsubjectreviews API is not enabled in the cluster"
_USAGE = (
    "you must specify two arguments: verb resource or verb resource/resourceName.\n"
    f"See '{PROGRAM} auth can-i -h' for help and examples."
)
# kubectl 1.37, can-i: what is no resource and can be asked about all the same, and the verbs that it knows.
_NOT_DISCOVERED = frozenset(("users", "groups"))
_RESOURCE_VERBS = frozenset(
    (
        *("*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
        *("use", "bind", "impersonate", "approve", "sign", "escalate", "attest"),
    )
)
_PATH_VERBS = frozenset(("*", "get", "put", "post", "head", "options", "delete", "patch"))


def _kind(group: str, version: str, plural: str, kind: str) -> Resource:
    return Resource(group, version, plural, kind.lower(), kind, (), namespaced=False, categories=())


def _create(client: ApiClient, resource: Resource, fields: Mapping[str, Any]) -> Object:
    """Sends an object that the server answers at once and does not keep. Raises StatusError, TransportError."""
    sent = {"kind": resource.kind, "apiVersion": resource.group_version, "metadata": {}, **fields}
    body = json.dumps(sent, separators=(",", ":")).encode()
    headers = [("Content-Type", "application/json")]
    path = resource_path(resource, "")
    with client.send("POST", path, accept="application/json, */*", headers=headers, body=body) as response:
        return client.read_object(response, verb="create", resource=resource)


# whoami


def whoami(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`auth whoami`: the attributes of the user that the server sees, as a table or as an object."""
    form = parsed.values["output"]
    write = None
    if form:
        from rawkube.cli.config import printer

        write = printer(form, out)
    with connect() as client:
        review = _review(client)
    if write is not None:
        write(_typed(review))
        return 0
    for line in columns([("ATTRIBUTE", "VALUE"), *_attributes(_user(review))]):
        out.line(line)
    return 0


def _review(client: ApiClient) -> Object:
    """The newest version that the server has."""
    for version in ("v1", "v1beta1", "v1alpha1"):
        resource = _kind("authentication.k8s.io", version, "selfsubjectreviews", "SelfSubjectReview")
        try:
            return _create(client, resource, {"status": {"userInfo": {}}})
        except StatusError as error:
            if error.reason == "Forbidden":
                text = f"{_NOT_ENABLED} or you do not have permission to call it"
                raise RawkubeError(text, detail=[f"the server said: {error}"]) from None
            if error.reason != "NotFound":
                raise
    raise RawkubeError(_NOT_ENABLED)


def _user(review: Object) -> dict[str, Any]:
    status = review.get("status")
    found = status.get("userInfo") if isinstance(status, dict) else None
    return found if isinstance(found, dict) else {}


def _attributes(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for label, key in (("Username", "username"), ("UID", "uid")):
        if user.get(key):
            yield label, str(user[key])
    if user.get("groups"):
        yield "Groups", _listed(user["groups"])
    extra: dict[str, Any] = user.get("extra") or {}
    for key in sorted(extra):
        yield f"Extra: {key}", _listed(extra[key])


def _listed(values: object) -> str:
    """As Go prints a list of strings."""
    return f"[{' '.join(map(str, values))}]" if isinstance(values, list) else "[]"


def _typed(review: Object) -> Object:
    """The object as kubectl's own type has it: what is empty or not known is not there."""
    metadata: dict[str, Any] = review.get("metadata") or {}
    created = metadata.get("creationTimestamp")
    user = _user(review)
    fields: dict[str, Any] = {key: user[key] for key in ("username", "uid", "groups") if user.get(key)}
    if user.get("extra"):
        fields["extra"] = {key: user["extra"][key] for key in sorted(user["extra"])}
    return {
        "kind": review.get("kind"),
        "apiVersion": review.get("apiVersion"),
        "metadata": {"creationTimestamp": created} if created else {},
        "status": {"userInfo": fields},
    }


# can-i


class _Question(NamedTuple):
    """`path` for what is no resource, else the others; `resource`: None where the server has no such type."""

    verb: str
    path: str = ""
    plural: str = ""
    name: str = ""
    resource: Resource | None = None

    @property
    def group(self) -> str:
        return self.resource.group if self.resource else ""


def can_i(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`auth can-i`: 0 for yes, 1 for no."""
    _check_usage(parsed)
    values = parsed.values
    with connect() as client:
        if values["list"]:
            return _list_rules(client, out, headers=not values["no-headers"])
        question = _question(client, parsed.args, out)
        _warn(question, out, cluster_wide=values["all-namespaces"])
        status = _ask(client, question, parsed)
    allowed = status.get("allowed") is True
    if not values["quiet"]:
        why = "".join(f" - {status[key]}" for key in ("reason", "evaluationError") if status.get(key))
        out.line("yes" if allowed else f"no{why}")
    return 0 if allowed else 1


def _check_usage(parsed: Parsed) -> None:
    values = parsed.values
    if values["list"]:
        if parsed.args:
            raise UsageError("list option must be specified with no arguments")
        if values["quiet"] or values["all-namespaces"] or values["subresource"]:
            raise UsageError(
                "list option can't be specified with neither quiet, all-namespaces nor subresource options"
            )
        return
    if len(parsed.args) != 2:
        raise UsageError(_USAGE)
    if parsed.args[1].startswith("/") and values["subresource"]:
        raise UsageError("--subresource can not be used with NonResourceURL")
    if values["no-headers"]:
        raise UsageError("--no-headers cannot be set without --list specified")


def _question(client: ApiClient, args: list[str], out: Output) -> _Question:
    verb, word = args
    if word.startswith("/"):
        return _Question(verb, path=word)
    kind, _, name = word.partition("/")
    if kind == "*":
        return _Question(verb, plural=kind, name=name)
    resource = _resource(client, kind, out)
    return _Question(verb, plural=resource.plural if resource else kind, name=name, resource=resource)


def _resource(client: ApiClient, word: str, out: Output) -> Resource | None:
    from rawkube.api.mapper import Mapper

    lower = word.lower()
    try:
        return Mapper(client, on_warning=out.warning).resource(lower)
    except (UsageError, StatusError):
        if lower not in _NOT_DISCOVERED:
            plural, _, group = lower.partition(".")
            where = f" in group '{one_line(group)}'" if group else ""
            out.note(f"Warning: the server doesn't have a resource type '{one_line(plural)}'{where}")
        return None


def _warn(question: _Question, out: Output, *, cluster_wide: bool) -> None:
    """What kubectl says about a question that is asked all the same."""
    if question.path:
        known = question.verb in _PATH_VERBS
    elif cluster_wide:
        return
    else:
        known = question.verb in _RESOURCE_VERBS
        resource = question.resource
        if resource is not None and not resource.namespaced:
            where = f" in group '{resource.group}'" if resource.group else ""
            out.note(f"Warning: resource '{resource.plural}' is not namespace scoped{where}")
    if not known:
        out.note(f"Warning: verb '{one_line(question.verb)}' is not a known verb")


def _ask(client: ApiClient, question: _Question, parsed: Parsed) -> Object:
    review = _kind("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview")
    spec: dict[str, Any]
    if question.path:
        spec = {"nonResourceAttributes": {"path": question.path, "verb": question.verb}}
    else:
        attributes = {
            "namespace": "" if parsed.values["all-namespaces"] else client.access.namespace,
            "verb": question.verb,
            "group": question.group,
            "resource": question.plural,
            "subresource": parsed.values["subresource"],
            "name": question.name,
        }
        spec = {"resourceAttributes": {key: value for key, value in attributes.items() if value}}
    status = _create(client, review, {"spec": spec}).get("status")
    return status if isinstance(status, dict) else {}


# can-i --list


class _Rule(NamedTuple):
    """One line of the list: as rbac/v1 PolicyRule, broken down to one resource, name and path each."""

    verbs: list[str]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def order(self) -> str:
        """What the lines are sorted by: the text of a PolicyRule in Go."""
        fields = zip(
            ("Verbs", "APIGroups", "Resources", "ResourceNames", "NonResourceURLs"),
            (self.verbs, self.groups, self.resources, self.names, self.paths),
            strict=True,
        )
        text = "".join(f"{name}:{_listed(list(values))}," for name, values in fields)
        return f"&PolicyRule{{{text}}}"

    @property
    def row(self) -> tuple[str, ...]:
        qualified = ""
        if self.resources:
            plural, slash, subresource = self.resources[0].partition("/")
            qualified = plural + (f".{self.groups[0]}" if self.groups[0] else "") + slash + subresource
        return qualified, _listed(list(self.paths)), _listed(list(self.names)), _listed(self.verbs)


def _list_rules(client: ApiClient, out: Output, *, headers: bool) -> int:
    review = _kind("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview")
    status = _create(client, review, {"spec": {"namespace": client.access.namespace}}).get("status")
    status = status if isinstance(status, dict) else {}
    if status.get("incomplete"):
        out.note(f"Warning: the list may be incomplete: {status.get('evaluationError') or ''}")
    rows = [rule.row for rule in sorted(_rules(status), key=lambda rule: rule.order)]
    head = [("Resources", "Non-Resource URLs", "Resource Names", "Verbs")] if headers else []
    for line in columns([*head, *rows]):
        out.line(line)
    return 0


def _rules(status: Mapping[str, Any]) -> list[_Rule]:
    """Broken down, and what differs by its verbs alone put together (component-helpers, rbac/validation)."""
    of_paths = [
        _Rule([verb], paths=(path,))
        for rule in status.get("nonResourceRules") or ()
        for verb in rule.get("verbs") or ()
        for path in rule.get("nonResourceURLs") or ()
    ]
    of_resources: dict[tuple[str, str, tuple[str, ...]], _Rule] = {}
    for rule in status.get("resourceRules") or ():
        names: list[tuple[str, ...]] = [(name,) for name in rule.get("resourceNames") or ()] or [()]
        for key in (
            (group, resource, name)
            for group in rule.get("apiGroups") or ()
            for resource in rule.get("resources") or ()
            for name in names
        ):
            for verb in rule.get("verbs") or ():
                found = of_resources.setdefault(key, _Rule([], (key[0],), (key[1],), key[2]))
                if verb not in found.verbs:
                    found.verbs.append(verb)
    return [*of_paths, *of_resources.values()]
