import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestServers
import TestSupport
import Testing

/// The effects of the transport on its process.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ProcessTests {
  /// The number of processes; `make interop` starts more.
  private static let count = ProcessInfo.processInfo.environment["MARTLET_PROCESSES"].flatMap { Int($0) } ?? 50

  /// OpenSSL's own clean-up at the end of a process would free data that the transport's thread uses.
  @Test func processThatExitsDuringTransfersEndsCleanly() throws {
    let nginx = try Nginx.shared.get()
    for number in 0..<Self.count {
      // in handshakes, in the first bodies, later
      let bytes = [0, 1, 100_000, 3_000_000][number % 4] * (number / 4 + 1)
      let process = try run(
        "exit", "\(bytes)", nginx.authority.certificate.path, nginx.tls("/zeros.bin").absoluteString)
      let output = String(decoding: process.readToEnd(), as: UTF8.self)
      #expect(process.exitCode() == 0, "after \(bytes) bytes: \(output)")
    }
  }

  @Test func openSSLDoesNotCleanUpAtTheEndOfAProcess() throws {
    let nginx = try Nginx.shared.get()
    let process = try run("clean-up", nginx.authority.certificate.path, nginx.tls("/hello.txt").absoluteString)
    #expect(String(decoding: process.readToEnd(), as: UTF8.self) == "200\n")
    #expect(process.exitCode() == 0)
  }

  @Test func sendingToAPeerThatHasResetIsNoSignal() throws {
    let server = try LoopbackServer(bodies: .streamed) { _ in .reset }
    let secure = try CutServer(Array("HTTP/1.1 200 OK\r\n\r\n".utf8), isHTTP2: false, tls: true)
    let process = try run("signals", secure.authority.certificate.path, server.url("/").absoluteString, "\(secure.url)")
    // at its default before and afterwards; and there were failures
    #expect(String(decoding: process.readToEnd(), as: UTF8.self) == "true true true\n")
    #expect(process.exitCode() == 0)
  }

  /// With ten descriptors, 300 requests wait for six connections, and four are left to the program. A transport that is
  /// made without any descriptor fails, and starts when there are some again.
  @Test func requestsWaitWhereThereAreFewDescriptors() throws {
    let server = try LoopbackServer(recording: .nothing) { _ in .text("ok") }
    let process = try run("descriptors", "300", server.url("/").absoluteString)
    #expect(String(decoding: process.readToEnd(), as: UTF8.self) == "300 4 0 1\n")
    #expect(process.exitCode() == 0)
  }

  /// Without a descriptor, a transport starts, another one connects, and a file is sent: idle connections give way.
  @Test func idleConnectionsGiveUpTheirDescriptorsToTheWholeProcess() throws {
    let server = try LoopbackServer(recording: .nothing) { _ in .text("ok") }
    let process = try run("idle", "40", server.url("/").absoluteString)
    #expect(String(decoding: process.readToEnd(), as: UTF8.self) == "1 1 200\n")
    #expect(process.exitCode() == 0)
  }

  /// Each step that makes a descriptor finds none: the transport's thread, look-ups, sockets, files of authorities.
  @Test func eachStepAsksForTheDescriptorThatItNeeds() throws {
    let (nginx, folder) = (try Nginx.shared.get(), try TemporaryFolder())
    let netrc = try folder.write(Data("machine a.example login b password c".utf8), to: "netrc")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: netrc.path)
    try folder.write(Data("old".utf8), to: "old")
    try folder.write(Data("new".utf8), to: "new")
    let authority = nginx.authority.certificate.path
    let process = try run("spare", authority, nginx.tls("/hello.txt").absoluteString, folder.url.path)
    #expect(String(decoding: process.readToEnd(), as: UTF8.self) == "1 true true\n")
    #expect(process.exitCode() == 0)
    #expect(try String(contentsOf: folder.file("old"), encoding: .utf8) == "new")
  }

  @Test func transportThatNobodyHoldsClosesItsConnectionsAndEndsItsThread() throws {
    let nginx = try Nginx.shared.get()
    let urls = [nginx.plain("/long.txt"), nginx.tls("/zeros.bin"), nginx.tls("/hello.txt")].map(\.absoluteString)
    let process = try run(["release", nginx.authority.certificate.path] + urls)
    #expect(String(decoding: process.readToEnd(), as: UTF8.self) == "released\n")
    #expect(process.exitCode() == 0)
  }

  /// Connections that end in many ways, so that descriptors and the loop's places are used again within a turn. The
  /// events of one connection never reach another.
  @Test func eventsOfClosedConnectionsReachNoOther() async throws {
    let server = try LoopbackServer(recording: .nothing) { request in
      let reply = Reply.text(String(repeating: request.target, count: 20))
      return switch request.target.utf8.last.map({ $0 % 4 }) {
      case 0: reply.closingSilently()
      case 1: reply.reset(after: 10)
      case 2: reply.untilClose()
      default: reply
      }
    }
    let transport = SocketTransport()
    let next = Counter()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<16 {
        group.addTask {
          while case let number = next.next(), number <= 3000 {
            await Self.send("/\(number)", to: server, over: transport, isCancelled: number % 7 == 0)
          }
        }
      }
    }
  }

  private static func send(
    _ target: String, to server: LoopbackServer, over transport: SocketTransport, isCancelled: Bool
  ) async {
    var request = HTTPRequest(.get, server.url(target))
    request.options.responseTimeout = .seconds(120)
    request.options.idleTimeout = .seconds(120)
    do {
      let response = try await transport.send(request, in: Call())
      if isCancelled { return response.body.cancel() }
      let body = try await response.body.collect(upTo: 1000)
      #expect(String(decoding: body, as: UTF8.self) == String(repeating: target, count: 20))
    } catch {
      let error = HTTPError(wrapping: error)
      #expect(error.kind == .connectionLost, "\(target): \(error)")
    }
  }

  private func run(_ arguments: String...) throws -> ChildProcess { try run(arguments) }

  private func run(_ arguments: [String]) throws -> ChildProcess {
    try ChildProcess(builtProgram("sockets-program"), arguments, output: .read)
  }
}
