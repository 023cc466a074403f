package import Foundation
import MartletTesting

/// An HTTP/2 server in Python that sends prepared frames, some of which violate the protocol: the `first` frames answer
/// the first request on a connection, and so on. Every other request is answered with the number of requests so far.
package final class FrameServer: Sendable {
  package let url: URL
  package let authority: TestAuthority
  private let process: RealProcess

  /// The response to the second request of the first connection.
  package enum Fault: String, Sendable, CaseIterable {
    case none
    /// DATA on an idle stream, then the end of the connection (RFC 9113 §5.1).
    case idleData
    /// SETTINGS of a wrong size, then the end of the connection (§6.5).
    case badSettings
    /// The end of the connection.
    case end
    /// REFUSED_STREAM (§8.7).
    case refused
    /// GOAWAY with a lower stream number (§6.8).
    case goAway
    /// A head, half a body, DATA on an idle stream, the end of the connection.
    case cutByIdleData
    /// A head, half a body, invalid SETTINGS, the end of the connection.
    case cutBySettings
    /// A head, half a body, the end of the connection.
    case cut
    /// A head, half a body, GOAWAY with a lower stream number.
    case cutByGoAway
    /// GOAWAY with the stream's number, a complete response without a length, the end of the connection.
    case graceful
    /// A complete response without a length.
    case whole
    /// A valid response; no response of this server has a length.
    case noLength
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
    /// A valid response, and then SETTINGS with a SETTINGS_MAX_CONCURRENT_STREAMS of 0 (§5.1.2).
    case noStreams
    /// A head of 200 kB, which libcurl refuses whatever the limit is.
    case largeHead
    /// DATA on an idle stream for each POST, followed by 256 KiB; the connection stays open. A GET is answered with the
    /// fate of those connections, as text: the code of the received GOAWAY, `none`, or `open` if the client does not
    /// close within ten seconds: `1 1`.
    case farewell
    /// A response whose head ends its stream. It has no content and no length.
    case noContent
    /// The same, with the end of the stream in an empty DATA.
    case emptyData
    /// SETTINGS with a SETTINGS_MAX_HEADER_LIST_SIZE of 1000 (§6.5.2), and then as if there were no fault.
    case fewFields
    /// SETTINGS with a SETTINGS_MAX_CONCURRENT_STREAMS of 20 after ten requests, and no response before their
    /// acknowledgement; the end of the connection if more requests than 20 wait, as of hypercorn.
    case fewStreams
    /// The end of the first connection after the first request, before any SETTINGS.
    case noSettings
    /// GOAWAY with a last stream of 0 for each request (§6.8).
    case goAwayAlways
    /// The same with ENHANCE_YOUR_CALM (§7).
    case calm
    /// GOAWAY with a lower stream number and ENHANCE_YOUR_CALM (§7), as of Tomcat after a long body that it did not
    /// read.
    case calmLater
    /// GOAWAY with a last stream of 0 and HTTP_1_1_REQUIRED (§7) for each request. Over HTTP/1.1, each request is
    /// answered with `1.1`.
    case http11
  }

  package init(_ fault: Fault, tls: Bool = true) throws {
    let authority = try Self.authority.get()
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

  private static let authority = Result { try TestAuthority() }

  private static let script = #"""
    import socket, ssl, struct, sys, threading, time

    DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
    END_STREAM, END_HEADERS, ACK = 1, 4, 1
    STATUS_200 = b"\x88"
    port, fault, files = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    lock, total = threading.Lock(), 0
    refusals = {"goAwayAlways": 0, "calm": 11, "http11": 13}
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
      if fault == "noContent": return frame(HEADERS, END_HEADERS | END_STREAM, stream, STATUS_200)
      if fault == "emptyData": return headers(stream, STATUS_200) + frame(DATA, END_STREAM, stream)
      block = STATUS_200 + (b"" if fault == "noLength" else literal(b"content-length", b"%d" % len(text)))
      return headers(stream, block) + frame(DATA, END_STREAM, stream, text)

    def wrong(stream):
      idle = frame(DATA, 0, stream + 100, b"x")
      settings = frame(SETTINGS, 0, 0, b"xxx")
      half = headers(stream, STATUS_200) + frame(DATA, 0, stream, b"half")
      whole = headers(stream, STATUS_200) + frame(DATA, END_STREAM, stream, b"whole")
      def goaway(last, code=0): return frame(GOAWAY, 0, 0, struct.pack(">II", last, code))
      return {
        "idleData": (idle, True), "badSettings": (settings, True), "end": (b"", True),
        "refused": (frame(RESET, 0, stream, struct.pack(">I", 7)), False), "goAway": (goaway(stream - 2), False),
        "calmLater": (goaway(stream - 2, 11), False),
        "cutByIdleData": (half + idle, True), "cutBySettings": (half + settings, True), "cut": (half, True),
        "cutByGoAway": (half + goaway(stream - 2), False),
        "noStreams": (answer(stream, b"last") + frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 0)), False),
        "graceful": (goaway(stream) + whole, True), "whole": (whole, False),
        "largeHead": (headers(stream, STATUS_200 + b"".join(literal(b"a", b"b" * 50000) for _ in range(4))), False),
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

    def old(connection, file):
      while fault == "http11" and (line := file.readline()):
        if line == b"\r\n": connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n1.1")

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
      if not file.read(24).startswith(b"PRI"): return old(connection, file)
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
        if fault in refusals: connection.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", 0, refusals[fault]))); continue
        if fault == "farewell" and DATA in kinds[stream]: return farewell(connection, file, stream)
        if fault == "farewell": connection.sendall(answer(stream, codes())); continue
        if fault == "kinds": connection.sendall(answer(stream, b" ".join(b"%d" % kind for kind in kinds[stream]))); continue
        if fault == "window": connection.sendall(answer(stream, b"%d" % window)); continue
        if fault in ("pings", "deaf"): connection.sendall(answer(stream, b"%d %d" % (number, pings))); continue
        with lock: total += 1
        count += 1
        bytes_, ends = wrong(stream) if number == 1 and count == 2 and wrong(stream) else (answer(stream, b"%d" % total), False)
        connection.sendall(bytes_)
        if ends:
          if files: connection = connection.unwrap()
          connection.shutdown(socket.SHUT_RDWR)
          return

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
