"""Nodes that do not serve, for nodes.py and nodes.ts: three servers that return what they are told to, and note who
asked, and a port that refuses connections.

python standbys.py       prints the four base URLs as JSON, and serves until its input ends

PUT /-/answer sets the answer of one server from then on: `status`, `code` and `headers`. GET /-/asked returns what came
since the last time: method, path, key, and the instant in seconds.
"""

import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Standby(BaseHTTPRequestHandler):
    """One node."""

    protocol_version = "HTTP/1.1"

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        node = self.server
        if self.path == "/-/answer":
            node.answer = json.loads(body)
            return self.give(200, {})
        if self.path == "/-/asked":
            asked, node.asked = node.asked, []
            return self.give(200, asked)
        key = self.headers.get("x-api-key")
        node.asked.append({"method": self.command, "path": self.path, "key": key, "at": time.monotonic()})
        answer = node.answer
        error = {"code": answer["code"], "message": "another node serves"}
        return self.give(answer["status"], error, answer["headers"])

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def give(self, status, body, headers=()):
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


urls = []
for _ in range(3):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Standby)
    server.daemon_threads = True
    server.asked, server.answer = [], {"status": 503, "code": "not_owner", "headers": {"Retry-After": "0"}}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    urls.append(f"http://127.0.0.1:{server.server_port}")
# Nobody else gets a port that is bound, and nobody listens.
closed = socket.socket()
closed.bind(("127.0.0.1", 0))
urls.append(f"http://127.0.0.1:{closed.getsockname()[1]}")
print(json.dumps(urls), flush=True)
sys.stdin.read()
