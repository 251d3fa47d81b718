"""A TCP relay that holds back everything for a while, each way: `python -m bench.delay PORT SECONDS`.

Prints its own port, and serves until its stdin ends. A connection is made at once here: its first bytes do not leave
before the handshake of TCP would have taken its round trip.
"""

from __future__ import annotations

import queue
import socket
import sys
import threading
import time


def relay(source: socket.socket, target: socket.socket, delay: float, connected: float) -> None:
    held: queue.Queue[tuple[float, bytes]] = queue.Queue()

    def deliver() -> None:
        while True:
            due, data = held.get()
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
            except OSError:
                return

    threading.Thread(target=deliver, daemon=True).start()
    while True:
        try:
            data = source.recv(65536)
        except OSError:
            data = b""
        held.put((max(time.monotonic(), connected) + delay, data))
        if not data:
            return


def main() -> None:
    port, delay = int(sys.argv[1]), float(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def accept() -> None:
        while True:
            near, _ = listener.accept()
            connected = time.monotonic() + 2 * delay
            far = socket.create_connection(("127.0.0.1", port))
            for sock in (near, far):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=relay, args=(near, far, delay, connected), daemon=True).start()
            threading.Thread(target=relay, args=(far, near, delay, connected), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
