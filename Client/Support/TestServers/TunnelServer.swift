package import Foundation
import MartletTesting

/// A server in Python that opens tunnels over HTTP/2 after an extended CONNECT (RFC 8441), and over HTTP/1.1 after an
/// `Upgrade`. It does not read the fields of a request: a head that does not end its stream is the CONNECT.
///
/// - A GET is answered with `ok`, a POST with the next event of a tunnel: `end` and `reset CODE` for the client's
///   END_STREAM and RST_STREAM, and what commands report. Events wait until they are asked for.
/// - The first line of a tunnel's bytes is a command; see ``Command``. With a script, the server sends that instead.
package final class TunnelServer: Sendable {
  package let url: URL
  package let authority: TestAuthority
  private let process: RealProcess

  /// What a tunnel does.
  package enum Command: String, Sendable {
    /// Sends `hello `, and then what it receives; after the end ` bye`, and ends.
    case echo
    /// Sends `once`, and ends its direction. What it receives until the end is an event.
    case once
    /// Sends 32 MiB: blocks of 16 KiB of a number from 0 to 250 each.
    case flood
    /// Sends 50,000 bytes as one DATA each, `ab` again and again, and ends.
    case crumbs
    /// Gives no window back until ``go``; the count of the received bytes until the end is an event.
    case deaf
    case go
    /// Resets the stream with CANCEL.
    case reset
    /// Sends GOAWAY, which allows this stream, and then does as ``echo``.
    case goAway
    /// Ends the connection.
    case cut
    /// Sends a second head.
    case fields
    /// Ends its direction, and resets the stream with NO_ERROR.
    case leave
    /// Gives no window back until it has received 65,535 bytes; then ends its direction, and gives more. The count of
    /// the received bytes until the end is an event.
    case part
    /// Sends nothing.
    case mute
  }

  /// - Parameters:
  ///   - answers: what the server does with the first CONNECT, the second and so on; the last one also holds for all
  ///     others. `200`, `403 text`, `reset CODE`, `goaway`, `drop` to end the connection, `wait` for no answer; fields
  ///     follow, each after `|`: `302|location=/b`.
  ///   - settings: the server's SETTINGS as `ID=VALUE`, separated by commas. `late`: they are sent only when the client
  ///     has been silent for a moment; a request before them is the event `early`. `frames`: tunnels return the
  ///     messages of WebSockets and end after a Close frame. `open`: they do not end. `heads`: the block of a CONNECT
  ///     is the event `head`, in hexadecimal digits and as HPACK has it.
  ///   - script: what tunnels send, cut at every byte; see ``End``.
  package init(
    _ answers: [String] = ["200"], settings: String = "8=1", script: [UInt8] = [], tls: Bool = true
  ) throws {
    let authority = try TestAuthority.shared.get()
    let port = try LocalPort.free()
    let files = ["server.pem", "server.key"].map { authority.folder.file($0).path }
    let hex = script.map { String(format: "%02x", $0) }.joined()
    process = try RealProcess(
      "python3",
      ["-c", Self.script, "\(port)", settings, answers.joined(separator: "\n"), hex] + (tls ? files : []), port: port)
    self.authority = authority
    guard let url = URL(string: "\(tls ? "https" : "http")://127.0.0.1:\(port)/") else {
      throw RealServerError("no URL")
    }
    self.url = url
  }

  /// How the tunnels of a script end: the Nth one after N / 3 bytes, in the N % 3rd way. The first ones have the first
  /// three ends, after 0 bytes of the script and so on up to all of them; then the last three ends begin with 0 bytes
  /// of the frames. Over HTTP/1.1 only the last three apply, and the bytes are those of the head and the script.
  package enum End: Int, Sendable, CaseIterable {
    /// END_STREAM after so many bytes of the script.
    case stream
    /// RST_STREAM after so many bytes of the script.
    case reset
    /// So many bytes of the script, and then nothing.
    case silence
    /// So many bytes of the frames, and then nothing. This and the one before are the event `silent`.
    case stall
    /// So many bytes of the frames, and then FIN.
    case cut
    /// So many bytes of the frames, and then RST.
    case loss
  }

  private static let script = #"""
    import base64, hashlib, queue, select, socket, ssl, struct, sys, threading

    DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, UPDATE = 0, 1, 3, 4, 6, 7, 8
    END_STREAM, END_HEADERS, ACK = 1, 4, 1
    GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    port, settings, answers, script, files = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[3].split("\n"), bytes.fromhex(sys.argv[4]), sys.argv[5:]
    events, go, lock, connects = queue.Queue(), threading.Event(), threading.Lock(), 0

    def frame(kind, flags, stream, payload=b""):
      return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    def literal(name, value):
      return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value

    # A side of a conversation that reads and writes in different threads, which Python's sockets over TLS do not allow.
    class Wire:
      def __init__(self, plain, session=None, incoming=None, outgoing=None):
        self.plain, self.session, self.incoming, self.outgoing = plain, session, incoming, outgoing
        self.lock, self.buffer, self.order, self.isMute = threading.Lock(), b"", threading.Lock(), False

      def more(self):
        if not self.session: return self.plain.recv(65536)
        while True:
          try:
            with self.lock: return self.session.read(65536)
          except ssl.SSLWantReadError: pass
          except (ssl.SSLZeroReturnError, ssl.SSLEOFError): return b""
          data = self.plain.recv(65536)
          with self.lock:
            if data: self.incoming.write(data)
            else: self.incoming.write_eof()

      def read(self, count):
        while len(self.buffer) < count:
          data = self.more()
          if not data: raise OSError("ended")
          self.buffer += data
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

      def isSilent(self): return not self.buffer and not select.select([self.plain], [], [], 0.3)[0]

      # Nothing follows the last bytes: a frame that they cut off would have it.
      def send(self, data, isLast=False):
        with self.order:
          if self.isMute: return
          self.isMute = isLast
          if self.session:
            with self.lock:
              self.session.write(data)
              data = self.outgoing.read()
          self.plain.sendall(data)

      def end(self, direction=socket.SHUT_RDWR):
        try: self.plain.shutdown(direction)
        except OSError: pass

    class Stream:
      def __init__(self, connection, number): self.connection, self.number, self.input, self.buffer = connection, number, queue.Queue(), b""

      def read(self):
        if self.buffer:
          data, self.buffer = self.buffer, b""
          return data
        return self.input.get()

      def line(self):
        while b"\n" not in self.buffer:
          data = self.input.get()
          if not data: return b""
          self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

      def send(self, data, ends=False): self.connection.data(self.number, data, ends)

    class HTTP2:
      def __init__(self, wire):
        self.wire, self.changed, self.window, self.windows, self.initial = wire, threading.Condition(), 65535, {}, 65535
        self.streams, self.gone, self.deaf = {}, set(), set()

      def data(self, stream, data, ends):
        while data or ends:
          with self.changed:
            self.changed.wait_for(lambda: stream in self.gone or not data or min(self.window, self.windows[stream]) > 0)
            if stream in self.gone: raise OSError("reset")
            count = max(0, min(len(data), self.window, self.windows[stream], 16384))
            piece, data = data[:count], data[count:]
            self.window -= count; self.windows[stream] -= count
          self.wire.send(frame(DATA, END_STREAM if ends and not data else 0, stream, piece))
          if not data: return

      def head(self, stream, status, fields, ends):
        block = literal(b":status", status) + b"".join(literal(*field.encode().split(b"=", 1)) for field in fields)
        self.wire.send(frame(HEADERS, END_HEADERS | (END_STREAM if ends else 0), stream, block))

      def answer(self, stream, text):
        self.head(stream, b"200", ["content-length=%d" % len(text)], not text)
        if text: self.data(stream, text, True)

      def reset(self, stream, code): self.wire.send(frame(RESET, 0, stream, struct.pack(">I", code)))

      def connect(self, number):
        global connects
        with lock: turn, connects = connects, connects + 1
        answer, *fields = answers[min(turn, len(answers) - 1)].split("|")
        kind, _, text = answer.partition(" ")
        if kind == "reset": return self.reset(number, int(text))
        if kind == "goaway": return self.wire.send(frame(GOAWAY, 0, 0, struct.pack(">II", number - 2, 0)))
        if kind == "drop": return self.wire.end()
        if kind == "wait": return events.put(b"asked")
        if script: return self.play(self.streams[number], turn)
        self.head(number, kind.encode(), fields, kind != "200" and not text)
        if kind != "200": return self.data(number, text.encode(), True) if text else None
        stream = self.streams[number]
        if "frames" in settings: return self.converse(stream)
        self.obey(stream, stream.line().decode())

      def play(self, stream, turn):
        inScript = 3 * (len(script) + 1)
        cut, end = divmod(turn if turn < inScript else turn - inScript, 3)
        if turn >= inScript: return play(self.wire, frame(HEADERS, END_HEADERS, stream.number, literal(b":status", b"200")) + frame(DATA, 0, stream.number, script), cut, 3 + end)
        self.head(stream.number, b"200", [], False)
        stream.send(script[:cut], end == 0)
        if end == 1: self.reset(stream.number, 8)
        if end == 2: events.put(b"silent")

      def converse(self, stream):
        data = b""
        def need(count):
          nonlocal data
          while len(data) < count:
            more = stream.read()
            if not more: raise OSError("ended")
            data += more
        while True:
          need(2)
          size, at = data[1] & 127, 2
          if size > 125:
            at = 4 if size == 126 else 10
            need(at)
            size = int.from_bytes(data[2:at], "big")
          need(at + 4 + size)
          mask, payload = data[at:at + 4], data[at + 4:at + 4 + size]
          payload = bytes(byte ^ mask[place & 3] for place, byte in enumerate(payload))
          opcode = data[0] & 15
          head = bytes([data[0] & 0xF0 | (10 if opcode == 9 else opcode)]) + (bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size) if size < 65536 else b"\x7f" + struct.pack(">Q", size))
          data = data[at + 4 + size:]
          stream.send(head + payload, opcode == 8 and "open" not in settings)
          if opcode == 8: return

      def obey(self, stream, command):
        if command == "go": return go.set()
        if command == "reset": return self.reset(stream.number, 8)
        if command == "cut": return self.wire.end()
        if command == "fields": return self.head(stream.number, b"200", [], False)
        if command == "leave": stream.send(b"", True); return self.reset(stream.number, 0)
        if command == "flood":
          for number in range(32 << 6): stream.send(bytes([number % 251]) * (16 << 10))
        if command == "crumbs":
          for number in range(50000): stream.send(b"ab"[number % 2:][:1])
          stream.send(b"", True)
        if command == "once": stream.send(b"once", True)
        if command == "goAway": self.wire.send(frame(GOAWAY, 0, 0, struct.pack(">II", stream.number, 0)))
        if command in ("echo", "goAway"): stream.send(b"hello ")
        if command == "deaf":
          self.deaf.add(stream.number)
          events.put(b"deaf"); go.wait()
          self.deaf.discard(stream.number)
          self.wire.send(frame(UPDATE, 0, stream.number, struct.pack(">I", 1 << 30)))
        whole, count = b"", 0
        if command == "part":
          self.deaf.add(stream.number)
          events.put(b"deaf")
          while count < 65535: count += len(stream.read())
          stream.send(b"", True)
          self.wire.send(frame(UPDATE, 0, stream.number, struct.pack(">I", 1 << 30)))
        while data := stream.read():
          count += len(data)
          if command in ("echo", "goAway"): stream.send(data)
          if command == "once": whole += data
        if command in ("echo", "goAway"): stream.send(b" bye", True)
        if command == "once": events.put(whole)
        if command in ("deaf", "part"): events.put(b"%d" % count)

      def received(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
          initial = dict(struct.iter_unpack(">HI", payload)).get(4, self.initial)
          with self.changed:
            for number in self.windows: self.windows[number] += initial - self.initial
            self.initial = initial
            self.changed.notify_all()
          self.wire.send(frame(SETTINGS, ACK, 0))
        if kind == PING and not flags & ACK: self.wire.send(frame(PING, ACK, 0, payload))
        if kind == UPDATE:
          with self.changed:
            more = struct.unpack(">I", payload)[0]
            if stream == 0: self.window += more
            elif stream in self.windows: self.windows[stream] += more
            self.changed.notify_all()
        if kind == RESET and stream in self.streams:
          events.put(b"reset %d" % struct.unpack(">I", payload)[0])
          with self.changed: self.gone.add(stream); self.changed.notify_all()
          self.streams[stream].input.put(b"")
        if kind == DATA and stream in self.streams:
          if payload:
            isDeaf = stream in self.deaf  # before the tunnel reads this: the bytes of a command are always given back
            self.streams[stream].input.put(payload)
            update = struct.pack(">I", len(payload))
            self.wire.send(frame(UPDATE, 0, 0, update))
            if not isDeaf: self.wire.send(frame(UPDATE, 0, stream, update))
          if flags & END_STREAM: events.put(b"end"); self.streams[stream].input.put(b"")
        if kind == HEADERS:
          with self.changed: self.windows[stream] = self.initial
          if not flags & END_STREAM:
            if "heads" in settings: events.put(b"head " + payload.hex().encode())
            self.streams[stream] = Stream(self, stream)
            self.spawn(lambda: self.connect(stream))
          elif payload[0] == 0x83: self.spawn(lambda: self.answer(stream, events.get()))
          else: self.spawn(lambda: self.answer(stream, b"ok"))

      def spawn(self, body):
        def run():
          try: body()
          except (OSError, ValueError): pass
        threading.Thread(target=run, daemon=True).start()

      def run(self):
        self.wire.read(24)
        values = b"".join(struct.pack(">HI", *map(int, entry.split("="))) for entry in settings if "=" in entry)
        frames = []
        while "late" in settings and not self.wire.isSilent():
          head = self.wire.read(9)
          frames.append((head[3], head[4], int.from_bytes(head[5:], "big"), self.wire.read(int.from_bytes(head[:3], "big"))))
          if head[3] == HEADERS: events.put(b"early")
        self.wire.send(frame(SETTINGS, 0, 0, values))
        for received in frames: self.received(*received)
        try:
          while True:
            head = self.wire.read(9)
            self.received(head[3], head[4], int.from_bytes(head[5:], "big") & 0x7fffffff, self.wire.read(int.from_bytes(head[:3], "big")))
        finally:
          for number, stream in self.streams.items():
            with self.changed: self.gone.add(number); self.changed.notify_all()
            stream.input.put(b"")

    def play(wire, data, cut, end):
      wire.send(data[:cut], True)
      if end == 3: events.put(b"silent")
      if end == 4: wire.end(socket.SHUT_WR)  # and reads on: unread bytes would make it a RST
      if end == 5:
        wire.plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.end(socket.SHUT_RD)  # to end the read, after which it is closed

    def http1(wire):
      global connects
      head = b""
      while not head.endswith(b"\r\n\r\n"): head += wire.read(1)
      key = [line.split(b": ")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:")]
      accept = base64.b64encode(hashlib.sha1((key or [b""])[0] + GUID).digest())
      head = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n"
      if script:
        with lock: turn, connects = connects, connects + 1
        play(wire, head + script, turn // 3, 3 + turn % 3)
      else: wire.send(head)
      while data := wire.buffer or wire.more():
        wire.buffer = b""
        if not script: wire.send(data)
      wire.end()

    def run(plain):
      try:
        wire = Wire(plain)
        if files:
          incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
          session = context.wrap_bio(incoming, outgoing, server_side=True)
          wire = Wire(plain, session, incoming, outgoing)
          while True:
            try:
              session.do_handshake()
              break
            except ssl.SSLWantReadError:
              plain.sendall(outgoing.read())
              incoming.write(plain.recv(65536) or sys.exit())
          plain.sendall(outgoing.read())
        isHTTP2 = session.selected_alpn_protocol() == "h2" if files else plain.recv(3, socket.MSG_PEEK) == b"PRI"
        if isHTTP2: HTTP2(wire).run()
        else: http1(wire)
      except (OSError, ValueError): pass
      plain.close()

    if files:
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(*files)
      context.set_alpn_protocols(["h2", "http/1.1"])
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    while True:
      plain, _ = listener.accept()
      plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
      threading.Thread(target=run, args=(plain,), daemon=True).start()
    """#
}
