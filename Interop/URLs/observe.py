"""Writes into urls.json the URL to which other clients send a request for each text: null if they refuse it.

curl and httpx send through a proxy on 127.0.0.1, which receives scheme, host, port and target. If the `Host` field has
another host, it follows in parentheses.
"""

import http.server
import json
import pathlib
import platform
import re
import subprocess
import threading

import httpx

TABLE = pathlib.Path(__file__).parents[2] / "Client/Tests/MartletTransportTests/URLs/urls.json"
NODE = """
const texts = JSON.parse(require('fs').readFileSync(0));
console.log(JSON.stringify(texts.map(text => {
  try {
    const url = new URL(text);
    return url.protocol == 'http:' ? `http://${url.host}${url.pathname}${url.search}` : null;
  } catch { return null; }
})));
"""


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen = []

    def do_GET(self):
        Proxy.seen.append((self.path, self.headers.get("Host")))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def with_curl(text, proxy):
    command = ["curl", "-q", "-g", "-s", "-o", "/dev/null", "-m", "5", "--noproxy", "", "-x", proxy, text]
    subprocess.run(command, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})


def with_httpx(text, proxy):
    with httpx.Client(proxy=proxy, trust_env=False) as client:
        client.get(text)


def outcome(send, text, proxy):
    Proxy.seen.clear()
    try:
        send(text, proxy)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, UnicodeError):
        return None
    if not Proxy.seen:
        return None
    url, host = Proxy.seen[0]
    authority = url.removeprefix("http://").split("/")[0].split("?")[0]
    return url if authority in (host, f"{host}:80") else f"{url} (Host: {host})"


def escaped(value):
    """JSON in which what could be invisible is an escape."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[^ -~§]", lambda match: json.dumps(match[0])[1:-1], text)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    proxy = f"http://127.0.0.1:{server.server_port}"
    rows = json.loads(TABLE.read_text())["urls"]
    texts = json.dumps([row["url"] for row in rows]).encode()
    standard = json.loads(subprocess.run(["node", "-e", NODE], input=texts, stdout=subprocess.PIPE, check=True).stdout)
    for row, url in zip(rows, standard):
        curl, python = (outcome(send, row["url"], proxy) for send in (with_curl, with_httpx))
        row["observed"] = {"whatwg": url, "curl": curl, "httpx": python}
    node = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, text=True).stdout.strip()
    curl = subprocess.run(["curl", "--version"], stdout=subprocess.PIPE, text=True).stdout
    idn = re.search(r"libidn2/(\S+)", curl)
    clients = {
        "whatwg": f"the URL Standard, as Node.js {node} has it",
        "curl": f"{' '.join(curl.split()[:2])} (libidn2 {idn[1] if idn else 'none'})",
        "httpx": f"httpx {httpx.__version__} (Python {platform.python_version()})",
    }
    lines = ",\n".join("    " + escaped(row) for row in rows)
    TABLE.write_text(f'{{\n  "clients": {escaped(clients)},\n  "urls": [\n{lines}\n  ]\n}}\n')


main()
