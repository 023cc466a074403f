public import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The phases of an attempt with their lengths: the differences between the transport's measurements.
@_spi(Toolkit) public struct Phases: Sendable, Sequence {
  /// A phase: its name, when it began in the attempt, and how long it took.
  public struct Phase: Sendable, Hashable {
    public let name: String
    public let start: Duration
    public let length: Duration
  }

  private let phases: [Phase]

  /// - Parameter failure: the phase in which the attempt failed; its last bar belongs to this phase.
  public init(_ metrics: TransferMetrics, failedWhile failure: HTTPError.Phase? = nil) {
    self.init([
      ("queue", metrics.queued), ("DNS", metrics.nameLookup), ("connect", metrics.connect),
      ("TLS", metrics.secureConnect), ("request", metrics.requestStart), ("wait", metrics.firstByte),
      (metrics.firstByte > .zero ? "receive" : Self.name(of: failure ?? Self.lastPhase(of: metrics)), metrics.total),
    ])
  }

  /// The phases of an archive's entry.
  public init(_ timings: HAR.Timings) {
    var ends: [(String, Duration)] = []
    var end = 0.0
    func add(_ name: String, _ length: Double) {
      end += Swift.max(0, length)
      ends.append((name, .milliseconds(end)))
    }
    add("queue", timings.blocked)
    add("DNS", timings.dns)
    add("connect", timings.connect - Swift.max(0, timings.ssl))
    add("TLS", timings.ssl)
    add("request", timings.send)
    add("wait", timings.wait)
    add("receive", timings.receive)
    self.init(ends)
  }

  private init(_ ends: [(String, Duration)]) {
    var phases: [Phase] = []
    var last = Duration.zero
    for (name, end) in ends where end > last {
      phases.append(Phase(name: name, start: last, length: end - last))
      last = end
    }
    self.phases = phases
  }

  /// The phase in which an attempt without a response ended, as far as its measurements tell.
  private static func lastPhase(of metrics: TransferMetrics) -> HTTPError.Phase {
    metrics.requestStart > .zero ? .waiting : metrics.connect > .zero ? .securing : .connecting
  }

  /// The name of the phase in which an attempt failed.
  static func name(of failure: HTTPError.Phase) -> String {
    switch failure {
    case .queued: "queue"
    case .resolving: "DNS"
    case .connecting: "connect"
    case .securing: "TLS"
    case .sending: "request"
    case .waiting: "wait"
    case .preparing, .receiving: "receive"
    @unknown default: "receive"
    }
  }

  /// The name and the length of each phase, such as `wait 34 ms`.
  public var texts: [String] { phases.map { "\($0.name) \(Quantity.text($0.length))" } }

  public func makeIterator() -> some IteratorProtocol<Phase> { phases.makeIterator() }
}

/// The drawing of attempts over time: bars, one for each phase, and their colors.
@_spi(Toolkit) public enum Waterfall {
  /// A bar, in milliseconds since the same moment as the attempt's start.
  public struct Bar: Sendable, Hashable, Encodable {
    /// The class of its style: the name of a phase in lower case, `cache`, or `delay`.
    public let style: String
    public let title: String
    public let start: Double
    public let length: Double

    init(_ style: String, _ title: String, from start: Double, length: Double) {
      (self.style, self.title, self.start, self.length) = (style, title, start, length)
    }
  }

  /// An attempt as it is drawn.
  public struct Attempt: Sendable {
    var start: Duration
    var end: Duration
    var wasSent: Bool
    var metrics: TransferMetrics?
    /// When the request reached the network; nil if that is not known, or the attempt's start.
    var sendingTime: Duration?
    /// When the head of the response arrived.
    var headTime: Duration?
    /// The phase in which it failed.
    var failure: HTTPError.Phase?

    public init(
      start: Duration, end: Duration, wasSent: Bool, metrics: TransferMetrics?, sendingTime: Duration? = nil,
      headTime: Duration?, failure: HTTPError.Phase?
    ) {
      (self.start, self.end, self.wasSent, self.sendingTime) = (start, end, wasSent, sendingTime)
      (self.metrics, self.headTime, self.failure) = (metrics, headTime, failure)
    }
  }

  public static func bars(_ attempt: Attempt) -> [Bar] {
    guard attempt.wasSent else {
      let start = attempt.start.inMilliseconds
      let title = attempt.headTime == nil ? "not sent" : "answered without the network"
      return [Bar("cache", title, from: start, length: attempt.end.inMilliseconds - start)]
    }
    let sending = attempt.sendingTime ?? attempt.start
    let start = sending.inMilliseconds
    let delay = delay(from: attempt.start, to: sending, "before the request was sent, for another call or a limit")
    guard let metrics = attempt.metrics else {
      // The body was not read to its end, so the transport measured nothing.
      let end = (attempt.headTime ?? attempt.end).inMilliseconds
      let title = attempt.headTime == nil ? "no response" : "until the head of the response"
      let style = attempt.headTime == nil ? Phases.name(of: attempt.failure ?? .waiting).lowercased() : "wait"
      return delay + [Bar(style, title, from: start, length: end - start)]
    }
    return delay + bars(Phases(metrics, failedWhile: attempt.failure), from: start)
  }

  /// The bar of a time in which nothing was sent; none for less than a millisecond, which every call takes.
  public static func delay(from start: Duration, to end: Duration, _ reason: String) -> [Bar] {
    let length = end - start
    guard length >= .milliseconds(1) else { return [] }
    return [
      Bar("delay", "\(Quantity.text(length)) \(reason)", from: start.inMilliseconds, length: length.inMilliseconds)
    ]
  }

  /// The bars of phases that begin at this time, in milliseconds.
  public static func bars(_ phases: Phases, from start: Double) -> [Bar] {
    phases.map { phase in
      Bar(
        phase.name.lowercased(), "\(phase.name) \(Quantity.text(phase.length))",
        from: start + phase.start.inMilliseconds, length: phase.length.inMilliseconds)
    }
  }

  /// The names of all bars, in the order of the legend.
  public static let legend = ["delay", "queue", "DNS", "connect", "TLS", "request", "wait", "receive", "cache"]

  /// The colors have enough contrast on light and dark backgrounds (WCAG 2.2 §1.4.11). Without colors, the order of the
  /// phases, their titles and the numbers express the same.
  public static let style = """
    :root { color-scheme: light dark; --ground: #fff; --text: #1c1e21; --dim: #5d6470; --line: #dfe2e7; --row: #f5f6f8;
      --queue: #8a8f98; --dns: #0e7c86; --connect: #c2680a; --tls: #8e44ad; --request: #2b6cb0; --wait: #2f855a;
      --receive: #1d6fd8; --cache: #b08900; --good: #1f7a45; --notice: #8a5a00; --bad: #b3261e; }
    @media (prefers-color-scheme: dark) {
      :root { --ground: #16181c; --text: #e6e8eb; --dim: #9aa1ac; --line: #33373e; --row: #1f2227;
        --queue: #8d939d; --dns: #37b3bd; --connect: #e7963b; --tls: #bb86d6; --request: #6aa5e3; --wait: #58b981;
        --receive: #5b9bf0; --cache: #d6b13c; --good: #62c48b; --notice: #e0b04a; --bad: #f08a83; }
    }
    .bars { position: relative; height: 1.1rem; border-left: 1px solid var(--line); border-right: 1px solid var(--line); }
    .bars i { position: absolute; top: .1rem; height: .9rem; border-radius: 2px; }
    .delay { background: repeating-linear-gradient(135deg, var(--queue) 0 2px, transparent 2px 5px); }
    .queue { background: var(--queue); } .dns { background: var(--dns); } .connect { background: var(--connect); }
    .tls { background: var(--tls); } .request { background: var(--request); } .wait { background: var(--wait); }
    .receive { background: var(--receive); } .cache { background: var(--cache); }
    .legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin-right: .35rem;
      vertical-align: -1px; }
    .good { color: var(--good); } .notice { color: var(--notice); } .bad { color: var(--bad); }
    """
}
