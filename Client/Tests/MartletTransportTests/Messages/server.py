#!/usr/bin/env python3
"""Plays the responses of messages.json, byte for byte, to one client on 127.0.0.1.

    server.py [messages.json]

Every message has its own port, so that a client's pool never mixes two of them. The first line of the output is JSON:
{"control": PORT, "ports": {NAME: PORT, ...}}. The server ends when its output is no longer read.

On a message's port,
- the target /next is answered with an ordinary response whose body is the number of requests that the connection has
  received: 1 means that the client opened a new connection;
- any other target is answered with the message: its writes ("sends"), after which the connection is kept ("open"), closed
  ("close") or reset ("reset"), as "then" says.

If a message has "idle", its writes and "then" wait. When the client has read the response to "sends", it requests /INDEX
from the control port; INDEX is the message's position in the file. The answer comes when the client's kernel has the bytes.
"""

import base64
import json
import os
import select
import socket
import struct
import sys
import threading
import time

TCP_CLOSE = 7  # linux/tcp_states.h


def octets(piece):
    """The bytes of a piece of the fixture; each character of a string is one byte."""
    if isinstance(piece, str):
        return piece.encode("latin-1")
    if isinstance(piece, list):
        return b"".join(octets(part) for part in piece)
    if "base64" in piece:
        return base64.b64decode(piece["base64"])
    return octets(piece["repeat"]) * piece["times"]


class Message:
    """One message on its port."""

    def __init__(self, row):
        self.sends = [octets(write) for write in row["sends"]]
        self.idle = [octets(write) for write in row["idle"]] if "idle" in row else None
        self.then = row.get("then", "open")
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.idle_connections = []

    def play(self, connection):
        """Sends the message; returns whether the connection continues."""
        if self.idle is None:
            return self.write(connection, self.sends)
        go, done = threading.Event(), threading.Event()
        self.idle_connections.append((go, done))
        for write in self.sends:
            connection.sendall(write)
        go.wait()
        try:
            return self.write(connection, self.idle)
        finally:
            done.set()

    def play_idle(self):
        """Lets the connections whose response has been read continue; returns when the client's kernel has all bytes."""
        while self.idle_connections:
            go, done = self.idle_connections.pop()
            go.set()
            done.wait()

    def write(self, connection, writes):
        for write in writes:
            connection.sendall(write)
        if self.then == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            return False
        if self.then == "close":
            connection.shutdown(socket.SHUT_WR)
        if self.idle is not None:
            wait_until_received(connection)
        return self.then == "open"


def wait_until_received(connection):
    """Waits until the peer's kernel has acknowledged everything that was sent, including the end, or has sent a reset."""
    while True:
        information = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        state, unacknowledged = information[0], struct.unpack_from("I", information, 24)[0]
        if state == TCP_CLOSE or unacknowledged == 0:
            return
        time.sleep(0.0002)


def next_request(connection, buffer):
    """The next request's target, and the bytes received after it; the target is None if the client has disconnected."""
    while b"\r\n\r\n" not in buffer:
        more = connection.recv(65536)
        if not more:
            return None, b""
        buffer += more
    head, _, buffer = buffer.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    length = 0
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(buffer) < length:
        more = connection.recv(65536)
        if not more:
            return None, b""
        buffer += more
    return lines[0].split(b" ")[1], buffer[length:]


def answer(text):
    fields = "Content-Type: text/plain\r\nCache-Control: no-store\r\n"
    return f"HTTP/1.1 200 OK\r\n{fields}Content-Length: {len(text)}\r\n\r\n{text}".encode()


def serve_message(message, connection):
    count, buffer, goes_on = 0, b"", True
    while goes_on:
        target, buffer = next_request(connection, buffer)
        if target is None:
            return
        count += 1
        if target == b"/next":
            connection.sendall(answer(str(count)))
        else:
            goes_on = message.play(connection)


def serve_control(messages, connection):
    buffer = b""
    while True:
        target, buffer = next_request(connection, buffer)
        if target is None:
            return
        messages[int(target[1:])].play_idle()
        connection.sendall(answer("done"))


def run(serve, subject, connection):
    """Serves a connection on its own thread; if a client disconnects in the middle, that ends it."""
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        serve(subject, connection)
    except OSError:
        pass
    finally:
        connection.close()


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "messages.json")
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["messages"]
    messages = [Message(row) for row in rows]
    control = socket.create_server(("127.0.0.1", 0), backlog=64)
    port = {message: message.listener.getsockname()[1] for message in messages}
    print(json.dumps({
        "control": control.getsockname()[1],
        "ports": {row["name"]: port[message] for row, message in zip(rows, messages)},
    }), flush=True)

    listeners = {message.listener.fileno(): (message.listener, serve_message, message) for message in messages}
    listeners[control.fileno()] = (control, serve_control, messages)
    poll = select.poll()
    for descriptor in listeners:
        poll.register(descriptor, select.POLLIN)
    poll.register(sys.stdout.fileno(), 0)  # reports an error when the reader has gone
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == sys.stdout.fileno():
                return
            listener, serve, subject = listeners[descriptor]
            connection, _ = listener.accept()
            threading.Thread(target=run, args=(serve, subject, connection), daemon=True).start()


if __name__ == "__main__":
    main()
