"""Containers that do not start, do not stay or do not get ready: code, text, whether it heals."""

from __future__ import annotations

from typing import Any

from rawkube.rollout.explain.containers import useful_lines
from rawkube.rollout.explain.finding import CODES, MAYBE, NEVER, WAITS, Finding
from rawkube.rollout.explain.scene import LogTail
from tests.support.contained import IMAGE, end, look, over, pod_of, running, told, waiting
from tests.support.explained import Object, clock, workload
from tests.support.rows import looped

CANNOT = "container app cannot start: "
PULL = f'Back-off pulling image "{IMAGE}": ErrImagePull: '
REGISTRY = f'the registry of image "{IMAGE}" '
RESOLVE = f'failed to pull and unpack image "{IMAGE}": failed to resolve reference "{IMAGE}": '
RUNC = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
START = RUNC + "unable to start container process: "


def only(found: list[Finding]) -> Finding:
    assert len(found) == 1, found
    assert found[0].code in CODES
    return found[0]


# Reason and message of `state.waiting`: what is found.
WAITING: dict[tuple[str, str], tuple[str, str, str]] = {
    ("ErrImagePull", f"rpc error: code = NotFound desc = {RESOLVE}{IMAGE}: not found"): (
        "ImageNotFound",
        MAYBE,
        f'image "{IMAGE}" does not exist in its registry',
    ),
    ("ErrImagePull", "manifest unknown: manifest unknown"): (
        "ImageNotFound",
        MAYBE,
        f'image "{IMAGE}" does not exist in its registry',
    ),
    (
        "ImagePullBackOff",
        f"{PULL}{RESOLVE}pull access denied, repository does not exist or may require authorization: "
        "server message: insufficient_scope: authorization failed",
    ): (
        "ImagePullDenied",
        MAYBE,
        f'the registry refuses image "{IMAGE}": pull access denied, repository does not exist or may require '
        "authorization: server message: insufficient_scope: authorization failed",
    ),
    ("ErrImagePull", f"{RESOLVE}unexpected status from HEAD request to https://reg.example/v2/: 401 Unauthorized"): (
        "ImagePullDenied",
        MAYBE,
        f'the registry refuses image "{IMAGE}": unexpected status from HEAD request to https://reg.example/v2/: '
        "401 Unauthorized",
    ),
    (
        "ErrImagePull",
        f"{RESOLVE}failed to authorize: failed to fetch anonymous token: Get "
        '"https://auth.example/token": dial tcp 10.0.0.1:443: i/o timeout',
    ): (
        "ImageRegistryUnreachable",
        MAYBE,
        f"{REGISTRY}cannot be reached: failed to authorize: failed to fetch anonymous token: Get "
        '"https://auth.example/token": dial tcp 10.0.0.1:443: i/o timeout',
    ),
    ("ImagePullBackOff", f"{PULL}{RESOLVE}429 Too Many Requests - toomanyrequests: You have reached your limit"): (
        "ImagePullRateLimited",
        MAYBE,
        f'the registry limits how often image "{IMAGE}" may be pulled: 429 Too Many Requests - toomanyrequests: '
        "You have reached your limit",
    ),
    ("ErrImagePull", f'{RESOLVE}failed to do request: Head "https://r/v2/": x509: certificate has expired'): (
        "ImageRegistryUntrusted",
        MAYBE,
        f'the node does not trust the registry of image "{IMAGE}": x509: certificate has expired',
    ),
    ("RegistryUnavailable", ""): (
        "ImageRegistryUnreachable",
        MAYBE,
        f"{REGISTRY}cannot be reached: RegistryUnavailable",
    ),
    ("ErrImagePull", "no match for platform in manifest: not found"): (
        "ImagePlatformMissing",
        NEVER,
        f'image "{IMAGE}" does not exist for the platform of the node: no match for platform in manifest: not found',
    ),
    ("ErrImagePull", "failed to extract layer: write /var/lib: no space left on device"): (
        "NodeDiskFull",
        MAYBE,
        f'the node has no room for image "{IMAGE}": failed to extract layer: write /var/lib: no space left on device',
    ),
    ("SignatureValidationFailed", "no signature"): (
        "ImageSignatureInvalid",
        MAYBE,
        f'the signature of image "{IMAGE}" is not accepted: no signature',
    ),
    ("ErrImagePull", "something new"): ("ImagePullFailed", MAYBE, f'image "{IMAGE}" cannot be pulled: something new'),
    ("ImageInspectError", f'Failed to inspect image "{IMAGE}": rpc error: code = Unknown desc = broken'): (
        "ImageInspectFailed",
        MAYBE,
        f'the node cannot inspect image "{IMAGE}": broken',
    ),
    ("CreateContainerConfigError", "couldn't find key pw in Secret d/db"): (
        "SecretKeyMissing",
        NEVER,
        'Secret "db" has no key "pw"',
    ),
    ("CreateContainerConfigError", "couldn't find key url in ConfigMap d/settings"): (
        "ConfigMapKeyMissing",
        NEVER,
        'ConfigMap "settings" has no key "url"',
    ),
    ("CreateContainerConfigError", "failed to sync secret cache: timed out waiting for the condition"): (
        "SecretUnread",
        MAYBE,
        "the kubelet has not yet been able to read its Secrets",
    ),
    (
        "CreateContainerConfigError",
        'container has runAsNonRoot and image will run as root (pod: "web-1-a_d(u)", container: app)',
    ): ("RunsAsRoot", NEVER, "it would run as root, which runAsNonRoot forbids"),
    (
        "CreateContainerConfigError",
        "container has runAsNonRoot and image has non-numeric user (nginx), cannot verify",
    ): (
        "RunsAsRoot",
        NEVER,
        "its image names its user by a name, so runAsNonRoot cannot be checked",
    ),
    ("CreateContainerConfigError", "something else"): ("ContainerConfigInvalid", MAYBE, "something else"),
    ("CreateContainerError", "failed to generate container spec: no command specified"): (
        "CommandMissing",
        NEVER,
        "neither its image nor its template has a command",
    ),
    ("CreateContainerError", 'failed to reserve container name "app": name "app" is reserved for "0a"'): (
        "ContainerRuntimeSlow",
        MAYBE,
        "the container runtime of the node does not get it made",
    ),
    ("CreateContainerError", ""): ("ContainerCreateFailed", MAYBE, "CreateContainerError"),
    ("RunContainerError", f'{START}exec: "serve": executable file not found in $PATH'): (
        "CommandNotFound",
        NEVER,
        'its command "serve" does not exist in the image',
    ),
    ("RunContainerError", f'{START}exec: "/run.sh": permission denied'): (
        "CommandNotExecutable",
        NEVER,
        'its command "/run.sh" may not be executed (permission denied)',
    ),
    ("RunContainerError", "exec /run.sh: exec format error"): (
        "CommandNotExecutable",
        NEVER,
        "its command is no program for this node (exec format error: another architecture, or a script without #!)",
    ),
    (
        "RunContainerError",
        "crun create failed: executable file `serve` not found in $PATH: No such file or directory",
    ): (
        "CommandNotFound",
        NEVER,
        'its command "serve" does not exist in the image',
    ),
    ("RunContainerError", f"{RUNC}container init was OOM-killed (memory limit too low?)"): (
        "OOMKilled",
        NEVER,
        "its memory limit is too low to start",
    ),
    ("RunContainerError", f'{START}exec: "/data": is a directory'): (
        "CommandNotExecutable",
        NEVER,
        '"/data" is not what it should be: exec: "/data": is a directory',
    ),
    ("RunContainerError", f'{START}error mounting "/a" to rootfs at "/b": no such file or directory'): (
        "ContainerStartFailed",
        MAYBE,
        'error mounting "/a" to rootfs at "/b": no such file or directory',
    ),
}


@looped(("said", "expected"), WAITING.items(), ids=lambda value: value[0])
def test_a_container_that_waits(said: tuple[str, str], expected: tuple[str, str, str]) -> None:
    one = only(look(pod_of([waiting(*said)])))
    assert (one.code, one.resolves, one.text) == (*expected[:2], CANNOT + expected[2])
    assert (one.object, one.container) == ("pod/web-1-a", "app")
    assert one.evidence[0].source == "pod/web-1-a: status.containerStatuses[app].state.waiting"


def test_an_older_kubelet_tells_the_cause_of_a_failed_pull_in_an_event_only() -> None:
    events = [
        told(
            "Failed", f'Failed to pull image "{IMAGE}": rpc error: code = Unknown desc = {RESOLVE}not found', "14:58:00"
        ),
        told("Failed", "Error: ImagePullBackOff", "14:59:00"),
    ]
    made = pod_of([waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}"')])
    one = only(look(made, events=events))
    assert (one.code, one.since, len(one.evidence)) == ("ImageNotFound", clock("14:55:00"), 2)
    assert only(look(made)).code == "ImagePullFailed"


def test_reasons_that_nobody_knows_are_shown_as_they_are() -> None:
    one = only(look(pod_of([waiting("NewInVersion2", "because of\nit")])))
    assert (one.code, one.text) == ("ContainerWaits", r"container app is not started: NewInVersion2: because of\nit")
    assert look(pod_of([waiting("PodInitializing")], conditions=[])) == []


LOOP = "back-off 40s restarting failed container=app pod=web-1-a_d(u)"
FAILED: list[tuple[str, Object, Object, tuple[str, str]]] = [
    ("exit code", end(1), {}, ("ContainerCrashes", "container app crashes with exit code 1, restarted 3 times")),
    (
        "signal",
        end(139),
        {},
        ("ContainerCrashes", "container app crashes with signal SIGSEGV (exit code 139), restarted 3 times"),
    ),
    (
        "signal told apart",
        {**end(0), "signal": 15},
        {},
        ("ContainerCrashes", "container app crashes with signal SIGTERM (exit code 0), restarted 3 times"),
    ),
    ("no signal", end(255), {}, ("ContainerCrashes", "container app crashes with exit code 255, restarted 3 times")),
    (
        "shell",
        end(127),
        {},
        (
            "ContainerCrashes",
            "container app crashes with exit code 127 (by which a shell says that it does not find a command), "
            "restarted 3 times",
        ),
    ),
    (
        "memory",
        end(137, "OOMKilled"),
        {"resources": {"limits": {"memory": "64Mi"}}},
        (
            "OOMKilled",
            "container app is killed for using more than its memory limit of 64Mi (OOMKilled), restarted 3 times",
        ),
    ),
    (
        "memory without a limit",
        end(137, "OOMKilled"),
        {},
        (
            "OOMKilled",
            "container app is killed because its node has no memory left (OOMKilled); it has no memory limit, "
            "restarted 3 times",
        ),
    ),
    (
        "exit code 0",
        end(0, "Completed"),
        {},
        (
            "ContainerEnds",
            "container app ends with exit code 0, but the containers of a Deployment must not end, restarted 3 times",
        ),
    ),
    (
        "cannot run",
        end(128, "ContainerCannotRun", 'OCI runtime create failed: exec: "nope": executable file not found in $PATH'),
        {},
        ("CommandNotFound", f'{CANNOT}its command "nope" does not exist in the image, tried again 3 times'),
    ),
]


@looped(("last", "app", "expected"), [row[1:] for row in FAILED], ids=[row[0] for row in FAILED])
def test_a_container_that_ends(last: Object, app: Object, expected: tuple[str, str]) -> None:
    waits = waiting("CrashLoopBackOff", LOOP, last=last, restarts=3)
    starts = running("14:59:55", last=last, restarts=3)
    for status in (waits, over(last, restarts=3), starts):
        if status is starts and expected[0] == "CommandNotFound":
            continue
        one = only(look(pod_of([status], app=app, phase="Running")))
        assert (one.code, one.text, one.restarts) == (*expected, 3), status
        assert one.evidence[0].time == clock("14:59:30")


def test_the_memory_of_a_whole_pod_and_an_end_that_nobody_saw() -> None:
    for last, text in {
        "OOMKilled": "is killed because its Pod uses more than the memory limit of 1Gi (OOMKilled)",
        "ContainerStatusUnknown": "crashes with exit code 137 as far as is known: its node lost sight of it",
    }.items():
        status = waiting("CrashLoopBackOff", LOOP, last=end(137, last), restarts=1)
        made = pod_of([status], spec={"resources": {"limits": {"memory": "1Gi"}}}, phase="Running")
        assert only(look(made)).text == f"container app {text}, restarted once"


def test_when_a_container_is_started_again() -> None:
    one = only(look(pod_of([waiting("CrashLoopBackOff", LOOP, last=end(1), restarts=1)])))
    assert one.text == "container app crashes with exit code 1, restarted once"
    assert one.evidence[1].text == "CrashLoopBackOff: back-off 40s, next start at 15:00:10Z"
    odd = only(look(pod_of([waiting("CrashLoopBackOff", "back-off soon restarting", last=end(1))])))
    assert odd.evidence[1].text == "CrashLoopBackOff: back-off soon restarting"
    assert odd.text == "container app crashes with exit code 1"


def test_a_container_that_has_outlived_its_last_run_is_sound() -> None:
    last = end(1, start="14:59:00", at="14:59:20")
    assert look(pod_of([running("14:59:29", last=last, ready=True)], phase="Running")) == []
    assert only(look(pod_of([running("14:59:31", last=last, ready=True)], phase="Running"))).code == "ContainerCrashes"


LINES = ("one", "", "  two\x1b[31m", "x" * 1000)
SHOWN = ("one", r"two\x1b[31m", "x" * 150 + " … " + "x" * 150)


def test_which_log_is_that_of_the_crash() -> None:
    waits, runs = waiting("CrashLoopBackOff", LOOP, last=end(1, message="bye\nnow")), running("14:59:55", last=end(1))
    ended = over(end(1))
    for status, previous, expected in (
        (waits, False, SHOWN),
        (waits, True, SHOWN),
        (ended, False, SHOWN),
        (runs, True, SHOWN),
        (runs, False, ()),
    ):
        assert only(look(pod_of([status]), log=LogTail(LINES, previous))).log == expected, (status, previous)
    none = LogTail(("unable to retrieve container logs for containerd://0a",))
    assert only(look(pod_of([ended]), log=none)).log == ()
    assert only(look(pod_of([waits]), log=none)).log == ("bye", "now")
    assert useful_lines(("unable to retrieve container logs for x", "more")) != ()
    assert only(look(pod_of([runs]))).advice == "rawkube logs web-1-a -c app -n d --previous"


def test_a_failed_hook_is_told_before_the_crash_that_it_makes() -> None:
    hook = told("FailedPostStartHook", "PostStartHook failed", "14:59:10")
    waits = waiting("CrashLoopBackOff", LOOP, last=end(137), restarts=2)
    one = only(look(pod_of([waits]), events=[hook]))
    assert one.code == "PostStartHookFails"
    assert (
        one.text == "container app is killed because its postStart hook fails, restarted 2 times: PostStartHook failed"
    )
    assert (
        only(look(pod_of([waits]), events=[told("FailedPostStartHook", "old", "14:58:59")])).code == "ContainerCrashes"
    )


INITS = [{"name": "a"}, {"name": "b"}]


def test_init_containers() -> None:
    done = over(end(0, "Completed"), name="a")
    app = waiting("PodInitializing")
    runs = only(look(pod_of([app], init=INITS, inits=[done, running("14:57:00", name="b")])))
    assert (runs.code, runs.resolves, runs.container) == ("InitContainerRuns", WAITS, "b")
    assert runs.text == "init container b (2 of 2) has not ended yet, it has been running since 14:57:00Z"
    assert look(pod_of([app], init=INITS, inits=[done, running("14:59:51", name="b")])) == []
    fails = only(look(pod_of([app], init=INITS, inits=[over(end(2), name="a", restarts=1)])))
    assert (fails.code, fails.text) == ("InitContainerFails", "init container a fails with exit code 2, restarted once")
    image = only(look(pod_of([app], init=INITS, inits=[waiting("InvalidImageName", "x", name="a")])))
    assert (image.code, image.text[:30]) == ("ImageNameInvalid", "init container a cannot start:")


def test_sidecars_are_containers_that_do_not_end() -> None:
    sidecar = {"name": "proxy", "restartPolicy": "Always"}
    made = pod_of([waiting("PodInitializing")], init=[sidecar], inits=[over(end(0, "Completed"), name="proxy")])
    one = only(look(made))
    assert (one.code, one.text) == (
        "ContainerEnds",
        "sidecar container proxy ends with exit code 0, but the containers of a Deployment must not end",
    )
    assert (
        look(pod_of([running("14:50:00", ready=True)], init=[sidecar], inits=[running("14:50:00", name="proxy")])) == []
    )


PROBE = {"httpGet": {"port": 8080, "path": "/ready"}, "initialDelaySeconds": 5, "periodSeconds": 10}
READY = {"readinessProbe": PROBE}
NOT_READY: list[dict[str, Any]] = [
    {"type": "ContainersReady", "status": "False", "lastTransitionTime": clock("14:58:00")}
]


def test_a_readiness_probe() -> None:
    refused = 'Get "http://10.0.0.7:8080/ready": dial tcp 10.0.0.7:8080: connect: connection refused'
    made = pod_of([running("14:57:00", ready=False)], app=READY, phase="Running", conditions=NOT_READY)
    failing = told("Unhealthy", f"Readiness probe failed: {refused}", "14:59:00", count=7)
    one = only(look(made, events=[failing]))
    assert (one.code, one.resolves, one.since) == ("ReadinessProbeFails", MAYBE, clock("14:58:00"))
    assert one.text == (
        "the readiness probe (GET http://:8080/ready) of container app has been failing since 14:58:00Z: " + refused
    )
    assert [seen.text for seen in one.evidence] == [
        f"7 times: Readiness probe failed: {refused}",
        "initialDelaySeconds 5, periodSeconds 10, failureThreshold 3, so it may fail until 14:57:35Z",
    ]
    silent = only(look(made))
    assert (silent.code, silent.resolves) == ("NotReady", MAYBE)
    assert silent.text == (
        "container app has been running since 14:58:00Z, but its readiness probe (GET http://:8080/ready) has not "
        "succeeded yet"
    )
    errored = told("Unhealthy", "Readiness probe errored and resulted in unknown state: no exec", "14:59:00")
    assert only(look(made, events=[errored])).text.endswith("Z: errored and resulted in unknown state: no exec")
    assert only(look(made, events=[told("Unhealthy", "Liveness probe failed: x", "14:56:00")])).code == "NotReady"


def test_failure_within_the_settings_of_a_probe_is_the_ordinary_course() -> None:
    young = pod_of([running("14:59:40", ready=False)], app=READY, phase="Running")
    one = only(look(young, events=[told("Unhealthy", "Readiness probe failed: no", "14:59:50")]))
    assert one.resolves == WAITS
    assert one.text.endswith(": no; its settings allow that until 15:00:15Z")
    assert only(look(young)).resolves == WAITS
    assert look(pod_of([running("14:59:51", ready=False)], app=READY, phase="Running")) == []


def test_a_startup_probe_and_a_liveness_probe() -> None:
    app = {
        "startupProbe": {"grpc": {"port": 9}, "failureThreshold": 30},
        **READY,
        "livenessProbe": {"tcpSocket": {"port": 1}},
    }
    starting = pod_of([running("14:58:00", ready=False, started=False)], app=app, phase="Running")
    one = only(look(starting, events=[told("Unhealthy", "Startup probe failed: no", "14:59:50")]))
    assert (one.code, one.resolves) == ("StartupProbeFails", WAITS)
    assert one.text == (
        "the startup probe (gRPC port 9) of container app has been failing since 14:58:00Z: no; its settings allow that "
        "until 15:03:00Z"
    )
    live = pod_of([running("14:58:00", ready=True)], app=app, phase="Running")
    sick = only(look(live, events=[told("Unhealthy", "Liveness probe failed: timeout", "14:59:50")]))
    assert (sick.code, sick.text[:40]) == ("LivenessProbeFails", "the liveness probe (TCP port 1) of conta")
    assert look(live, events=[told("Unhealthy", "Liveness probe failed: timeout", "14:58:50")]) == []


def test_a_container_that_a_probe_kills() -> None:
    kill = told("Killing", "Container app failed liveness probe, will be restarted", "14:59:20")
    unhealthy = told("Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500", "14:59:20", count=3)
    app = {"livenessProbe": {"httpGet": {"port": "web"}}}
    waits = pod_of([waiting("CrashLoopBackOff", LOOP, last=end(137), restarts=4)], app=app)
    one = only(look(waits, events=[kill, unhealthy]))
    assert one.text == (
        "container app is killed because its liveness probe (GET http://:web/) fails, restarted 4 times: HTTP probe "
        "failed with statuscode: 500"
    )
    earlier = told("Killing", "Container app failed liveness probe, will be restarted", "14:58:59")
    assert only(look(waits, events=[earlier])).code == "ContainerCrashes"
    assert only(look(pod_of([running("14:59:55", last=end(137))], app=app), events=[kill])).code == "LivenessProbeFails"


def test_a_job_is_allowed_to_end() -> None:
    job = {**workload("Job", {"backoffLimit": 6}), "apiVersion": "batch/v1"}
    never = {"restartPolicy": "OnFailure"}
    assert look(pod_of([over(end(0, "Completed"))], owner="w", spec=never, phase="Running"), of=job) == []
    one = only(look(pod_of([over(end(4))], owner="w", spec=never, phase="Failed"), of=job))
    assert (one.code, one.text) == ("ContainerCrashes", "container app failed with exit code 4")
