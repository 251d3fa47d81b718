"""The page in a real browser: Chromium without a window, where it is installed.

Started once: it opens one page after the other in a frame of one document, to which each tells what came of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from rawkube.observe.conversation import Happening
from tests.observe.test_har import happenings_of
from tests.observe.test_html import EVIL, page_of
from tests.support.recordings import FIXTURES

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (Debian: apt-get install chromium)"),
]

# Acts as a person would, and writes down what came of it.
HOOK = """
const wrong = [];
window.requestAnimationFrame = (draw) => setTimeout(draw, 0); // without a screen there are no frames
addEventListener("error", (event) => wrong.push(String(event.message)));
document.addEventListener("securitypolicyviolation", (event) => wrong.push("policy: " + event.violatedDirective));
addEventListener("load", async () => {
  const frame = () => new Promise((done) => setTimeout(done, 60));
  const id = (name) => document.getElementById(name);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const press = (key, more) => (document.activeElement || document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));
  const marks = () => all("#lanes [role=button]");
  const axis = () => all("#lanes svg > g[aria-hidden] text").map((text) => text.textContent).join();
  const report = {};
  await frame();
  report.lanes = all("#lanes [role=group] > text, #lanes [role=group][aria-label^=Conn]").map((lane) => lane.getAttribute("aria-label"));
  report.marks = marks().length;
  report.unnamed = marks().filter((mark) => !mark.getAttribute("aria-label")).length;
  report.stops = marks().filter((mark) => mark.getAttribute("tabindex") === "0").length;
  report.rows = all("#rows tr").length;
  report.charts = all("#charts svg[role=img]").map((chart) => chart.getAttribute("aria-label"));
  report.curves = all("#charts path.series").filter((path) => path.getAttribute("d")).length;
  report.empty = id("details").textContent;
  report.wide = document.documentElement.scrollWidth - innerWidth;
  if (report.marks) {
    const first = marks()[0];
    id("lanes").dispatchEvent(new PointerEvent("pointermove", { clientX: 400, bubbles: true }));
    await frame();
    report.stays = first === marks()[0] && all("#lanes .cursor")[0].getAttribute("visibility") === "visible";
    first.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await frame();
    report.clicked = id("details").innerText;
    marks()[0].focus();
    press("ArrowRight");
    await frame();
    press("ArrowDown");
    press("ArrowUp");
    await frame();
    press("Enter");
    await frame();
    report.entered = id("details").innerText;
    report.focused = document.activeElement.id;
    const hex = all("#details button").find((button) => button.textContent === "Hex");
    if (hex) hex.click();
    report.hex = (all("#details pre.hex")[0] || {}).textContent || "";
    id("details").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    await frame();
    report.closed = id("details").textContent;
    report.whole = axis();
    for (let turn = 0; turn < 4; turn++) {
      id("lanes").dispatchEvent(new WheelEvent("wheel", { deltaY: -300, clientX: 500, bubbles: true, cancelable: true }));
    }
    await frame();
    report.zoomed = axis();
    (marks()[0] || id("lanes").firstElementChild).focus();
    id("lanes").dispatchEvent(new KeyboardEvent("keydown", { key: "0", bubbles: true }));
    await frame();
    report.again = axis();
    id("find").value = "no such thing anywhere";
    id("find").dispatchEvent(new Event("input", { bubbles: true }));
    await frame();
    report.none = id("lanes").textContent;
    report.shown = id("shown").textContent;
  }
  report.colour = getComputedStyle(document.body).backgroundColor;
  report.wrong = wrong;
  parent.postMessage(report, "*");
});
"""

# The frames are filled one after the other: the focus is in one document at a time.
FRAMES = """<!doctype html>
<pre id="reports"></pre>
<script>
const reports = [];
const frames = FRAMES;
const open = () => {
  const [page, scheme] = frames[reports.length] || [];
  if (page) {
    const frame = document.createElement("iframe");
    frame.style = `display: block; width: 1400px; height: 900px; border: 0; color-scheme: ${scheme}`;
    frame.src = page;
    document.body.prepend(frame);
  } else {
    document.getElementById("reports").textContent = JSON.stringify(reports);
  }
};
addEventListener("message", (event) => { reports.push(event.data); open(); });
open();
</script>
"""


def with_hook(html: str) -> str:
    found = "sha256-" + base64.b64encode(hashlib.sha256(HOOK.encode()).digest()).decode()
    html = html.replace("script-src &#x27;", f"script-src &#x27;{found}&#x27; &#x27;", 1)
    return html.replace("</head>", f"<script>{HOOK}</script></head>", 1)


def opened(folder: Path, pages: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """What came of each page, by its name. `pages`: its HTML, and whether it is shown `dark` or `light`."""
    assert CHROMIUM is not None
    for name, (html, _) in pages.items():
        (folder / f"{name}.html").write_text(with_hook(html), "utf-8")
    frames = json.dumps([(f"{name}.html", scheme) for name, (_, scheme) in pages.items()])
    document = folder / "document.html"
    document.write_text(FRAMES.replace("FRAMES", frames))
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr"]
    command += [f"--user-data-dir={folder / 'profile'}", "--window-size=1400,900", "--virtual-time-budget=30000"]
    command += ["--dump-dom", f"--screenshot={folder / 'picture.png'}", document.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "CONSOLE" not in done.stderr
    found = re.search(r'<pre id="reports">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stdout[-3000:] + done.stderr[-3000:]
    return dict(zip(pages, json.loads(unescape(found[1])), strict=True))


def evil() -> list[Happening]:
    first = Happening("recording", 0, 0.0, "client", {"file": EVIL, "client": EVIL, "server": EVIL, "note": EVIL})
    facts = {"channel": 1, "name": "stdout", "size": len(EVIL), "data": EVIL.encode(), "text": False}
    return [first, *(Happening("message", 1, t, "server", facts) for t in (1.0, 2.0))]


def test_pages(tmp_path: Path) -> None:
    rollout = page_of(happenings_of(FIXTURES / "rollout/deployment-update.jsonl"))
    session = page_of(happenings_of(FIXTURES / "exec/v5-stdin-cat.jsonl"))
    forbidden = page_of(happenings_of(FIXTURES / "errors/forbidden.jsonl"))
    pages = {
        "rollout": (rollout, "light"),
        "session": (session, "light"),
        "evil": (page_of(evil(), EVIL), "light"),
        "nothing": (page_of([]), "light"),
        "dark": (forbidden, "dark"),
        "light": (forbidden, "light"),
    }
    reports = opened(tmp_path, pages)
    assert {name: report["wrong"] for name, report in reports.items() if report["wrong"]} == {}
    a_rollout(reports["rollout"])
    a_session(reports["session"])
    what_a_body_says_does_not_run(reports["evil"])
    assert reports["nothing"]["marks"] == 0
    assert reports["dark"]["marks"] == reports["light"]["marks"] > 0
    assert reports["dark"]["colour"] != reports["light"]["colour"] == reports["rollout"]["colour"]
    assert (tmp_path / "picture.png").stat().st_size > 20_000


def a_rollout(report: dict[str, Any]) -> None:
    assert report["lanes"] == ["Connection 1, requests: 13 happenings"]
    assert report["marks"] == report["rows"] == 13
    assert (report["unnamed"], report["stops"]) == (0, 1)
    (chart,) = report["charts"]
    assert "at first desired 3, updated 2, ready 2, available 2; at last desired 3, updated 3" in chart
    assert report["curves"] == 4
    assert "Choose a bar" in report["empty"]
    assert "/apis/apps/v1/namespaces/demo/deployments/web" in report["clicked"]
    assert "application/json" in report["clicked"]
    assert '"kind": "Deployment"' in report["clicked"]
    assert report["stays"]
    assert report["focused"] == "details"
    assert "Choose a bar" in report["closed"]
    assert report["zoomed"] != report["whole"] == report["again"]
    assert "Nothing matches" in report["none"]
    assert report["shown"] == "0 of 13 happenings"
    assert report["wide"] <= 0


def a_session(report: dict[str, Any]) -> None:
    assert [lane.partition(":")[0] for lane in report["lanes"]] == [
        "Connection 1, requests",
        *(f"Connection 2, {name}" for name in ("requests", "stdin", "stdout", "error", "close", "control")),
    ]
    assert report["charts"] == []


def what_a_body_says_does_not_run(report: dict[str, Any]) -> None:
    assert report["marks"] == 2
    assert "\\x1b[2J\\x00" in report["entered"]
    assert "\\u202e" in report["entered"]
    assert report["hex"].startswith("000000  3c 2f 73 63 72 69 70 74 3e")
