"""Generated words and argument lists: kubectl asks for what rawkube's mapper finds, or ends with the same error.

The words are drawn by a seeded generator from the names of one scripted server, in all the forms and spellings that
have rules, and from what is near to them.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from rawkube.api.discovery import Discovery
from rawkube.api.mapper import Mapper, Named
from rawkube.api.paths import resource_path
from rawkube.errors import UsageError
from tests.support.client import Client
from tests.support.discovery_server import DiscoveryServer, res
from tests.support.examples import EVERY_WAY, some
from tests.support.run import Result, kubectl_command, run

pytestmark = pytest.mark.kubectl

RESOURCES = [
    res("pods.v1.", short="po", cats="all"),
    res("nodes.v1.", namespaced=False, short="no"),
    res("endpoints.v1.", kind="Endpoints", short="ep"),
    res("events.v1.", short="ev"),
    res("deployments.v1.apps", short="deploy", cats="all"),
    res("deployments.v1beta1.apps", short="deploy", cats="all"),
    res("jobs.v1.batch", cats="all"),
    res("events.v1.events.k8s.io", short="ev"),
    res("ingresses.v1beta1.extensions", kind="Ingress", short="ing"),
    res("deployments.v1beta1.extensions", short="deploy", cats="all"),
    res("widgets.v1.extensions"),
    res("widgets.v1.ext", short="wi", cats="gear"),
    res("gears.v1.ext", singular="oddgear", kind="GearThing", short="ge", cats="gear"),
    res("ingresses.v1.networking.k8s.io", kind="Ingress", short="ing"),
    res("storageclasses.v1.storage.k8s.io", kind="StorageClass", short="sc", namespaced=False),
    res("charts.v1.helm.example.com", kind="HelmChart", short="hc"),
    res("charts.v1beta1.helm.example.com", kind="HelmChart", short="hc"),
    res("oldies.v1beta1.helm.example.com", singular="", kind="Oldie", cats="gear helm"),
    res("charts.v1.source.example.com", kind="HelmChart", short="hc", cats="helm"),
    res("poddlers.v1.acme.com", short="pods pod pdl"),
    res("policies.v1.acme.com", kind="Policy", short="wi", namespaced=False),
]
SHORT = {name for one in RESOURCES for name in one.short_names}
NAMES = sorted({word for one in RESOURCES for word in (one.plural, one.singular, one.kind)} | SHORT)
GROUPS = sorted({one.group for one in RESOURCES if one.group})
VERSIONS = ["v1", "v1beta1", "v2"]
CATEGORIES = ["all", "gear", "helm"]
DISCOVERY = re.compile(r"/api(/v1)?|/apis(/[^/]+/[^/]+)?")
# Of each kind; the more are tried when RAWKUBE_TEST_EVERY_WAY is set.
SEEDS = 60 if EVERY_WAY else 6


def spelled(pick: random.Random, name: str) -> str:
    return pick.choice([name, name, name, name.upper(), name.capitalize(), name.lower(), name + "s", name[:-1]])


def suffixed(pick: random.Random) -> str:
    group, version = pick.choice(GROUPS), pick.choice(VERSIONS)
    part = group[: pick.randint(1, len(group))]
    forms = ["", "", "", ".", f".{group}", f".{group}", f".{part}", f".{group.upper()}", f".{version}"]
    return pick.choice(
        [*forms, f".{version}.{group}", f".{version}.{group}", f".{version}.", f"..{group}", f".{group}."]
    )


def is_left_out(word: str) -> bool:
    """Where rawkube knowingly differs: a short name keeps its version, and the kinds of collections are no words."""
    name, _, rest = word.partition(".")
    return name.lower().rstrip("s").endswith("list") or ("." in rest and name in SHORT)


def words(count: int, seed: str) -> list[str]:
    pick = random.Random(seed)
    made = (spelled(pick, pick.choice(NAMES)) + suffixed(pick) for _ in itertools.count())
    return list(itertools.islice((word for word in made if not is_left_out(word)), count))


class Line(NamedTuple):
    """Arguments of `get`."""

    args: tuple[str, ...]
    selector: str = ""
    all_namespaces: bool = False

    @property
    def flags(self) -> list[str]:
        return [*(["-l", self.selector] if self.selector else []), *(["-A"] if self.all_namespaces else [])]


def argument_lists(count: int, seed: str) -> list[Line]:
    pick = random.Random(seed)
    good = [word for word in words(200, seed) if "." in word or word in NAMES]
    types = [*good, *CATEGORIES * 20, "nosuch", ""]
    names = ["a", "b", "a,b", "web-0", "pods", "a b", ""]

    def several() -> str:
        return ",".join(pick.choice(types) for _ in range(pick.choice([1, 1, 1, 2, 3])))

    def pair() -> str:
        return f"{pick.choice([several(), pick.choice(good)])}/{pick.choice(['a', 'b', 'a', 'a/b', ''])}"

    def line() -> Line:
        form = pick.randint(0, 5)
        few = range(pick.randint(1, 3))
        if form <= 1:
            args = [several()]
        elif form <= 3:
            args = [several(), *(pick.choice(names) for _ in few)]
        elif form == 4:
            args = [pair() for _ in few]
        else:
            args = [pick.choice([several(), pair(), pick.choice(names)]) for _ in few]
        return Line(tuple(args), pick.choice(["", "", "", "x=y", " "]), pick.random() < 0.15)

    return [line() for _ in range(count)]


class Asked(NamedTuple):
    """What a command asked for, or the last line that it ended with."""

    paths: tuple[str, ...] = ()
    error: str = ""


class World:
    """The server; kubectl with a warm cache beside it, rawkube's mapper in this process."""

    def __init__(self, server: DiscoveryServer, client: Client, home: Path) -> None:
        self.server = server
        self.client = client
        self.home = home
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._kubectl = kubectl_command()
        self.kubectl("get", "pods")
        self._discovery = Discovery(client, window=1e9)

    def kubectl(self, *args: str) -> Asked:
        with self._lock:
            user = f"run-{next(self._numbers)}"
        result: Result = run([*self._kubectl, f"--as={user}"], *args, url=self.server.url, home=self.home)
        asked = [request for request in self.server.asked if request.header("impersonate-user") == user]
        paths = tuple(path for request in asked if not DISCOVERY.fullmatch(path := request.target.partition("?")[0]))
        return Asked(() if result.code else paths, result.last if result.code else "")

    def rawkube(self, line: Line, *, table: bool) -> Asked:
        mapper = Mapper(self.client, table=table, discovery=self._discovery)
        try:
            wanted = mapper.wanted(line.args, selector=line.selector, all_namespaces=line.all_namespaces)
        except UsageError as error:
            return Asked(error=f"error: {error}".replace("rawkube", "kubectl"))
        return Asked(tuple(_path(one, all_namespaces=line.all_namespaces) for one in wanted))


def _path(one: Named, *, all_namespaces: bool) -> str:
    resource = one.resource._replace(namespaced=False) if all_namespaces else one.resource
    return resource_path(resource, "default", one.name)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as home, DiscoveryServer(RESOURCES) as server, Client(server.url) as client:
        yield World(server, client, Path(home))


def verify(world: World, lines: Sequence[Line]) -> None:
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda line: world.kubectl("get", "-o", "name", *line.flags, "--", *line.args), lines))
    for line, expected in zip(lines, told, strict=True):
        for table in (False, True):
            assert world.rawkube(line, table=table) == expected, json.dumps([line.args, line.flags, table])


@pytest.mark.parametrize("seed", [f"words-{number}" for number in range(SEEDS)])
def test_words(seed: str, world: World) -> None:
    """Those that mean something are asked for in one command; the others end a command each."""
    every = words(100, seed)
    found = [word for word in every if not world.rawkube(Line((f"{word}/a",)), table=False).error]
    lost = [word for word in every if word not in found]
    assert len(found) > 10
    verify(
        world, [Line(tuple(f"{word}/a" for word in found)), *(Line((f"{word}/a",)) for word in some(seed, lost[:4]))]
    )


@pytest.mark.parametrize("seed", [f"lists-{number}" for number in range(SEEDS)])
def test_argument_lists(seed: str, world: World) -> None:
    verify(world, some(seed, argument_lists(12, seed), 2))
