import Martlet

/// The rule that plain http must not leave this computer.
enum PlainHTTP {
  static let refusal =
    "plain http is for this computer only (localhost, 127.0.0.1, ::1): "
    + "use https, or pass --allow-insecure"

  static func isAllowed(for url: URL) -> Bool {
    guard url.scheme?.lowercased() == "http" else { return true }
    let host = (url.host ?? "").lowercased()
    return ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host)
  }

  /// Applies the rule to every attempt, including those after a redirect.
  struct Guard: Interceptor {
    func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
      guard PlainHTTP.isAllowed(for: request.url) else {
        throw HTTPError(.invalidRequest, "the way led to \(request.url.shown), and \(PlainHTTP.refusal)")
      }
      return .send(request)
    }
  }
}
