import MartletSemantics

extension Event: CustomStringConvertible {
  /// What happened, without secrets.
  public var description: String {
    switch self {
    case .started(let request): "started: \(request)"
    case .attempt(let number, let request): "attempt \(number): \(request)"
    case .sending(let head): "sending: \(head)"
    case .informational(let head): "informational response: \(head)"
    case .progress(let progress):
      "\(progress.direction) \(progress.completed)" + (progress.total.map { " of \($0)" } ?? "") + " bytes"
    case .bytes(let bytes, let direction, let attempt): "\(direction) \(bytes.count) bytes in attempt \(attempt)"
    case .response(let head, let url): "response from \(url.redacted): \(head)"
    case .metrics(let metrics): "measured: \(metrics)"
    case .resend(_, let delay, let reason): "again after \(delay): \(reason)"
    case .cookieRefused(let refusal): "\(refusal)"
    case .note(let text): text
    case .finished(let error): error.map { "finished: \($0)" } ?? "finished"
    }
  }
}
