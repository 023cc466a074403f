import Foundation
import Martlet
import MartletTesting
import Synchronization

/// The server of the fleet's requests. It counts them.
final class Origin: Sendable {
  private let server: LoopbackServer
  private let state: Seen
  /// Holds the processes until all have arrived.
  private let start = Gate()
  /// Holds the first response forever; it is for a process that is killed.
  private let first = Gate()

  /// The time that the origin takes for a response.
  static let delay: UInt32 = 50_000

  /// - Parameter holdsFirst: whether the first request gets no response.
  init(processes: Int, holdsFirst: Bool = false) throws {
    let state = Seen()
    self.state = state
    let (start, first) = (start, first)
    server = try LoopbackServer(recording: .nothing) { request in
      if request.path == "/start" {
        if state.arrive(processes) { start.open() }
        return Reply().held(by: start)
      }
      let number = state.count(request.path, from: request.fields["X-Process"].flatMap { Int($0) })
      if request.path.hasPrefix("/token/") {
        usleep(Self.delay)
        return Reply(content: Data("\(number)".utf8))
      }
      var reply = Reply(fields: ["Cache-Control": "max-age=1, stale-if-error=60"], content: content(of: request.path))
      if request.path.hasPrefix("/api/") { return reply }
      if request.path == "/cold" { reply.fields["Cache-Control"] = "max-age=60" }
      if holdsFirst, number == 1 { return reply.held(by: first) }
      usleep(Self.delay)
      return reply
    }
  }

  deinit { first.open() }

  var url: URL { server.url }

  var count: Int { state.arrivals.count }

  /// The number of the process whose request came first.
  var firstProcess: Int? { state.firstProcess }

  /// The times at which requests arrived, in seconds.
  var arrivals: [Double] { state.arrivals }

  /// The number of refresh tokens that came more than once.
  var reusedTokens: Int { state.paths.filter { $0.key.hasPrefix("/token/") && $0.value > 1 }.count }

  var renewals: Int { state.paths.filter { $0.key.hasPrefix("/token/") }.values.reduce(0, +) }

  /// The observations of the connections' threads.
  private final class Seen: Sendable {
    private struct State {
      var waiting = 0
      var arrivals: [Double] = []
      var paths: [String: Int] = [:]
      var tokens = 0
      var firstProcess: Int?
    }

    private let state = Mutex(State())
    private let begin = ContinuousClock.now

    var arrivals: [Double] { state.withLock { $0.arrivals } }
    var paths: [String: Int] { state.withLock { $0.paths } }
    var firstProcess: Int? { state.withLock { $0.firstProcess } }

    /// Returns whether all have arrived.
    func arrive(_ processes: Int) -> Bool {
      state.withLock {
        $0.waiting += 1
        return $0.waiting >= processes
      }
    }

    /// Returns the number of the request; for a token, the number among all requests for tokens.
    func count(_ path: String, from process: Int?) -> Int {
      let time = (ContinuousClock.now - begin) / .seconds(1)
      return state.withLock { state in
        if state.arrivals.isEmpty { state.firstProcess = process }
        state.arrivals.append(time)
        state.paths[path, default: 0] += 1
        if path.hasPrefix("/token/") { state.tokens += 1 }
        return path.hasPrefix("/token/") ? state.tokens : state.arrivals.count
      }
    }
  }
}
