"""The built-in resources of core/v1, apps/v1 and batch/v1, as a table. Pure.

Saves discovery for the kinds that commands are used with most. A word that is not in the table (another
version, another group, a custom resource, a category such as `all`) is discovery's to find; that includes
`extensions`, where old servers had Deployment and DaemonSet.
"""

from __future__ import annotations

from collections.abc import Iterator

from rawkube.api.resource import Resource
from rawkube.errors import UsageError
from rawkube.gotext import one_line

# group, plural (a "*" follows where the resource is cluster-scoped), Kind, short name, in the order of
# discovery. The singular is the Kind in lower case, the version is v1, and all have at most one short name.
_ROWS = """
- bindings                Binding                -
- componentstatuses*      ComponentStatus        cs
- configmaps              ConfigMap              cm
- endpoints               Endpoints              ep
- events                  Event                  ev
- limitranges             LimitRange             limits
- namespaces*             Namespace              ns
- nodes*                  Node                   no
- persistentvolumeclaims  PersistentVolumeClaim  pvc
- persistentvolumes*      PersistentVolume       pv
- pods                    Pod                    po
- podtemplates            PodTemplate            -
- replicationcontrollers  ReplicationController  rc
- resourcequotas          ResourceQuota          quota
- secrets                 Secret                 -
- serviceaccounts         ServiceAccount         sa
- services                Service                svc
apps controllerrevisions  ControllerRevision     -
apps daemonsets           DaemonSet              ds
apps deployments          Deployment             deploy
apps replicasets          ReplicaSet             rs
apps statefulsets         StatefulSet            sts
batch cronjobs            CronJob                cj
batch jobs                Job                    -
"""

_IN_ALL = frozenset(
    (
        *("pods", "replicationcontrollers", "services"),
        *("daemonsets", "deployments", "replicasets", "statefulsets"),
        *("cronjobs", "jobs"),
    )
)


def _resource(row: str) -> Resource:
    group, plural, kind, short = row.split()
    name = plural.rstrip("*")
    return Resource(
        group="" if group == "-" else group,
        version="v1",
        plural=name,
        singular=kind.lower(),
        kind=kind,
        short_names=() if short == "-" else (short,),
        namespaced=name == plural,
        categories=("all",) if name in _IN_ALL else (),
    )


RESOURCES: tuple[Resource, ...] = tuple(_resource(row) for row in _ROWS.strip().splitlines())


def lookup(word: str) -> Resource | None:
    """The resource that the TYPE of a command line means, or None if the table does not know.

    `word` is `name`, `name.group`, `name.version.group`, or `name.version.` (any group); with two dots or
    more the version form is tried first. The name is a plural, a singular or a Kind in any case, or a short
    name exactly as it is; group and version are case-sensitive. A group that nothing has exactly counts as
    the beginning of one (`deployments.ap`), without a version only. The rules are those of kubectl 1.37,
    except that a short name keeps the version that was asked for.
    """
    name, *rest = word.split(".")
    named = list(_named(name))
    if len(rest) > 1:
        version, group = rest[0], ".".join(rest[1:])
        for resource in named:
            if resource.version == version and group in ("", resource.group):
                return resource
    return _in_group(named, ".".join(rest))


def known(word: str) -> Resource:
    """As lookup(), but a word that is not in the table is a UsageError, in kubectl's words for an unknown type."""
    found = lookup(word)
    if found is not None:
        return found
    name, _, group = word.partition(".")
    where = f' in group "{one_line(group)}"' if group else ""
    raise UsageError(
        f'the server doesn\'t have a resource type "{one_line(name)}"{where}',
        detail=["rawkube knows the built-in kinds of core, apps and batch; the server was not asked for others"],
    )


def _named(name: str) -> Iterator[Resource]:
    lower = name.lower()
    for resource in RESOURCES:
        if lower in (resource.plural, resource.singular) or name in resource.short_names:
            yield resource


def _in_group(named: list[Resource], group: str) -> Resource | None:
    """The first of `named` in that group, else in a group that begins so. An empty group is any group."""
    exact = (resource for resource in named if group in ("", resource.group))
    begins = (resource for resource in named if resource.group.startswith(group))
    return next(exact, None) or next(begins, None)
