import MartletSemantics
import Synchronization

/// A transport that can be closed: requests, bodies and upgraded connections in progress then end, and its base is
/// released.
struct ClosableTransport: Transport, DeadlineAware {
  private let base: Base
  private let gate: CallGate
  private let registration: CallGate.Registration?
  var endsAtDeadline: Bool { base.current.map { Deadline.isKept(by: $0) } ?? false }

  /// The base until the gate is closed. A transport closes its connections when nothing refers to it.
  private final class Base: Sendable {
    private let transport: Mutex<(any Transport)?>

    init(_ transport: any Transport) { self.transport = Mutex(transport) }

    var current: (any Transport)? { transport.withLock { $0 } }

    func release() { _ = transport.withLock { $0.take() } }
  }

  init(_ transport: any Transport, _ gate: CallGate) {
    let base = Base(transport)
    self.base = base
    self.gate = gate
    // Cannot fail: the gate is open.
    registration = try? gate.register { base.release() }
  }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard let transport = base.current else { throw CallGate.error }
    let task = Task { try await transport.send(request, in: call) }
    do {
      let registration = try gate.register { task.cancel() }
      defer { registration.end() }
      var response = try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
      let body = try ClosableBody(response.body.source, gate)
      response.body = ResponseBody(length: response.body.length, from: body)
      if let stream = response.stream { response.stream = try ClosableStream(stream, gate) }
      if let messages = response.messages { try register(messages) }
      return response
    } catch {
      task.cancel()
      throw gate.isClosed ? CallGate.error : error
    }
  }
}

extension ClosableTransport {
  func releaseConnections(_ which: ConnectionRelease) async { await base.current?.releaseConnections(which) }

  /// Registers the messages of a WebSocket until it is closed.
  private func register(_ messages: any MessageChannel) throws(HTTPError) {
    // It may never be accepted.
    let registration = try gate.register { [weak messages] in messages?.abandon() }
    registration.setLeaving { [weak messages] in messages?.shutDown() }
    messages.whenClosed { registration.end() }
  }
}

/// The bytes of an upgraded connection, which the closing gate ends.
private final class ClosableStream: DuplexStream {
  private let base: any DuplexStream
  private let registration: CallGate.Registration

  init(_ base: any DuplexStream, _ gate: CallGate) throws(HTTPError) {
    self.base = base
    registration = try gate.register { base.close() }
  }

  func read(missing: Int) async throws -> Data? { try await base.read(missing: missing) }

  func write(_ bytes: Data) async throws { try await base.write(bytes) }

  func finish() { base.finish() }

  func close() {
    registration.end()
    base.close()
  }

  func leave() {
    registration.end()
    base.leave()
  }

  var isShared: Bool { base.isShared }

  func awaitAnswer() { base.awaitAnswer() }

  var executor: (any TaskExecutor)? { base.executor }

  func whenShuttingDown(_ action: @escaping @Sendable () -> Void) { registration.setLeaving(action) }
}

/// A body that the closing gate cancels.
private final class ClosableBody: BodyLayer {
  let base: any BodySource
  private let gate: CallGate
  private let registration: CallGate.Registration

  init(_ base: any BodySource, _ gate: CallGate) throws(HTTPError) {
    self.base = base
    self.gate = gate
    registration = try gate.register { base.cancel() }
  }

  func next() async throws -> Data? {
    do {
      let chunk = try await base.next()
      // A cancelled body may end as if it were complete.
      if chunk == nil, gate.isClosed { throw CallGate.error }
      if chunk == nil { registration.end() }
      return chunk
    } catch {
      throw gate.isClosed ? CallGate.error : error
    }
  }

  func takeReceived() throws(HTTPError) -> Data? {
    let data = try base.takeReceived()
    if data != nil { registration.end() }
    return data
  }

  func cancel() {
    registration.end()
    base.cancel()
  }
}
