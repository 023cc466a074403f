import Foundation
import MartletEngine

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What of a task changes.
struct TaskState {
  enum Phase {
    /// Not begun.
    case idle
    case running
    /// Begun, and held up.
    case held
    case over
  }

  /// What ``SAPURLSessionTask/resume()`` has to do.
  enum Resumption {
    case start
    case release([AnswerGate<Void>])
    case nothing
  }

  var phase = Phase.idle
  var isCancelled = false
  /// The work, and what comes after it.
  var work: Task<Void, Never>?
  var waiting: [AnswerGate<Void>] = []
  /// Where the results go; gone when they went there.
  var delivery: Delivery
  var isDownload = false
  var location: URL?
  var sent: URLRequest?
  var response: URLResponse?
  /// Whether the response came without the network.
  var isAnsweredLocally = false
  /// What the task is called in the logs of servers.
  var correlationID: String?
  var error: (any Error)?
  var backing: URLSessionTask?
  /// Whether the next attempt only follows a redirect.
  var followsRedirect = false
  var counts = ByteCounts()
  var metrics: [TransferMetrics] = []
  var progress: Progress?
  var priority: Float = 0.5
  var description: String?
  var earliestBeginDate: Date?
  var resumption: DownloadResumption?
  var resumeHandlers: [@Sendable (Data?) -> Void] = []

  init(_ delivery: Delivery) { self.delivery = delivery }

  struct ByteCounts {
    var sent: Int64 = 0
    var received: Int64 = 0
    var expectedToSend: Int64 = 0
    var expectedToReceive: Int64 = -1
  }

  mutating func resume() -> Resumption {
    switch phase {
    case .idle:
      phase = .running
      return .start
    case .held:
      phase = .running
      defer { waiting = [] }
      return .release(waiting)
    case .running, .over: return .nothing
    }
  }

  /// A gate to wait at, as long as the task is held up.
  mutating func hold() -> AnswerGate<Void>? {
    guard phase == .held else { return nil }
    let gate = AnswerGate<Void>()
    waiting.append(gate)
    return gate
  }
}
