"""The import rules of the house: a floor imports only what lies below it, neighbours do not import each other."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "rawkube"

# From the top. What stands in one row are neighbours.
FLOORS = [
    {"zipapp"},
    {"cli"},
    {"observe"},
    {"rollout", "remotecommand"},
    {"api"},
    {"wire", "kubeconfig"},
    {"go_json"},
    {"duration", "gotext"},
    {"errors", "_version"},
    {"_pattern"},
    {"_typing"},
    {"_named_tuple", "_threads"},
]

# Files that open nothing and know no clock.
PURE = {
    "cli/explanations.py",
    "cli/flags.py",
    "cli/live_canvas.py",
    "cli/live_rows.py",
    "rollout/status.py",
    "rollout/happenings.py",
    "rollout/counters.py",
    "rollout/tally.py",
    "cli/rollout_codes.py",
    "cli/rollout_errors.py",
    "cli/rollout_options.py",
    "rollout/belongings.py",
    "rollout/causes.py",
    "rollout/fail_fast.py",
    "rollout/neighbourhood.py",
    "api/json_path.py",
    "api/json_path_steps.py",
    "api/expected.py",
    "api/waited.py",
    "rollout/kinds.py",
    "rollout/kstatus.py",
    "rollout/batch_kinds.py",
    "rollout/foreign_kinds.py",
    "rollout/reading.py",
    "cli/tables/wait.py",
    "rollout/explain/admission.py",
    "rollout/explain/configuration.py",
    "rollout/explain/containers.py",
    "rollout/explain/crashes.py",
    "rollout/explain/creation.py",
    "rollout/explain/detectors.py",
    "rollout/explain/fields.py",
    "rollout/explain/finding.py",
    "rollout/explain/grouping.py",
    "rollout/explain/images.py",
    "rollout/explain/init_containers.py",
    "rollout/explain/jobs.py",
    "rollout/explain/pods.py",
    "rollout/explain/probes.py",
    "rollout/explain/scene.py",
    "rollout/explain/starts.py",
    "rollout/explain/view.py",
    "rollout/explain/claims.py",
    "rollout/explain/controllers.py",
    "rollout/explain/deadline.py",
    "rollout/explain/leaving.py",
    "rollout/explain/nodes.py",
    "rollout/explain/refusals.py",
    "rollout/explain/scheduler_message.py",
    "rollout/explain/scheduling.py",
    "rollout/explain/stateful_sets.py",
    "rollout/explain/words.py",
    "rollout/api_types.py",
    "rollout/history.py",
    "rollout/patches.py",
    "rollout/pod_template.py",
    "rollout/pod_volumes.py",
    "rollout/prefix_writer.py",
    "rollout/quantity.py",
    "rollout/tabs.py",
    "rollout/typed.py",
    "api/watch.py",
    "api/status.py",
    "api/builtin.py",
    "api/json_end.py",
    "api/objects.py",
    "api/paths.py",
    "api/warning_header.py",
    "api/arguments.py",
    "api/discovery_documents.py",
    "api/mapping.py",
    "kubeconfig/block_yaml.py",
    "kubeconfig/document.py",
    "kubeconfig/event_yaml.py",
    "kubeconfig/yaml_scalars.py",
    "kubeconfig/exec_info.py",
    "kubeconfig/exec_output.py",
    "kubeconfig/install_hint.py",
    "kubeconfig/plugin_policy.py",
    "kubeconfig/plugins.py",
    "kubeconfig/resolve.py",
    "kubeconfig/proxies.py",
    "kubeconfig/proxy_url.py",
    "kubeconfig/timestamp.py",
    "wire/frames.py",
    "wire/http1.py",
    "wire/redact.py",
    "wire/proxy.py",
    "wire/websocket.py",
    "wire/frame_header.py",
    "wire/frame_mask.py",
    "wire/framing.py",
    "wire/redact_body.py",
    "wire/secret_body.py",
    "wire/transcript.py",
    "observe/conversation.py",
    "observe/doctor/facts.py",
    "observe/doctor/uses.py",
    "observe/doctor/way.py",
    "observe/messages.py",
    "observe/trace.py",
    "observe/levels.py",
    "remotecommand/channels.py",
    "remotecommand/life_signs.py",
    "go_json.py",
    "remotecommand/copy_names.py",
    "remotecommand/copy_report.py",
    "remotecommand/detach.py",
    "remotecommand/ended.py",
    "remotecommand/request.py",
    "remotecommand/protocols.py",
    "remotecommand/result.py",
    "remotecommand/log_end.py",
    "remotecommand/log_lines.py",
    "cli/go_time.py",
    "remotecommand/pods.py",
    "api/selectors.py",
    "api/label_selector.py",
    "duration.py",
    "gotext.py",
    "cli/commands.py",
    "cli/command.py",
    "cli/columns.py",
    "cli/tables/config.py",
    "cli/tables/global_flags.py",
    "cli/completing.py",
    "cli/completion_scripts.py",
    "cli/tables/logs.py",
    "cli/tables/discovery.py",
    "cli/tables/rollout.py",
    "cli/tables/sessions.py",
    "cli/tables/proxy.py",
    "observe/bodies.py",
    "observe/proxy_heads.py",
    "observe/proxy_origin.py",
    "cli/tables/tools.py",
    "cli/tables/wire.py",
    "cli/tables/inspect.py",
    "api/resource.py",
    "cli/tables/resources.py",
    "cli/age.py",
    "cli/get_formats.py",
    "cli/list_errors.py",
    "cli/numbers.py",
    "cli/printers.py",
    "cli/tables_text.py",
    "cli/yaml_text.py",
    "cli/watch_lines.py",
    "api/object_store.py",
    "api/streaming_list.py",
    "api/changes.py",
    "cli/help.py",
    "cli/text.py",
    "observe/accept.py",
    "observe/ask.py",
    "observe/entries.py",
    "observe/har.py",
    "observe/page_data.py",
    "observe/replicas.py",
    "observe/derive.py",
    "observe/forms.py",
    "observe/loopback.py",
    "observe/pieces.py",
    "observe/strict.py",
    "observe/exchanges.py",
    "observe/chunks.py",
    "observe/frames.py",
    "observe/sessions.py",
    "observe/upgrades.py",
    "observe/match.py",
    "observe/story.py",
    "observe/summary.py",
    "observe/compare.py",
    "observe/compared.py",
    "observe/har_reader.py",
    "observe/selectors.py",
    "errors.py",
}
NOT_PURE = {"time", "socket", "ssl", "select", "selectors", "subprocess", "threading", "asyncio", "httpx", "random"}

SOCKETS = {"wire", "observe"}
PROCESSES = {"kubeconfig/subprocesses.py", "observe/certificate.py", "cli/running.py", "zipapp.py"}
STARTS_SLOWLY = {"httpx", "asyncio", "requests", "urllib3", "argparse", "logging"}


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


Block = ast.stmt | ast.excepthandler | ast.match_case


def statements(path: Path) -> list[tuple[ast.AST, bool]]:
    """Every statement of a file, and whether it is reached when the file is imported."""
    nodes: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text()), True)]
    for node, eager in nodes:
        below = eager and not isinstance(node, ast.FunctionDef) and not is_for_types(node)
        nodes += [(inner, below) for inner in ast.iter_child_nodes(node) if isinstance(inner, Block)]
    return nodes


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@cache
def imports(path: Path) -> list[tuple[str, bool]]:
    """(module, whether at import time) of every import statement of a file."""
    found: list[tuple[str, bool]] = []
    for node, eager in statements(path):
        if isinstance(node, ast.Import):
            found += [(alias.name, eager) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found.append((node.module or "", eager))
            found += [(f"{node.module}.{a.name}", eager) for a in node.names]
    return found


def floor_of(name: str) -> int:
    return next(i for i, names in enumerate(FLOORS) if name in names)


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def calls(path: Path) -> frozenset[str]:
    """The names of what a file calls, as written: of what prints, asks, opens or ends."""
    text = path.read_text()
    if not re.search(r"\b(open|print|input|_?exit)\s*\(", text):
        return frozenset()
    called = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and is_name(node))
    return frozenset(ast.unparse(node.func) for node in called)


def is_name(call: ast.Call) -> bool:
    of = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return isinstance(of, ast.Name)


def roots(path: Path) -> set[str]:
    """The top-level names of what a file imports."""
    return {module.split(".")[0] for module, _ in imports(path)}


def test_imports_go_down_only() -> None:
    wrong = []
    for path in sources():
        area = relative(path).split("/")[0].removesuffix(".py")
        for module, _ in imports(path):
            target = module.split(".")[1] if module.startswith("rawkube.") else area
            if area in ("__init__", "__main__") or target == area or not any(target in row for row in FLOORS):
                continue
            if floor_of(target) <= floor_of(area):
                wrong.append(f"{relative(path)} imports {module}")
    assert not wrong


def test_pure_files_open_nothing_and_know_no_clock() -> None:
    paths = [PACKAGE / name for name in PURE]
    assert [relative(path) for path in paths if roots(path) & NOT_PURE] == []
    assert [relative(path) for path in paths if calls(path) & {"open", "print", "input", "exit", "sys.exit"}] == []


def test_only_the_command_line_prints_and_exits() -> None:
    below = [path for path in sources() if relative(path).split("/")[0] not in ("cli", "__main__.py", "zipapp.py")]
    assert [relative(path) for path in below if calls(path) & {"print", "exit", "sys.exit", "os._exit"}] == []
    assert [relative(path) for path in below if "sys.argv" in path.read_text()] == []


def test_only_a_few_files_open_sockets_and_start_processes() -> None:
    with_sockets = {relative(path).split("/")[0] for path in sources() if "socket" in roots(path)}
    assert with_sockets <= SOCKETS
    assert {relative(path) for path in sources() if "subprocess" in roots(path)} <= PROCESSES


def test_nothing_slow_is_imported_at_import_time() -> None:
    for path in sources():
        eager = {module.split(".")[0] for module, at_import in imports(path) if at_import}
        # The face for library users is imported only when it is asked for.
        assert relative(path) == "api/httpx_client.py" or not eager & STARTS_SLOWLY, relative(path)


def test_modules_stay_readable() -> None:
    assert [relative(path) for path in sources() if len(path.read_text().splitlines()) >= 500] == []


def test_the_table_of_floors_names_every_folder() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/*.py")}
    assert folders <= set().union(*FLOORS)
