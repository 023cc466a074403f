import CEcho
import Foundation
import Martlet
import MartletWebSocket
import MeasuredClient
import Synchronization

/// The WebSockets of a session, which are kept from one assignment to the next: without compression and with it.
final class KeptSockets: Sendable {
  private let session: HTTPSession
  private let sockets = Mutex<[Bool: WebSocket]>([:])

  init(_ session: HTTPSession) { self.session = session }

  func echo(_ assignment: Assignment) async throws -> Int64 {
    let socket = try await socket(to: assignment.url, compresses: assignment.kind == .echoCompressed)
    if Int64(assignment.atOnce) * assignment.length > 1 << 20 { return try await echoBeside(assignment, on: socket) }
    let content = assignment.message
    var (sent, received, bytes) = (0, 0, Int64(0))
    while received < assignment.times {
      while sent < assignment.times, sent - received < assignment.atOnce {
        try await socket.send(.data(content))
        sent += 1
      }
      if case .data(let data) = try await socket.receive() { bytes += Int64(data.count) }
      received += 1
    }
    return bytes
  }

  /// Sends in a task of its own, because the buffers on the way may not hold all messages.
  private func echoBeside(_ assignment: Assignment, on socket: WebSocket) async throws -> Int64 {
    let content = assignment.message
    let (room, places) = AsyncStream.makeStream(of: Void.self)
    for _ in 0..<min(assignment.atOnce, assignment.times) { places.yield() }
    async let sent: Void = {
      for await _ in room { try await socket.send(.data(content)) }
    }()
    var bytes: Int64 = 0
    for index in 0..<assignment.times {
      if case .data(let data) = try await socket.receive() { bytes += Int64(data.count) }
      if index + assignment.atOnce < assignment.times { places.yield() }
    }
    places.finish()
    try await sent
    return bytes
  }

  private func socket(to url: URL, compresses: Bool) async throws -> WebSocket {
    if let socket = sockets.withLock({ $0[compresses] }) { return socket }
    var options = WebSocket.Options()
    if !compresses { options.compression = nil }
    let socket = try await session.webSocket(for: HTTPRequest(.get, url), options: options)
    sockets.withLock { $0[compresses] = socket }
    return socket
  }
}

/// A client in C on one blocking socket: the practical limit of a WebSocket.
final class EchoLoopClient: Client {
  let version = "C"
  private let worker = DispatchQueue(label: "c-echo")
  private let socket = Mutex<Int32?>(nil)

  func echo(_ assignment: Assignment) async throws -> Int64 {
    try await withCheckedThrowingContinuation { continuation in
      worker.async { [self] in continuation.resume(with: Result { try run(assignment) }) }
    }
  }

  private func run(_ assignment: Assignment) throws -> Int64 {
    let socket = socket.withLock { socket in
      socket = socket ?? cecho_open(UInt16(assignment.url.port ?? 0))
      return socket ?? -1
    }
    return cecho_run(socket, Int64(assignment.times), Int64(assignment.atOnce), assignment.length)
  }

  func fetch(_ url: URL, times: Int, atOnce: Int) async throws -> Int64 { throw BenchError("it has no HTTP") }
  func download(_ url: URL) async throws -> Int64 { throw BenchError("it has no HTTP") }
  func upload(_ count: Int64, to url: URL) async throws { throw BenchError("it has no HTTP") }
}
