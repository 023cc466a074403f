@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletObservation
@_spi(Toolkit) import MartletSemantics

/// Writes each event as one line of JSON on standard error, for programs: `--events`.
///
/// Every line has `ms`, the time since the run began in milliseconds, `call`, the number of the call, and `event`.
struct EventLines: EventListener {
  let output: any Output
  let redaction: Redaction
  let stopwatch: Stopwatch

  init(to output: any Output, redaction: Redaction, clock: any Clock<Duration>) {
    (self.output, self.redaction) = (output, redaction)
    stopwatch = Stopwatch(clock)
  }

  func receive(_ event: Event, in call: Call) {
    guard let members = members(event) else { return }
    let all: [(String, String)] = [("ms", Self.number(stopwatch.elapsed)), ("call", "\(call.id)")] + members
    let line = all.map { "\(JSONSyntax.quoted($0.0)):\($0.1)" }.joined(separator: ",")
    do throws(OutputError) { try output.write("{\(line.escapedForTerminal)}\n") } catch {}
  }

  private func members(_ event: Event) -> [(String, String)]? {
    switch event {
    case .started(let request): return named("started", head(request.head))
    case .attempt(let number, let request): return named("attempt", [("number", "\(number)")] + head(request.head))
    case .sending(let head): return named("sending", self.head(head) + [("fields", fields(head.fields))])
    case .written(let head):
      let target = text("target", redaction.redacted(reference: head.target))
      return named(
        "written",
        [text("method", head.method.rawValue), target, text("version", head.version.rawValue)]
          + [("fields", fields(head.fields))])
    case .informational(let head): return named("informational", self.head(head))
    case .progress(let progress):
      let total = progress.total.map { [("total", "\($0)")] } ?? []
      return named(
        "progress", [text("direction", "\(progress.direction)"), ("bytes", "\(progress.completed)")] + total)
    case .bytes: return nil
    case .message(let message): return named("message", [text("text", "\(message)")])
    case .response(let head, let url):
      return named("response", [text("url", redaction.redacted(url))] + self.head(head))
    case .metrics(let metrics): return named("metrics", self.metrics(metrics))
    case .resend(let request, let delay, let reason, _):
      return named("resend", [("delay", Self.number(delay)), text("reason", reason)] + head(request.head))
    case .cookieRefused(let refusal): return named("cookieRefused", [text("reason", "\(refusal)")])
    case .cookiesStored(let names):
      return named("cookiesStored", [("names", "[\(names.map(JSONSyntax.quoted).joined(separator: ","))]")])
    case .cacheDecision(let decision):
      return named(
        "cacheDecision",
        [text("action", decision.action.rawValue), text("reason", decision.reason), text("rule", decision.rule)])
    case .cached(let source): return named("cached", [text("source", source.rawValue)])
    case .limit(let limit): return named("limit", [text("text", "\(limit)")])
    case .note(let note): return named("note", [text("text", note)])
    case .finished(let error):
      return named("finished", error.map { [text("error", $0.kind.name), text("message", $0.message)] } ?? [])
    @unknown default: return nil
    }
  }

  private func named(_ name: String, _ members: [(String, String)]) -> [(String, String)] {
    [text("event", name)] + members
  }

  private func text(_ name: String, _ value: String) -> (String, String) { (name, JSONSyntax.quoted(value)) }

  private func head(_ head: RequestHead) -> [(String, String)] {
    [text("method", head.method.rawValue), text("url", redaction.redacted(head.url))]
  }

  private func head(_ head: ResponseHead) -> [(String, String)] {
    [("status", "\(head.status.code)"), ("fields", fields(head.fields))]
      + (head.version.map { [text("version", $0.rawValue)] } ?? [])
  }

  private func fields(_ fields: HTTPFields) -> String {
    let pairs = redaction.redacted(fields).map {
      "[\(JSONSyntax.quoted($0.name.rawName)),\(JSONSyntax.quoted($0.value))]"
    }
    return "[\(pairs.joined(separator: ","))]"
  }

  private func metrics(_ metrics: TransferMetrics) -> [(String, String)] {
    let phases = Phases(metrics).map { "\(JSONSyntax.quoted($0.name)):\(Self.number($0.length))" }
    return [
      ("phases", "{\(phases.joined(separator: ","))}"), ("bytesSent", "\(metrics.bytesSent)"),
      ("bytesReceived", "\(metrics.bytesReceived)"), ("reusedConnection", "\(metrics.reusedConnection)"),
    ] + (metrics.remoteAddress.map { [text("address", $0)] } ?? [])
      + (metrics.tls.map { [text("tls", "\($0)")] } ?? [])
  }

  /// Milliseconds, with at most three decimals.
  private static func number(_ duration: Duration) -> String {
    let microseconds = Int64((duration.inMilliseconds * 1000).rounded())
    let rest = microseconds % 1000
    guard rest > 0 else { return "\(microseconds / 1000)" }
    return "\(microseconds / 1000).\(rest.digits(3))"
  }
}

extension String {
  /// JSON in which the characters of strings are escaped that would control a terminal or change the direction of its
  /// text. JSON has no such characters elsewhere.
  var escapedForTerminal: String {
    guard unicodeScalars.contains(where: Self.isEscaped) else { return self }
    return unicodeScalars.map { Self.isEscaped($0) ? "\\u" + $0.value.digits(4, radix: 16) : String($0) }.joined()
  }

  private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
    (0x7F...0x9F).contains(scalar.value) || scalar.changesDirection
  }
}
