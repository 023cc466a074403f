@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// Measures the run's first call, for `--meta` and `--write-out`.
final class FirstCallMeter: EventListener {
  /// What was measured until now.
  struct Measurements: Sendable {
    /// The measurements of the last attempt.
    var attempt = TransferMetrics()
    /// The last response, and the URL that it came from.
    var response: ResponseHead?
    /// The status of the last attempt; nil until it has a response.
    var status: HTTPStatus?
    var url: URL?
    var method: HTTPMethod?
    var redirects = 0
    /// Until the last redirect was followed.
    var redirectTime = Duration.zero
    /// The time of the whole call.
    var total = Duration.zero
  }

  private let stopwatch: Stopwatch
  private let state = Mutex<(call: UInt64?, measurements: Measurements)>((nil, Measurements()))

  init(clock: any Clock<Duration>) { stopwatch = Stopwatch(clock) }

  var measurements: Measurements { state.withLock { $0.measurements } }

  var events: Event.Kinds { [.started, .attempt, .response, .resend, .metrics, .finished] }

  func receive(_ event: Event, in call: Call) {
    let time = stopwatch.elapsed
    state.withLock { state in
      if state.call == nil { state.call = call.id }
      guard state.call == call.id else { return }
      Self.note(event, at: time, in: &state.measurements)
    }
  }

  private static func note(_ event: Event, at time: Duration, in measurements: inout Measurements) {
    switch event {
    case .attempt(_, let request):
      (measurements.url, measurements.method, measurements.status) = (request.url, request.method, nil)
    case .response(let head, let url):
      (measurements.response, measurements.url, measurements.status) = (head, url, head.status)
    case .resend where measurements.status?.class == .redirection:
      measurements.redirects += 1
      measurements.redirectTime = time
    case .metrics(let metrics): measurements.attempt = metrics
    case .finished: measurements.total = time
    default: break
    }
  }
}

extension FirstCallMeter.Measurements {
  /// The lines of `--meta`.
  var lines: String {
    let elapsed = attempt.total > .zero ? attempt.total : total
    var text = "Elapsed time: \(Self.seconds(elapsed))s\n"
    if let address = attempt.remoteAddress {
      let host = address.contains(":") ? "[\(address)]" : address
      text += "Remote address: \(host)\(attempt.remotePort.map { $0 > 0 ? ":\($0)" : "" } ?? "")\n"
    }
    return text
  }

  /// A time in seconds with six digits after the point.
  static func seconds(_ duration: Duration) -> String {
    let microseconds = max(
      0, duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000)
    return "\(microseconds / 1_000_000).\((microseconds % 1_000_000).digits(6))"
  }
}
