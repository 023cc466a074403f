package import Foundation
import MartletTesting

/// An HTTP/2 server in Python that sees each frame, and sends prepared ones. Every other request is answered with the
/// number of requests so far.
package final class FrameServer: Sendable {
  package let url: URL
  package let authority: TestAuthority
  private let process: RealProcess

  /// What the server does, which a ``LoopbackServer`` cannot do: it speaks through nghttp2.
  package enum Fault: String, Sendable, CaseIterable {
    /// A complete response to each request's head, and RST_STREAM with NO_ERROR after the second DATA, because the body
    /// is not needed (§8.1).
    case early
    /// The same, with the RST_STREAM directly after the response.
    case earlyAtOnce
    /// The types of the frames of each request as text: `1 0` for HEADERS and DATA.
    case kinds
    /// The number of the connection and the number of PINGs that came over it, as text: `1 0`.
    case pings
    /// The same, but PINGs of the first connection are not answered.
    case deaf
    /// The client's SETTINGS_INITIAL_WINDOW_SIZE, as text.
    case window
    /// For the second request of the first connection, a valid response, and then SETTINGS with a
    /// SETTINGS_MAX_CONCURRENT_STREAMS of 0 (§5.1.2).
    case noStreams
    /// For the second request of the first connection, a head of 200 kB, which libcurl refuses whatever the limit is.
    case largeHead
    /// DATA on an idle stream for each POST, followed by 256 KiB; the connection stays open. A GET is answered with the
    /// fate of those connections, as text: the code of the received GOAWAY, `none`, or `open` if the client does not
    /// close within ten seconds: `1 1`.
    case farewell
    /// SETTINGS with a SETTINGS_MAX_HEADER_LIST_SIZE of 1000 (§6.5.2), and then as if there were no fault.
    case fewFields
    /// SETTINGS with a SETTINGS_MAX_CONCURRENT_STREAMS of 20 after ten requests, and no response before their
    /// acknowledgement; the end of the connection if more requests than 20 wait, as of hypercorn.
    case fewStreams
    /// The end of the first connection after the first request, before any SETTINGS.
    case noSettings
  }

  package init(_ fault: Fault, tls: Bool = true) throws {
    let authority = try TestAuthority.shared.get()
    let port = try LocalPort.free()
    let files = ["server.pem", "server.key"].map { authority.folder.file($0).path }
    process = try RealProcess(
      "python3", ["-c", Self.script, "\(port)", fault.rawValue] + (tls ? files : []), port: port)
    self.authority = authority
    guard let url = URL(string: "\(tls ? "https" : "http")://127.0.0.1:\(port)/") else {
      throw RealServerError("no URL")
    }
    self.url = url
  }

  private static let script = #"""
    import socket, ssl, struct, sys, threading, time

    DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
    END_STREAM, END_HEADERS, ACK = 1, 4, 1
    STATUS_200 = b"\x88"
    port, fault, files = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    lock, total = threading.Lock(), 0
    changed, talking, farewells = threading.Condition(), 0, []

    def frame(kind, flags, stream, payload=b""):
      return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    def literal(name, value):
      def text(bytes_):
        size = len(bytes_)
        if size < 127: return bytes([size]) + bytes_
        size -= 127; prefix = b"\x7f"
        while size >= 128: prefix += bytes([size % 128 + 128]); size //= 128
        return prefix + bytes([size]) + bytes_
      return b"\x00" + text(name) + text(value)

    def headers(stream, block):
      pieces = [block[at:at + 16000] for at in range(0, len(block), 16000)]
      out = b""
      for number, piece in enumerate(pieces):
        flags = END_HEADERS if number == len(pieces) - 1 else 0
        out += frame(HEADERS if number == 0 else 9, flags, stream, piece)
      return out

    def answer(stream, text):
      block = STATUS_200 + literal(b"content-length", b"%d" % len(text))
      return headers(stream, block) + frame(DATA, END_STREAM, stream, text)

    def second(stream):
      """The response to the second request of the first connection, if the fault has one."""
      return {
        "noStreams": answer(stream, b"last") + frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 0)),
        "largeHead": headers(stream, STATUS_200 + b"".join(literal(b"a", b"b" * 50000) for _ in range(4))),
      }.get(fault)

    def farewell(connection, file, stream):
      global talking
      with changed: talking += 1
      code = b"none"
      try:
        connection.sendall(frame(DATA, 0, stream + 100, b"x"))
        for _ in range(16): connection.sendall(frame(DATA, 0, stream + 100, bytes(16384)))
        while len(head := file.read(9)) == 9:
          payload = file.read(int.from_bytes(head[:3], "big"))
          if head[3] == GOAWAY: code = b"%d" % payload[7]
        for _ in range(200):
          connection.sendall(b"x")
          time.sleep(0.05)
        code = b"open"
      except OSError: pass
      with changed:
        farewells.append(code)
        talking -= 1
        changed.notify_all()

    def codes():
      with changed:
        changed.wait_for(lambda: talking == 0, 30)
        return b" ".join(farewells)

    def few(connection, file):
      waiting, asked, isKnown = [], 0, False
      while len(head := file.read(9)) == 9:
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big") & 0x7fffffff
        file.read(int.from_bytes(head[:3], "big"))
        if kind == HEADERS:
          waiting.append(stream)
          asked += 1
          if len(waiting) > 20: return
          if asked == 10: connection.sendall(frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 20)))
        isKnown = isKnown or kind == SETTINGS and bool(flags & ACK)
        if isKnown:
          for stream in waiting: connection.sendall(answer(stream, b"ok"))
          waiting = []

    def serve(connection, number):
      global total
      file, count, kinds, pings, window = connection.makefile("rb"), 0, {}, 0, 65535
      file.read(24)
      if fault == "fewStreams": return few(connection, file)
      while fault == "noSettings" and number == 1 and len(head := file.read(9)) == 9:
        file.read(int.from_bytes(head[:3], "big"))
        if head[3] == HEADERS: return connection.shutdown(socket.SHUT_RDWR)
      connection.sendall(frame(SETTINGS, 0, 0, struct.pack(">HI", 6, 1000) if fault == "fewFields" else b""))
      while len(head := file.read(9)) == 9:
        size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        stream = int.from_bytes(head[5:], "big") & 0x7fffffff
        payload = file.read(size)
        if kind == SETTINGS and not flags & ACK:
          window = dict(struct.iter_unpack(">HI", payload)).get(4, window)
          connection.sendall(frame(SETTINGS, ACK, 0))
        if kind == PING and not flags & ACK:
          pings += 1
          if fault != "deaf" or number > 1: connection.sendall(frame(PING, ACK, 0, payload))
        reset = frame(RESET, 0, stream, struct.pack(">I", 0))
        if fault.startswith("early"):
          if kind == HEADERS: chunks = 0; connection.sendall(answer(stream, b"whole") + (reset if fault == "earlyAtOnce" else b""))
          if kind == DATA: chunks += 1
          if kind == DATA and chunks == 2 and fault == "early": connection.sendall(reset)
          continue
        if kind in (HEADERS, DATA): kinds.setdefault(stream, []).append(kind)
        if kind not in (HEADERS, DATA) or not flags & END_STREAM: continue
        if fault == "farewell" and DATA in kinds[stream]: return farewell(connection, file, stream)
        if fault == "farewell": connection.sendall(answer(stream, codes())); continue
        if fault == "kinds": connection.sendall(answer(stream, b" ".join(b"%d" % kind for kind in kinds[stream]))); continue
        if fault == "window": connection.sendall(answer(stream, b"%d" % window)); continue
        if fault in ("pings", "deaf"): connection.sendall(answer(stream, b"%d %d" % (number, pings))); continue
        with lock: total += 1
        count += 1
        connection.sendall(number == 1 and count == 2 and second(stream) or answer(stream, b"%d" % total))

    def run(plain, number):
      try:
        if files: plain = context.wrap_socket(plain, server_side=True)
        serve(plain, number)
      except (OSError, ValueError): pass

    if files:
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(*files)
      context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", port))
    number = 0
    while True:
      plain, _ = listener.accept()
      plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
      first = plain.recv(1, socket.MSG_PEEK)
      if first: number += 1
      threading.Thread(target=run, args=(plain, number), daemon=True).start()
    """#
}
