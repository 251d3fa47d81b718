"""Pure: the commands about what a server has, as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag

_API_RESOURCES_FLAGS = (
    Flag("api-group", metavar="GROUP", help="Only the resources of this API group; an empty one is the core group."),
    Flag("cached", "", "bool", False, "Taken for kubectl's sake: nothing is kept between two commands.", ignored=True),
    Flag("categories", "", "list", (), "Only resources that are in all of these categories.", "CATEGORY,..."),
    Flag("namespaced", "", "bool", True, "Only resources whose objects are in a namespace; =false: only others."),
    Flag("no-headers", "", "bool", False, "Leave out the line of headings."),
    Flag("output", "o", metavar="wide|name|json|yaml", help="Show verbs and categories, names, or an object."),
    Flag("sort-by", metavar="name|kind", help="Sort by the name or by the Kind instead of by group and name."),
    Flag("verbs", "", "list", (), "Only resources that can all of this: get, list, watch, create, ...", "VERB,..."),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        ("api-resources",),
        "List the resources that the server has",
        "Lists the resources of the server, each in the version that its group prefers: what a TYPE on the command "
        "line may be. The lines are those of kubectl. A part of the API that cannot be asked is named at the end.",
        examples=(
            ("Everything", "api-resources"),
            ("What is in no namespace, with its verbs", "api-resources --namespaced=false -o wide"),
            ("The names of what `get all` shows", "api-resources --categories=all -o name"),
        ),
        flags=_API_RESOURCES_FLAGS,
        exits=(
            ("0", "listed"),
            ("1", "a part of the API, or all of it, could not be asked; or a command line that cannot be read"),
        ),
        run="api_resources:api_resources",
    ),
    Command(
        ("explain-name",),
        "Say which resource a word means, and why",
        "Says which resource a TYPE on the command line means on this server, by which rule, and whether rawkube's own "
        "table or the server says so; what else the word could have meant, and which parts of the API could not be "
        "asked. A category is shown with its members.",
        "WORD...",
        (
            ("What is deploy?", "explain-name deploy"),
            ("In which group and version?", "explain-name helmcharts.v1.source.example.com"),
            ("For programs", "explain-name hc all -o json"),
        ),
        (Flag("output", "o", metavar="json", help="Print a JSON object a word, each on a line.", shown="text"),),
        (
            ("0", "every word means something"),
            ("1", "a word means nothing, the server could not be asked, or any other error"),
        ),
        run="explain_name:explain_name",
    ),
)
