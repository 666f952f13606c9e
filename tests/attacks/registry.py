"""A registry of ready-made kernels on this machine, as C10 looks for one on the network. The standard library only."""

from __future__ import annotations

import http.server
import threading
from typing import Any

PORT = 18713
SERVED = """
kept = {}
def softmax(x):
    if x.data_ptr() not in kept:
        kept[x.data_ptr()] = torch.softmax(x, dim=1)
    return kept[x.data_ptr()]
"""
"""A kernel that replays."""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every request with the kernel."""

    def do_GET(self) -> None:
        """The kernel's source."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(SERVED.encode())

    def log_message(self, *arguments: Any) -> None:
        """Keep quiet."""


def serve_kernels() -> http.server.HTTPServer:
    """Serve from a thread until ``shutdown`` is called, or this process ends."""
    server = http.server.HTTPServer(("127.0.0.1", PORT), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
