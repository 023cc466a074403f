#if os(Linux)
import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// The connection over which a request is sent again.
@Suite(.timeLimit(.minutes(5)))
struct NewConnectionTests {
  // RFC 9112 §9.3.1: another one of the same age may be closed too.
  @Test func afterAStaleConnectionNoOtherOneFromThePoolIsTried() async throws {
    let server = try NumberingServer()
    let transport = SocketTransport(.trusting(server.authority))
    @Sendable func text(_ path: String, _ base: URL) async throws -> String {
      let response = try await transport.send(HTTPRequest(.get, base.appending(path: path)), in: Call())
      return String(decoding: try await response.body.collect(upTo: 10), as: UTF8.self)
    }

    // each is answered when both have arrived, and therefore over its own connection
    async let first = text("both", server.url), second = text("both", server.url)
    #expect(try await Set([first, second]) == ["1", "2"])
    async let held = text("hold", server.url)
    _ = try await text("held", server.control)
    async let again = text("stale", server.url)
    _ = try await text("third", server.control)  // a new connection is being opened
    _ = try await text("release", server.control)
    #expect(try await ["1", "2"].contains(held))  // one of the old ones is free now
    _ = try await text("go", server.control)
    #expect(try await again == "3")
  }
}

/// A server over TLS that answers with the number of the connection. It closes the connection of the first `/stale`. A
/// second port controls it: `/held` and `/third` wait until `/hold` and the third connection have arrived, and
/// `/release` and `/go` let them continue.
private final class NumberingServer: Sendable {
  let url: URL
  let control: URL
  let authority: TestAuthority
  private let process: RealProcess

  init() throws {
    authority = try TestAuthority.shared.get()
    let ports = [try LocalPort.free(), try LocalPort.free()]
    let files = ["server.pem", "server.key"].map { [authority] in authority.folder.file($0).path }
    process = try RealProcess("python3", ["-c", Self.script] + ports.map(String.init) + files, port: ports[1])
    url = TestSupport.url("https://127.0.0.1:\(ports[0])/")
    control = TestSupport.url("http://127.0.0.1:\(ports[1])/")
  }

  private static let script = #"""
    import socket, ssl, sys, threading

    names = ["held", "third", "release", "go"]
    events = {name: threading.Event() for name in names}
    both, lock, stale = threading.Barrier(2), threading.Lock(), []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[3:])

    def requests(connection):
      file = connection.makefile("rb")
      while line := file.readline():
        while file.readline() != b"\r\n": pass
        yield line.split(b" ")[1].decode()[1:]

    def reply(connection, text): connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text))

    def serve(plain, number):
      if number == 3: events["third"].set(); events["go"].wait()
      connection = context.wrap_socket(plain, server_side=True)
      for path in requests(connection):
        if path == "both": both.wait()
        if path == "hold": events["held"].set(); events["release"].wait()
        if path == "stale" and not stale: stale.append(number); connection.close(); return
        reply(connection, b"%d" % number)

    def control(connection, _):
      for path in requests(connection):
        if path in ("held", "third"): events[path].wait()
        if path in ("release", "go"): events[path].set()
        reply(connection, b"")

    def run(body, *arguments):
      try: body(*arguments)
      except OSError: pass

    def accept(listener, body):
      number = 0
      while True:
        connection, _ = listener.accept()
        number += 1
        threading.Thread(target=run, args=(body, connection, number), daemon=True).start()

    # the one whose port the test waits for comes last
    listeners = [socket.create_server(("127.0.0.1", int(port)), backlog=128) for port in sys.argv[1:3]]
    threading.Thread(target=accept, args=(listeners[0], serve), daemon=True).start()
    accept(listeners[1], control)
    """#
}
#endif
