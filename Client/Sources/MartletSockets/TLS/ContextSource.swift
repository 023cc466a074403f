#if os(Linux)
@_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// The context of some TLS settings. It is made when it is first needed, and made again when a new connection finds
/// that a file of the settings has changed.
///
/// Making it reads files and decrypts keys, so it happens on separate threads, and a connection waits for it no longer
/// than it may take to be opened. If changed files cannot be used, the context stays: they may be half-written, or a
/// certificate may be there before its key.
final class ContextSource: Sendable {
  /// The context for a new connection.
  struct Answer: Sendable {
    let context: TLSContext
    /// The context that this one has just replaced; nil if it has replaced none.
    var replaced: TLSContext?
    /// Reports a change of the files since the last connection; nil if there is none.
    var note: String?
  }

  private struct State {
    var made: Made?
    /// The versions of files that could not be used, and why.
    var refused: Refused?
    /// The connections that wait for the work in progress; nil if there is none.
    var waiters: [OneShot<Answer>]?
  }

  private struct Made: Sendable {
    let context: TLSContext
    let versions: [FileVersion]
  }

  private struct Refused: Sendable {
    let reason: String
    let versions: [FileVersion]
  }

  /// The result of a look at the files.
  private enum Finding: Sendable {
    case unchanged(Made)
    case made(Made, insteadOf: Made?)
    case refused(Refused, insteadOf: Made)
  }

  private let settings: TLSSettings
  private let files: [String]
  private let limit: Duration
  private let state = Mutex(State())
  /// The threads, shared by all transports.
  private static let threads = WorkerThreads("martlet-keys", limit: 4)

  /// - Parameter limit: how long a connection may wait for the context.
  init(_ settings: TLSSettings, within limit: Duration) {
    (self.settings, self.limit) = (settings, limit)
    files = settings.files.map(\.path)
  }

  /// Whether it may change.
  var namesFiles: Bool { !files.isEmpty }

  /// The context; nil before the end of the first ``context()``.
  var ready: TLSContext? { state.withLock { $0.made?.context } }

  /// Returns the context for a new connection. Connections that ask at the same time share the work.
  func context() async throws -> Answer {
    if !namesFiles, let ready { return Answer(context: ready) }
    let result = OneShot<Answer>()
    let isFirst = state.withLock { state in
      defer { state.waiters = (state.waiters ?? []) + [result] }
      return state.waiters == nil
    }
    // It runs detached: if the first request is cancelled, the other requests still wait for it.
    if isFirst { Task.detached { await self.work() } }
    return try await result.wait()
  }

  private func work() async {
    let (made, refused) = state.withLock { ($0.made, $0.refused) }
    let answer: Result<Answer, any Error>
    do { answer = .success(take(try await look(after: made, refused))) } catch {
      answer =
        made.map { .success(Answer(context: $0.context, note: Self.note(on: HTTPError(wrapping: error)))) }
        ?? .failure(error)
    }
    let waiters = state.withLock { $0.waiters.take() } ?? []
    for waiter in waiters { waiter.answer(answer) }
  }

  /// Looks whether the files have changed, and reads them if they have.
  private func look(after made: Made?, _ refused: Refused?) async throws(HTTPError) -> Finding {
    do {
      return try await Self.threads.run(within: Deadline(limit, on: ContinuousClock())) { [settings, files] in
        // Before they are read: if they change meanwhile, the next connection reads them again.
        let versions = files.map(FileVersion.init)
        if let made, made.versions == versions { return Finding.unchanged(made) }
        if let made, let refused, refused.versions == versions { return .refused(refused, insteadOf: made) }
        do throws(HTTPError) {
          return .made(Made(context: try Self.makeContext(settings), versions: versions), insteadOf: made)
        } catch {
          guard let made else { throw error }
          return .refused(Refused(reason: Self.note(on: error), versions: versions), insteadOf: made)
        }
      }
    } catch let error as HTTPError where error.kind == .deadlineExceeded {
      throw HTTPError(
        .connectTimeout,
        "TLS was not ready within \(Quantity.text(limit)): deriving a key from its password took too long, "
          + "or did for an earlier one",
        phase: .preparing)
    } catch { throw HTTPError(wrapping: error) }
  }

  private static func makeContext(_ settings: TLSSettings) throws(HTTPError) -> TLSContext {
    // A client certificate is sent in the handshake, so the server has to be trusted first.
    let mayAccept = settings.acceptsRefusedServer != nil && settings.clientCertificate == nil
    return try TLSContext(settings, refusedChains: mayAccept ? .hold : .fail)
  }

  private static func note(on error: HTTPError) -> String {
    "files of tls have changed and cannot be used, so the earlier ones stay in use: \(error.message)"
  }

  /// Updates the state after a look at the files, and returns the answer for the connections that wait.
  private func take(_ finding: Finding) -> Answer {
    switch finding {
    case .made(let made, let former):
      state.withLock { ($0.made, $0.refused) = (made, nil) }
      return Answer(
        context: made.context, replaced: former?.context,
        note: former.map { _ in "files of tls have changed and were read again" })
    case .refused(let refused, let made):
      state.withLock { $0.refused = refused }
      return Answer(context: made.context, note: refused.reason)
    case .unchanged(let made): return Answer(context: made.context)
    }
  }
}
#endif
