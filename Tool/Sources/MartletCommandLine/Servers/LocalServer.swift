import MartletSemantics
import MartletTesting

/// A server on 127.0.0.1 that runs until Ctrl-C.
enum LocalServer {
  static func port(_ arguments: ParsedArguments) throws(UsageError) -> Int {
    let port = arguments.count(.port) ?? 8000
    guard port <= 65535 else { throw UsageError("--port \(port): a port is at most 65535") }
    return port
  }

  static func start(
    _ port: Int, _ respond: @escaping LoopbackServer.Responder
  ) throws(UsageError) -> LoopbackServer {
    do {
      return try LoopbackServer(port: port, recording: .nothing, respond: respond)
    } catch {
      throw UsageError("--port \(port): \(error)")
    }
  }

  /// Returns when the task is cancelled.
  static func untilInterrupted() async throws {
    let never = AsyncStream<Never> { _ in }
    for await _ in never {}
  }
}
