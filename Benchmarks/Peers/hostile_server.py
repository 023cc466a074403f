"""A server that floods the connection of each request, for as long as the client keeps it.

    hostile_server.py FLOOD [CERTIFICATE KEY]

It prints its port. The floods over TLS need a certificate. Python's own module cannot send their records, so OpenSSL makes
them.
"""

import ctypes, os, socket, struct, sys, threading

flood, files = sys.argv[1], sys.argv[2:]


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


# The bytes that are sent repeatedly: after the head of a response over HTTP/1.1, and after one of a stream that stays
# open over HTTP/2.
HTTP1 = {
    "informational": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    "trailers": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n"),
}
HTTP2 = {
    "pings": frame(6, 0, 0, bytes(8)),
    "settings": frame(4, 0, 0),
    "windows": frame(8, 0, 0, struct.pack(">I", 1)),
    "emptyData": frame(0, 0, 1),
    "unknown": frame(0xBE, 0, 0, bytes(16)),
    "continuations": frame(9, 0, 3, b"\x00\x01a\x01b"),
}


def head_of_request(connection):
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        if not part: return False
        received += part
    return True


def flood_http1(connection):
    if not head_of_request(connection): return
    first, again = HTTP1[flood]
    connection.sendall(first)
    while True: connection.sendall(again * 1000)


def read_forever(file):
    try:
        while file.read(4096): pass
    except OSError: pass


def flood_http2(connection):
    file = connection.makefile("rb")
    if not file.read(24).startswith(b"PRI"): return
    connection.sendall(frame(4, 0, 0))
    while len(head := file.read(9)) == 9:
        file.read(int.from_bytes(head[:3], "big"))
        if head[3] == 4 and not head[4] & 1: connection.sendall(frame(4, 1, 0))
        if head[3] == 1: break
    # CONTINUATION continues a head that never ends
    connection.sendall(frame(1, 0, 1, b"\x88") if flood == "continuations" else frame(1, 4, 1, b"\x88"))
    again = frame(9, 0, 1, b"\x00\x01a\x01b") if flood == "continuations" else HTTP2[flood]
    threading.Thread(target=read_forever, args=(file,), daemon=True).start()
    while True: connection.sendall(again * 1000)


class Records:
    """KeyUpdate that requests one in return (RFC 8446 §4.6.3) or NewSessionTicket (§4.6.1)."""

    def __init__(self):
        self.ssl = ctypes.CDLL("libssl.so.3")
        for name in ("TLS_server_method", "SSL_CTX_new", "SSL_new"): getattr(self.ssl, name).restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.ssl.SSL_CTX_new(ctypes.c_void_p(self.ssl.TLS_server_method())))
        assert self.ssl.SSL_CTX_use_certificate_chain_file(self.context, files[0].encode()) == 1
        assert self.ssl.SSL_CTX_use_PrivateKey_file(self.context, files[1].encode(), 1) == 1

    def flood(self, connection):
        ssl, buffer = self.ssl, ctypes.create_string_buffer(65536)
        session = ctypes.c_void_p(ssl.SSL_new(self.context))
        ssl.SSL_set_fd(session, connection.fileno())
        if ssl.SSL_accept(session) != 1 or ssl.SSL_read(session, buffer, 65536) <= 0: return
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        ssl.SSL_write(session, answer, len(answer))
        # OpenSSL ignores a connection that ends before a ticket
        while connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1:
            begun = ssl.SSL_new_session_ticket(session) if flood == "tickets" else ssl.SSL_key_update(session, 1)
            if begun != 1 or ssl.SSL_do_handshake(session) != 1: return


def main():
    send = flood_http1 if flood in HTTP1 else flood_http2 if flood in HTTP2 else Records().flood

    def serve(connection):
        try: send(connection)
        except OSError: pass
        finally: connection.close()

    listener = socket.create_server(("127.0.0.1", 0))
    os.write(1, b"%d\n" % listener.getsockname()[1])  # at once: the reader closes the pipe after it
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


main()
