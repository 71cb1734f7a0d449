"""A network between two processes on loopback that can be cut, fall silent, or become slow."""

import selectors
import socket
import threading
import time

import packet_drops

_CHUNK_BYTES = 1 << 16
_SLOW_SECONDS = 0.2  # that a chunk waits
_LOOK_SECONDS = 0.05


class NetworkProxy:
    """Listens on `port` and passes everything on to `target()`, a port that may change. `state` says how:

    "open"    as it comes
    "cut"     connections break, and new ones are refused
    "silent"  nothing passes, nothing breaks: what a firewall that forgot the connection does. The kernel drops the
              packets where it lets us have that (packet_drops.py), else we stand still
    "slow"    each piece waits for 200 ms
    """

    def __init__(self, target):
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._state = "open"
        self._is_over = False
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def state(self):
        return self._state

    @state.setter
    def state(self, state):
        if packet_drops.is_possible() and "silent" in (self._state, state):
            (packet_drops.drop if state == "silent" else packet_drops.let_pass)(self.port)
        self._state = state

    def close(self):
        self._is_over = True
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self):
        self._listener.settimeout(_LOOK_SECONDS)
        while not self._is_over:
            try:
                near, _ = self._listener.accept()
            except TimeoutError:
                continue
            if self.state == "cut":
                near.close()
                continue
            self._threads = [t for t in self._threads if t.is_alive()]
            self._threads.append(threading.Thread(target=self._serve, args=(near,), daemon=True))
            self._threads[-1].start()

    def _serve(self, near):
        with near:
            try:
                with socket.create_connection(("127.0.0.1", self._target()), timeout=5) as far:
                    self._pass_on(near, far)
            except OSError:
                pass  # either end is gone, and so the other one will hear

    def _pass_on(self, near, far):
        selector = selectors.DefaultSelector()
        selector.register(near, selectors.EVENT_READ, far)
        selector.register(far, selectors.EVENT_READ, near)
        while not self._is_over and self.state != "cut":
            if self.state == "silent" and not packet_drops.is_possible():
                time.sleep(_LOOK_SECONDS)
                continue
            for key, _ in selector.select(_LOOK_SECONDS):
                chunk = key.fileobj.recv(_CHUNK_BYTES)
                if not chunk:
                    return
                if self.state == "slow":
                    time.sleep(_SLOW_SECONDS)
                key.data.sendall(chunk)
