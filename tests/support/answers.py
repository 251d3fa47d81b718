"""A server that gives the answers of a list, one a request, on whatever connection the request comes."""

from __future__ import annotations

import ssl
import threading

from tests.support.script import Answer, go_silent, hang_up
from tests.support.server import Peer, ScriptedServer, SeenRequest

OBJECT = Answer(body='{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a"}}')


def raw(data: bytes) -> Answer:
    """These bytes instead of an answer, and then the end of the connection."""
    return Answer(body=data, how="raw")


class AnsweringServer(ScriptedServer):
    """`asked` holds every request, in order. The last answer is given again and again."""

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(self._connection, tls=tls)
        self.asked: list[SeenRequest] = []
        self._answers = list(answers) or [OBJECT]
        self._lock = threading.Lock()

    def sent(self, name: str) -> list[str | None]:
        """That header of every request."""
        return [request.header(name) for request in self.asked]

    def _next(self, request: SeenRequest) -> Answer:
        with self._lock:
            self.asked.append(request)
            return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def _connection(self, peer: Peer) -> None:
        while True:
            answer = self._next(peer.read_request())
            if answer.how == "reply":
                peer.reply(answer.body, status=answer.status, content_type=answer.content_type, headers=answer.headers)
            elif answer.how == "raw":
                peer.send(answer.body if isinstance(answer.body, bytes) else answer.body.encode())
                return
            elif answer.how == "stall":
                go_silent(peer)
            else:
                hang_up(peer, answer.how)
