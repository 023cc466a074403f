package import Foundation
import MartletSemantics
import MartletTesting
import Synchronization

/// A server whose CSRF tokens end after some accepted writes.
package final class RotatingServer: Sendable {
  package struct Rules: Sendable {
    /// The number of writes that one token is good for.
    package var writesPerToken = 1
    /// Whether the session ends with the token, so that the cookie changes, too.
    package var endsSessions = false
    /// Whether the response to the last write of a token has the next token.
    package var returnsTokens = false
    /// Whether every fetch makes a new token, which ends the one before it.
    package var fetchesChangeToken = false
    /// The number of writes that have to arrive before any of them is answered.
    package var together = 1

    package init() {}
  }

  private struct State {
    var session = 1
    var token = 1
    var writesLeft: Int
    var arrived = 0
    var sent: [String: Int] = [:]
    var accepted: [String] = []
    var fetches: [String] = []
  }

  private let rules: Rules
  private let state: Mutex<State>
  private let allArrived = Gate()
  private let service: Mutex<LoopbackServer?> = Mutex(nil)

  package init(_ change: (inout Rules) -> Void = { _ in }) throws {
    var rules = Rules()
    change(&rules)
    self.rules = rules
    state = Mutex(State(writesLeft: rules.writesPerToken))
    let server = try LoopbackServer { [weak self] in self?.respond(to: $0) ?? .hangUp }
    service.withLock { $0 = server }
  }

  /// The root of the service.
  package var root: URL { service.withLock { $0?.url ?? URL(filePath: "/") }.appending(path: "service/") }

  /// The bodies that were accepted, in order.
  package var accepted: [String] { state.withLock { $0.accepted } }
  /// The requests for a token: their methods.
  package var fetches: [String] { state.withLock { $0.fetches } }
  /// The number of times that each body was sent.
  package var sent: [String: Int] { state.withLock { $0.sent } }

  private func respond(to request: LoopbackRequest) -> Reply {
    let token = request.fields["X-CSRF-Token"]
    let cookie = request.fields[.cookie]
    return state.withLock { state in
      guard request.method == .post else {
        state.fetches.append(request.method.rawValue)
        if rules.fetchesChangeToken { startToken(&state) }
        return response(.text("").with("X-CSRF-Token", "token-\(state.token)"), cookie, state)
      }
      let body = request.text
      state.sent[body, default: 0] += 1
      state.arrived += 1
      if state.arrived == rules.together { allArrived.open() }
      guard token == "token-\(state.token)", cookie == "session=\(state.session)" else {
        let refusal = Reply.text("no", status: .forbidden).with("X-CSRF-Token", "Required")
        return response(refusal, cookie, state).held(by: allArrived)
      }
      state.accepted.append(body)
      state.writesLeft -= 1
      var reply = Reply.text("written", status: .created)
      if state.writesLeft == 0 {
        if rules.endsSessions { state.session += 1 }
        startToken(&state)
        if rules.returnsTokens { reply = reply.with("X-CSRF-Token", "token-\(state.token)") }
      }
      return (rules.returnsTokens ? response(reply, cookie, state) : reply).held(by: allArrived)
    }
  }

  private func startToken(_ state: inout State) {
    state.token += 1
    state.writesLeft = rules.writesPerToken
  }

  /// Sets the cookie of the session for a client that has another one.
  private func response(_ reply: Reply, _ cookie: String?, _ state: State) -> Reply {
    let current = "session=\(state.session)"
    return cookie == current ? reply : reply.with(.setCookie, current + "; Path=/; HttpOnly")
  }
}
