"""Pure: what discovery says of one resource."""

from __future__ import annotations

from rawkube._typing import NamedTuple


class Resource(NamedTuple):
    """One resource of one group and version, as discovery describes it. The core group is empty.

    `verbs`: what the server says can be done with it; empty where it was not asked.
    """

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    short_names: tuple[str, ...]
    namespaced: bool
    categories: tuple[str, ...]
    verbs: tuple[str, ...] = ()

    @property
    def group_version(self) -> str:
        """The object's `apiVersion`: `v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The resource with its group, as in messages: `pods`, `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural
