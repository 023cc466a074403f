import Testing

@testable import MartletSockets

/// The use and reuse of a connection (RFC 9112 §9).
@Suite(.timeLimit(.minutes(5)))
struct HTTP1ConnectionStateTests {
  typealias Action = HTTP1ConnectionState.Action

  /// A state in which a request was completely sent, after others were served.
  private func busy(after served: Int = 0, closesAfterwards: Bool = false) -> HTTP1ConnectionState {
    var state = HTTP1ConnectionState()
    for index in 0...served {
      #expect(state.beginRequest(closesAfterwards: closesAfterwards && index == served) == true)
      state.sentBytes()
      state.sentRequest()
      guard index < served else { break }
      #expect(state.receivedBytes() == .none)
      #expect(state.receivedHead(status: 200) == .none)
      #expect(state.receivedEnd(keepsConnection: true, hasExcess: false) == .reuse)
    }
    return state
  }

  @Test func oneRequestFollowsAnother() {
    var state = busy(after: 2)
    #expect(state.beginRequest() == false)
    #expect(state.receivedBytes() == .none)
    #expect(state.receivedHead(status: 404) == .none)
    #expect(state.receivedEnd(keepsConnection: true, hasExcess: false) == .reuse)
    #expect(state.servedCount == 3)
    #expect(state.beginRequest() == true)
  }

  // §9.3, §9.6; bytes after a response do not belong to the next one.
  @Test(arguments: [(false, false, false), (true, true, false), (true, false, true)])
  func aConnectionEndsWithAResponseThatSaysSo(_ keeps: Bool, hasExcess: Bool, closesAfterwards: Bool) {
    var state = busy(closesAfterwards: closesAfterwards)
    #expect(state.receivedHead(status: 200) == .none)
    #expect(state.receivedEnd(keepsConnection: keeps, hasExcess: hasExcess) == .close)
    #expect(state.beginRequest() == false)
  }

  // §9.2, §9.5.
  @Test func whateverComesOnAnIdleConnectionEndsIt() {
    var bytes = HTTP1ConnectionState()
    #expect(bytes.receivedBytes() == .close)
    var unsent = HTTP1ConnectionState()
    #expect(unsent.beginRequest() == true)
    #expect(unsent.loss == .unsent)
    #expect(unsent.receivedBytes() == .close)
    #expect(unsent.receivedBytes() == .none)
  }

  // §9.3.1.
  @Test func aConnectionThatWasOpenForSomeTimeMayBeStaleAtItsFirstRequest() {
    for wasOpen in [false, true] {
      var state = HTTP1ConnectionState()
      #expect(state.beginRequest(wasOpen: wasOpen) == true)
      state.sentBytes()
      #expect(state.loss == (wasOpen ? .stale : .unknown))
    }
  }

  // RFC 9110 §10.1.1, RFC 9112 §9.5.
  @Test(arguments: [(200, Action.none), (299, .none), (300, .stopSending), (413, .stopSending), (500, .stopSending)])
  func anErrorStopsTheBodyAndASuccessDoesNot(_ status: Int, action: Action) {
    var state = HTTP1ConnectionState()
    #expect(state.beginRequest() == true)
    state.sentBytes()
    #expect(state.receivedBytes() == .none)
    #expect(state.receivedHead(status: status) == action)
    var sent = state
    sent.sentRequest()
    #expect(
      sent.receivedEnd(keepsConnection: true, hasExcess: false) == (action == .none ? .reuse : .close))
    #expect(state.receivedEnd(keepsConnection: true, hasExcess: false) == .close)
  }

  // RFC 9110 §10.1.1.
  @Test func aFinalResponseInsteadOf100MeansThatTheBodyIsNotSent() {
    var state = HTTP1ConnectionState()
    #expect(state.beginRequest() == true)
    state.sentBytes()
    #expect(state.heldBody() == .none)
    #expect(state.receivedBytes() == .none)
    var continued = state
    continued.continueBody()
    continued.sentRequest()
    #expect(continued.receivedHead(status: 200) == .none)
    #expect(continued.receivedEnd(keepsConnection: true, hasExcess: false) == .reuse)

    #expect(state.receivedHead(status: 200) == .stopSending)
    let stopped = state
    state.continueBody()
    #expect(state == stopped)
    #expect(state.receivedEnd(keepsConnection: true, hasExcess: false) == .close)
  }

  @Test func aResponseIsReadAfterSendingHasFailed() {
    var state = HTTP1ConnectionState()
    #expect(state.beginRequest() == true)
    state.sentBytes()
    #expect(state.sendingFailed() == .stopSending)
    #expect(state.receivedBytes() == .none)
    #expect(state.receivedHead(status: 413) == .none)
    #expect(state.receivedEnd(keepsConnection: true, hasExcess: false) == .close)
    var unsent = HTTP1ConnectionState()
    #expect(unsent.beginRequest() == true)
    #expect(unsent.sendingFailed() == .close)
  }

  // §9.3.1.
  @Test func aLossSaysWhetherTheRequestMayBeSentAgain() {
    #expect(busy().loss == .unknown)
    var state = busy(after: 1)
    #expect(state.loss == .stale)
    #expect(state.receivedBytes() == .none)
    #expect(state.loss == .unknown)
    #expect(HTTP1ConnectionState().loss == .unknown)
  }

  @Test func anUpgradedConnectionIsHandedOver() {
    var state = busy()
    #expect(state.receivedHead(status: 101) == .none)
    #expect(state.receivedEnd(keepsConnection: false, hasUpgraded: true, hasExcess: true) == .handOver)
    #expect(state.receivedBytes() == .none)
    #expect(state.beginRequest() == false)
  }

  /// Every sequence of eight reports that change something: a connection is reused only after a complete request and a
  /// complete response.
  @Test func noOrderOfReportsMakesAConnectionReusableTooEarly() {
    var reused = 0
    func explore(_ state: HTTP1ConnectionState, _ trace: [Report], isClosed: Bool = false) {
      guard trace.count < 8 else { return }
      for report in Report.allCases {
        var next = state
        let action = report.apply(to: &next)
        let trace = trace + [report]
        if isClosed, action != .none || next != state { Issue.record("a closed connection acts: \(trace)") }
        if action == .reuse {
          reused += 1
          checkReuse(after: trace)
        } else if next != state {
          explore(next, trace, isClosed: action == .close)
        }
      }
    }
    explore(HTTP1ConnectionState(), [])
    #expect(reused > 0)
  }

  private func checkReuse(after trace: [Report]) {
    let steps: [Report] = [.begin, .bytesSent, .requestSent, .end]
    let places = steps.map { trace.firstIndex(of: $0) ?? .max }
    if places != places.sorted() || places.last != trace.count - 1 { Issue.record("reused too early: \(trace)") }
    if !trace.contains(.head), !trace.contains(.error) { Issue.record("reused without a head: \(trace)") }
    if trace.contains(.sendingFailed) { Issue.record("reused after a loss: \(trace)") }
  }
}

private enum Report: CaseIterable {
  case begin, bytesSent, held, continued, requestSent, sendingFailed, bytesReceived, head, error, end

  func apply(to state: inout HTTP1ConnectionState) -> HTTP1ConnectionState.Action {
    switch self {
    case .begin: _ = state.beginRequest()
    case .bytesSent: state.sentBytes()
    case .held: return state.heldBody()
    case .continued: state.continueBody()
    case .requestSent: state.sentRequest()
    case .sendingFailed: return state.sendingFailed()
    case .bytesReceived: return state.receivedBytes()
    case .head: return state.receivedHead(status: 200)
    case .error: return state.receivedHead(status: 500)
    case .end: return state.receivedEnd(keepsConnection: true, hasExcess: false)
    }
    return .none
  }
}
