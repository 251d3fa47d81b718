"""From the words of a `logs` command line to the containers whose logs are meant. The requests are kubectl 1.37's."""

from __future__ import annotations

from collections.abc import Callable

from rawkube._typing import NamedTuple
from rawkube.api.arguments import check_name
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.mapper import Mapper
from rawkube.api.missing import get_or_explain
from rawkube.api.objects import Object, metadata_of
from rawkube.errors import RawkubeError, StatusError
from rawkube.gotext import one_line
from rawkube.remotecommand.logs import Source
from rawkube.remotecommand.pods import NotAttachable, best_for_logs, containers_for_logs, is_pod, pod_selector
from rawkube.remotecommand.target import first_to_come, read_word


class Choice(NamedTuple):
    """Which containers of which pods. `timeout`: seconds to wait for a pod where there is none."""

    container: str = ""
    all_containers: bool = False
    all_pods: bool = False
    timeout: float = 20.0


def find_object(client: ApiClient, word: str, namespace: str) -> Object:
    """What `NAME` (a pod) or `TYPE/NAME` names.

    Raises UsageError, StatusError, TransportError, DecodeError, RawkubeError (it is not there; kubectl's words).
    """
    wanted = read_word(word)
    resource = Mapper(client).resource(wanted.type)
    check_name(wanted.name)
    try:
        return get_or_explain(client, resource, namespace if resource.namespaced else "", wanted.name)
    except StatusError as error:
        if error.reason != "NotFound":
            raise
        text = f'error from server (NotFound): {error} in namespace "{namespace}"'
        raise RawkubeError(text, detail=error.detail) from None


def selected_pods(client: ApiClient, selector: str, namespace: str) -> list[Object]:
    """The pods that a label selector selects. Raises StatusError, TransportError, DecodeError."""
    found: list[Object] = client.list(known("pods"), namespace, query=[("labelSelector", selector)])["items"]
    return found


def sources(
    client: ApiClient, thing: Object, namespace: str, choice: Choice, on_note: Callable[[str], None]
) -> list[Source]:
    """The logs of a pod, or of the pods that an object stands for: the best one's, or (`all_pods`) each one's.

    `on_note` is told what was chosen that nobody had named. Raises NotAttachable, NoSuchContainer, WaitTimeout,
    WatchEnded, StatusError, TransportError, DecodeError.
    """
    if is_pod(thing):
        return sources_of_pods([thing], namespace, choice, on_note)
    try:
        selector = pod_selector(thing)
    except NotAttachable as error:
        why = str(error).removeprefix("cannot attach to ")
        raise NotAttachable(f"cannot get the logs from {why}", detail=error.detail) from None
    namespace = str(metadata_of(thing).get("namespace") or namespace)
    pods = _pods_behind(client, selector, namespace, choice.timeout)
    if choice.all_pods:
        pods = selected_pods(client, selector, namespace)
    elif len(pods) > 1:
        found = len(pods)
        pods = [best_for_logs(pods)]
        on_note(f"Found {found} pods, using pod/{one_line(str(metadata_of(pods[0]).get('name') or ''))}")
    return sources_of_pods(pods, namespace, choice, on_note)


def sources_of_pods(pods: list[Object], namespace: str, choice: Choice, on_note: Callable[[str], None]) -> list[Source]:
    """The logs of each of these pods. Raises NoSuchContainer. Pure."""
    found = []
    for pod in pods:
        containers, notices = containers_for_logs(pod, choice.container, every=choice.all_containers)
        for notice in notices if not choice.all_pods else ():
            on_note(notice)
        metadata = metadata_of(pod)
        name, own = str(metadata.get("name") or ""), str(metadata.get("namespace") or namespace)
        check_name(name)
        found += [Source(own, name, container, pod) for container in containers]
    return found


def _pods_behind(client: ApiClient, selector: str, namespace: str, timeout: float) -> list[Object]:
    """The pods of a selector; where there are none, the first that comes."""
    resource = known("pods")
    query = [("labelSelector", selector)] if selector else []
    listing = client.list(resource, namespace, query=query)
    items: list[Object] = listing["items"]
    if items:
        return items
    version = str(metadata_of(listing).get("resourceVersion") or "")
    if version:
        query.append(("resourceVersion", version))
    return [first_to_come(client, resource, namespace, query, timeout)]
