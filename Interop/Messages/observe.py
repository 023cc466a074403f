"""Sends every message of messages.json to other clients, and writes their outcomes into that file.

    observe.py [CLIENT...]

A client is a program that reads a list of tasks, as JSON, from its standard input:

    {"url": URL, "method": METHOD, "idle": URL or null, "next": METHOD}

For each of them it sends a request to the URL and reads the whole response. If there is "idle", it then requests that over a
separate connection, which makes the server continue with the message on the connection that is now idle. Then it sends a
request to the target /next of the first URL's port. The body of the response is the number of requests that the connection
has received. Its output is a line of JSON for each task:

    {"status": 200, "body": BASE64, "next": TEXT}     the response, and the body of the second one
    {"refused": TEXT}                                 the fault of the response
    {"silent": true}                                  no outcome within two seconds

If the second request fails, "next" is null. The first line of all is the client's version.
"""

import base64
import collections
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE.parent.parent / "Client" / "Tests" / "MartletTransportTests" / "Messages"
CLIENTS = {
    "undici": ["node", HERE / "undici_client.mjs"],
    "httpx": [sys.executable, HERE / "httpx_client.py"],
    "java": ["java", HERE / "JavaClient.java"],
}


class Server:
    """The server that plays the messages; it ends with this object."""

    def __enter__(self):
        command = [sys.executable, TABLE / "server.py"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.ports = json.loads(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def tasks(self, rows):
        base = "http://127.0.0.1:"
        for index, row in enumerate(rows):
            yield {
                "url": f"{base}{self.ports['ports'][row['name']]}/",
                "method": row.get("method", "GET"),
                "idle": f"{base}{self.ports['control']}/{index}" if "idle" in row else None,
                "next": row.get("next", "GET"),
            }


def ask(command, rows):
    """Runs a client with all rows; returns its version, and its outcome for each row."""
    with Server() as server:
        tasks = json.dumps(list(server.tasks(rows)))
        done = subprocess.run(command, input=tasks, stdout=subprocess.PIPE, text=True, check=True)
    version, *lines = done.stdout.splitlines()
    if len(lines) != len(rows):
        sys.exit(f"{command[0]} answered {len(lines)} of {len(rows)} tasks")
    return version, [outcome(json.loads(line)) for line in lines]


def outcome(answer):
    """The recorded part of an answer: whether it was accepted, its status and body, and the fate of the connection."""
    if "status" not in answer:
        return answer
    kept = {"status": answer["status"], "body": summary(base64.b64decode(answer["body"]))}
    if answer["next"] is None:
        return kept | {"next": "failed"}
    if not answer["next"].isdigit():
        return kept | {"next": "wrong: " + answer["next"]}
    return kept | {"reused": answer["next"] != "1"}


def summary(body):
    text = body.decode("latin-1")
    return text if len(text) <= 40 and text.isprintable() else f"{len(body)} bytes"


def octets(piece):
    """The bytes of a piece of the fixture; text of a body is UTF-8 in no row, so that one byte is one character."""
    if isinstance(piece, str):
        return piece.encode("latin-1")
    if isinstance(piece, list):
        return b"".join(octets(part) for part in piece)
    if "base64" in piece:
        return base64.b64decode(piece["base64"])
    return octets(piece["repeat"]) * piece["times"]


def difference(row, seen):
    """The difference between a client's outcome and the table's, if comparable: kinds of errors always differ."""
    expected = row["expect"]
    if "refused" in expected:
        return None if "refused" in seen else "taken" if "status" in seen else "silent"
    if "status" not in seen:
        return "refused" if "refused" in seen else "silent"
    if seen["status"] != expected["status"] or seen["body"] != summary(octets(expected["body"])):
        return "another response"
    if "next" in seen:
        return "next request failed or got a wrong answer"
    return None if expected.get("reused", seen["reused"]) == seen["reused"] else "connection kept or closed"


def written(table):
    """The table as text: one line for each member of a message, so that changes are easy to read."""
    def line(value, escaped=True):
        return json.dumps(value, ensure_ascii=escaped)

    def block(row):
        members = []
        for key, value in row.items():
            if key == "observed":
                clients = ",\n".join(f'        "{name}": {line(value[name])}' for name in CLIENTS if name in value)
                members.append(f'      "observed": {{\n{clients}\n      }}')
            else:
                # bytes are escaped, words are not
                members.append(f'      "{key}": {line(value, escaped=key in ("sends", "idle", "expect"))}')
        return "    {\n" + ",\n".join(members) + "\n    }"

    versions = ",\n".join(f'    "{name}": {line(table["clients"][name])}' for name in CLIENTS if name in table["clients"])
    rows = ",\n".join(block(row) for row in table["messages"])
    return f'{{\n  "clients": {{\n{versions}\n  }},\n  "messages": [\n{rows}\n  ]\n}}\n'


def main():
    path = TABLE / "messages.json"
    table = json.loads(path.read_text(encoding="utf-8"))
    rows = table["messages"]
    for name in sys.argv[1:] or CLIENTS:
        version, outcomes = ask(CLIENTS[name], rows)
        table["clients"][name] = version
        for row, seen in zip(rows, outcomes):
            row.setdefault("observed", {})[name] = seen
        differences = collections.Counter(difference(row, seen) for row, seen in zip(rows, outcomes))
        print(f"{name} {version}: {differences.pop(None)} of {len(rows)} outcomes are those of the table; the others:")
        for words, count in differences.most_common():
            print(f"  {count:3} {words}")
    path.write_text(written(table), encoding="utf-8")


if __name__ == "__main__":
    main()
