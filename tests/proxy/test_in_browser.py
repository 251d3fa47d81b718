"""Pages in a real browser before the proxy: Chromium without a window, where it is installed."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import subprocess
import threading
from html import unescape
from pathlib import Path

import pytest

from tests.support.server import Peer, ScriptedServer

from .rig import proxied

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (Debian: apt-get install chromium)"),
]

PAGE = """<pre></pre><script>
(async () => {
  const told = [];
  for (const url of URLS)
    for (const [method, headers] of [["GET", {}], ["PATCH", {"Content-Type": "application/merge-patch+json"}]])
      try {
        const answer = await fetch(url + "/api", {method, headers, body: method == "GET" ? undefined : "{}"});
        told.push([method, answer.status, await answer.text(), answer.headers.get("Audit-Id")]);
      } catch (error) { told.push([method, error.name]); }
  document.querySelector("pre").textContent = JSON.stringify(told);
})();
</script>"""


class Site(http.server.BaseHTTPRequestHandler):
    page = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *_: object) -> None:
        pass


def test_a_page_reads_what_it_may(tmp_path: Path) -> None:
    seen: list[str] = []

    def serve(peer: Peer) -> None:
        while True:
            seen.append(peer.read_request().method)
            peer.reply('{"a":1}', headers=(("Audit-Id", "x"),))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as site, ScriptedServer(serve) as server:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        origin = f"http://dash.example:{site.server_port}"
        with proxied(server.url, origins=(origin,)) as named, proxied(server.url) as other:
            Site.page = PAGE.replace("URLS", json.dumps([named.url, other.url])).encode()
            told = in_browser(origin, tmp_path)
        site.shutdown()
    may = [["GET", 200, '{"a":1}', "x"], ["PATCH", 200, '{"a":1}', "x"]]
    assert told == [*may, ["GET", "TypeError"], ["PATCH", "TypeError"]]
    assert seen == ["GET", "PATCH"], "no preflight, and nothing of the page that was not named"


def in_browser(url: str, folder: Path) -> object:
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}", "--virtual-time-budget=5000")
    names = "--host-resolver-rules=MAP dash.example 127.0.0.1"
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, *flags, names, "--dump-dom", url], capture_output=True, text=True, timeout=60, check=False
    )
    found = re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    assert found, done.stdout + done.stderr
    return json.loads(unescape(found[1]))
