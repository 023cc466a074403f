import MartletEngine
import MartletSemantics
import Synchronization

/// A server whose proofs have their own nonces: an authorization server and an API may have the same origin, and
/// different nonces (RFC 9449 §8, §9).
struct Server: Hashable {
  /// The scheme and the authority, as in the URL of a proof.
  let origin: String
  let issuesTokens: Bool

  init(origin: String, issuesTokens: Bool) { (self.origin, self.issuesTokens) = (origin, issuesTokens) }

  init?(of request: HTTPRequest, issuesTokens: Bool) {
    guard let parts = TargetParts(request.head) else { return nil }
    self.init(origin: "\(parts.scheme)://\(parts.authority)", issuesTokens: issuesTokens)
  }
}

/// What is known about the servers that get proofs: those that changed last, 64 at most.
final class ServerMemory: Sendable {
  struct Knowledge: Sendable, Hashable {
    /// The last nonce that the server has sent; nil if there was none.
    var nonce: String?
    /// How many seconds the clock of the server is ahead of ours; 0 until that matters.
    var clockOffset = 0.0
  }

  private struct State {
    var known: [Server: (knowledge: Knowledge, change: Int)] = [:]
    var changes = 0
  }

  /// The maximum number of servers.
  static let limit = 64
  /// Differences of clocks, in seconds, that servers accept.
  private static let tolerance = 5.0
  private let state = Mutex(State())

  subscript(_ server: Server) -> Knowledge { state.withLock { $0.known[server]?.knowledge ?? Knowledge() } }

  /// Changes what is known about a server. If there are too many, the server with the oldest change is forgotten.
  func update<R>(_ server: Server, _ change: (inout Knowledge) -> R) -> R {
    state.withLock { state in
      var knowledge = state.known[server]?.knowledge ?? Knowledge()
      let result = change(&knowledge)
      state.changes += 1
      state.known[server] = (knowledge, state.changes)
      if state.known.count > Self.limit, let oldest = state.known.min(by: { $0.value.change < $1.value.change }) {
        state.known[oldest.key] = nil
      }
      return result
    }
  }

  /// Notes the clock of a server that has refused a proof. Returns whether its next proof has another time.
  func setClock(of server: Server, to offset: Double) -> Bool {
    update(server) { knowledge in
      guard offset.isFinite, abs(offset - knowledge.clockOffset) > Self.tolerance else { return false }
      knowledge.clockOffset = offset
      return true
    }
  }
}
