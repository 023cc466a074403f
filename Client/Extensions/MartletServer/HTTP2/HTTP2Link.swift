#if os(Linux)
import MartletSemantics
import Synchronization

/// What a stream's thread sends, in order.
enum StreamItem: Sendable {
  case interim(ResponseHead)
  /// The head; the last item of a response without a body.
  case head(ResponseHead, isLast: Bool)
  case data(Data)
  case end(HTTPFields)
  case fault(HTTP2Fault)
  /// Bytes that are no frames, or that nothing checks.
  case raw(Data)
}

/// What a connection's thread and those of its streams share.
final class HTTP2Link: Sendable {
  private struct State {
    var news = News()
    var isSignalled = false
  }

  /// What has happened since the last look.
  struct News: Sendable {
    /// The streams with items, or with bytes that were taken.
    var changed: [Int32] = []
    /// How the connection ends after everything that these streams have sent.
    var endings: [(stream: Int32, ending: Reply.Ending)] = []
  }

  private let state = Mutex(State())
  private let ends: (read: Int32, write: Int32)

  /// nil if the process has no file descriptors left.
  init?() {
    guard let ends = SystemCalls.makePipe() else { return nil }
    self.ends = ends
  }

  deinit {
    SystemCalls.closeDescriptor(ends.read)
    SystemCalls.closeDescriptor(ends.write)
  }

  /// Readable when a stream has changed.
  var descriptor: Int32 { ends.read }

  /// Tells the connection's thread that a stream has changed.
  func changed(_ stream: Int32) { tell { $0.changed.append(stream) } }

  /// Ends the connection after everything that the stream has sent.
  func end(_ ending: Reply.Ending, after stream: Int32) { tell { $0.endings.append((stream, ending)) } }

  private func tell(_ change: (inout News) -> Void) {
    let isFirst = state.withLock { state in
      change(&state.news)
      defer { state.isSignalled = true }
      return !state.isSignalled
    }
    if isFirst { SystemCalls.writeByte(to: ends.write) }
  }

  func takeNews() -> News {
    let taken = state.withLock { state in
      defer { state = State() }
      return state
    }
    if taken.isSignalled { SystemCalls.readByte(from: ends.read) }
    return taken.news
  }
}
#endif
