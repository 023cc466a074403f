import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import TestServers
import Testing

/// `Expect: 100-continue` (RFC 9110 §10.1.1): when a body is sent, and when it is not opened.
@Suite(.timeLimit(.minutes(5)))
struct ExpectationTests {
  private let session = HTTPSession.uncached()
  private let content = Data(repeating: 7, count: 2_000_000)

  private func post(
    _ server: LoopbackServer, _ body: RequestBody, waiting timeout: Duration? = .seconds(30)
  ) -> HTTPRequest {
    var request = HTTPRequest(.post, server.url, body: body)
    request.options.continueTimeout = timeout
    return request
  }

  private func once(_ data: Data) -> RequestBody {
    .singleUse(
      length: Int64(data.count),
      AsyncStream {
        $0.yield(data); $0.finish()
      })
  }

  /// The server sends 100 only when it reads the body; without it the client would wait for half a minute.
  @Test func bodyIsSentAfterThe100() async throws {
    let server = try LoopbackServer(bodies: .streamed) { request in .text("\(try request.drainBody())") }
    let events = Mutex<[Int]>([])
    var request = post(server, once(content))
    request.options.listeners = [
      EventHandler { event, _ in
        if case .informational(let head) = event { events.withLock { $0.append(head.status.code) } }
      }
    ]

    let (data, _) = try await session.data(for: request)

    #expect(String(decoding: data, as: UTF8.self) == "2000000")
    #expect(server.requests.first?.fields[.expect] == "100-continue")
    #expect(events.withLock { $0 } == [100])
  }

  @Test(arguments: [401, 403, 413])
  func afterAFinalResponseTheBodyIsNotOpened(_ status: Int) async throws {
    let asked = Counter()
    let server = try LoopbackServer(bodies: .streamed) { request in
      request.fields[.authorization] == nil
        ? .status(HTTPStatus(status)) : .text("\(try request.drainBody())")
    }
    let body = RequestBody.singleUse(length: 3, CountingChunks(asked: asked))

    let (_, response) = try await session.data(for: post(server, body))
    #expect(response.status.code == status)
    #expect(asked.value == 0)
    #expect(body.canBeSent)

    var again = post(server, body)
    again.fields[.authorization] = "Bearer token"
    let (data, _) = try await session.data(for: again)
    #expect(String(decoding: data, as: UTF8.self) == "3")
    #expect(asked.value > 0)
  }

  @Test func aChallengedSingleUseBodyIsSentAfterwards() async throws {
    struct Answering: Interceptor {
      func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
        guard try outcome.get().status == .unauthorized, attempt.request.body.canBeSent else { return .accept }
        var next = attempt.request
        next.fields[.authorization] = "Bearer token"
        return .resend(next, reason: "401")
      }
    }
    var configuration = SessionConfiguration()
    configuration.interceptors = [Answering()]
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    let server = try LoopbackServer(bodies: .streamed) { request in
      request.fields[.authorization] == nil ? .status(.unauthorized) : .text("\(try request.drainBody())")
    }

    let (data, response) = try await session.data(for: post(server, once(content)))

    #expect(String(decoding: data, as: UTF8.self) == "2000000")
    #expect(response.history.count == 1)
  }

  @Test func aConnectionThatEndsWhileABodyWaitsIsAnErrorThatTellsWhy() async throws {
    let server = try LoopbackServer(bodies: .streamed) { _ in .hangUp }

    let error = await #expect(throws: HTTPError.self) { _ = try await session.data(for: post(server, once(content))) }

    #expect(error?.kind == .connectionLost)
    #expect(
      error?.message.hasSuffix("the body waited in vain for 100 Continue: a shorter continueTimeout sends it earlier")
        == true)
    #expect(server.requests.count == 1)
  }

  @Test func withoutA100TheBodyIsSentAfterTheTimeout() async throws {
    let sent = Gate()
    let server = try LoopbackServer(bodies: .streamed) { request in
      try request.wait(for: sent)  // no 100: it is only sent when the body is read
      return .text("\(try request.drainBody())")
    }
    var request = post(server, once(content), waiting: .milliseconds(20))
    request.options.listeners = [
      EventHandler { event, _ in
        if case .progress(let progress) = event, progress.direction == .sent { sent.open() }
      }
    ]

    let (data, _) = try await session.data(for: request)

    #expect(String(decoding: data, as: UTF8.self) == "2000000")
  }

  @Test(arguments: [
    ("small", false), ("large", true), ("unknown", true), ("once", true), ("file", false), ("not allowed", false),
    ("none", false),
  ])
  func onlyLargeOrSingleUseBodiesHaveAnExpectation(_ kind: String, expects: Bool) async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let folder = try TemporaryFolder()
    try folder.write(Data("small".utf8), to: "small")
    let body: RequestBody =
      switch kind {
      case "small": .data(Data("small".utf8))
      case "large", "not allowed": .data(content)
      case "unknown":
        .stream {
          AsyncStream {
            $0.yield(Data("a".utf8)); $0.finish()
          }
        }
      case "once": once(Data("a".utf8))
      case "file": .file(folder.file("small"))
      default: .empty
      }

    _ = try await session.data(for: post(server, body, waiting: kind == "not allowed" ? nil : .seconds(30)))

    #expect(server.requests.first?.fields[.expect] == (expects ? "100-continue" : nil))
  }

  @Test func aRefusedExpectationIsDroppedForASingleUseBody() async throws {
    let server = try LoopbackServer(bodies: .streamed) { request in
      request.fields.contains(.expect) ? .status(.expectationFailed) : .text("\(try request.drainBody())")
    }
    let (data, response) = try await session.data(for: post(server, once(content)))
    #expect(String(decoding: data, as: UTF8.self) == "2000000")
    #expect(response.history.map(\.reason) == ["417: the server refused Expect"])
  }

  @Test func aRefusedExpectationIsDroppedOnAConnectionThatStaysOpen() async throws {
    let port = try LocalPort.free()
    let process = try RealProcess("python3", ["-c", Self.refusingServer, "\(port)"], port: port)
    let url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
    var request = HTTPRequest(.post, url, body: once(content))
    request.options.continueTimeout = .seconds(30)
    let (data, response) = try await session.data(for: request)
    #expect(response.status == .ok)
    #expect(String(decoding: data, as: UTF8.self) == "request 2: 2000000")
    withExtendedLifetime(process) {}
  }

  /// Refuses every `Expect`, and answers other requests with their number and the length of their bodies.
  private static let refusingServer = #"""
    import socket, sys, threading
    count = 0

    def serve(connection):
      global count
      file = connection.makefile("rb")
      while line := file.readline():
        fields = {}
        while (field := file.readline().strip()):
          name, value = field.split(b":", 1)
          fields[name.lower()] = value.strip()
        count += 1
        if b"expect" in fields:
          connection.sendall(b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
          continue
        text = b"request %d: %d" % (count, len(file.read(int(fields[b"content-length"]))))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text))

    def run(connection):
      try: serve(connection)
      except (OSError, ValueError, KeyError): pass

    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    while True:
      connection, _ = listener.accept()
      threading.Thread(target=run, args=(connection,), daemon=True).start()
    """#

  @Test func a100BeforeTheEndOfTheHeadCounts() async throws {
    let port = try LocalPort.free()
    let process = try RealProcess("python3", ["-c", Self.hastyServer, "\(port)"], port: port)
    let url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
    let continued = Gate()
    var request = HTTPRequest(.post, url, body: once(content))
    request.fields["Filling"] = String(repeating: "a", count: 8 << 20)  // More than the sockets' buffers take.
    request.options.continueTimeout = .seconds(60)
    request.options.responseTimeout = .seconds(30)
    request.options.listeners = [
      EventHandler { event, _ in
        if case .informational = event { continued.open() }
      }
    ]
    async let posted = session.data(for: request)
    try await continued.wait()
    let (_, go) = try await session.data(for: HTTPRequest(.get, url))
    #expect(go.status == .noContent)
    let (data, _) = try await posted
    #expect(String(decoding: data, as: UTF8.self) == "2000000")
    withExtendedLifetime(process) {}
  }

  /// Sends a 100 after one byte of a request, reads on when another connection was served, and answers with the length
  /// of the body.
  private static let hastyServer = #"""
    import socket, sys
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind(("127.0.0.1", int(sys.argv[1])))
    listener.listen()
    while True:
      first, _ = listener.accept()
      file = first.makefile("rb")
      if file.peek(1): break
    first.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    second, _ = listener.accept()
    second.recv(4096)
    second.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    second.close()
    length = 0
    while line := file.readline().strip():
      if line.lower().startswith(b"content-length:"): length = int(line[15:])
    text = b"%d" % len(file.read(length))
    first.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text))
    file.read()
    """#

  @Test func aSingleUseBodyIsNotOpenedIfTheServerIsUnreachable() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    server.stop()
    let body = once(content)
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: post(server, body, waiting: nil)) }
    #expect(error?.kind == .cannotConnect)
    #expect(body.canBeSent)
  }

  @Test func nginxRefusesALargeBodyBeforeItIsSent() async throws {
    let nginx = try Nginx.shared.get()
    for url in [nginx.plain("/small"), nginx.plain("/put")] {
      let body = once(content)
      var request = HTTPRequest(.put, url, body: body)
      request.options.continueTimeout = .seconds(30)
      let (_, response) = try await session.data(for: request)
      #expect(response.status == (url.path == "/small" ? .contentTooLarge : .ok))
      #expect(body.canBeSent == (url.path == "/small"))
    }
  }
}

/// A sequence of three bytes that counts its iterations.
private struct CountingChunks: AsyncSequence, AsyncIteratorProtocol, Sendable {
  let asked: Counter
  var rest = 3

  func makeAsyncIterator() -> CountingChunks { self }

  mutating func next() async throws -> Data? {
    asked.next()
    guard rest > 0 else { return nil }
    rest -= 1
    return Data([65])
  }
}
