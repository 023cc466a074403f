public import MartletSemantics

/// The statuses that a caller expects of a response. Any other is an error of kind
/// ``HTTPError/Kind/unexpectedResponse`` with the head, and with the first 64 KiB of the body in ``HTTPError/body``.
///
/// ```swift
/// let (data, _) = try await session.data(for: request, expecting: .successful)
/// let response = try await session.download(for: request, to: file, expecting: .only([.ok, .notModified]))
/// ```
///
/// Pass it to the verb, or set it in ``RequestOptions/expecting`` for a request or for all requests of a session. It
/// applies to the final response, after redirects and retries.
public struct StatusExpectation: Sendable, Hashable {
  private enum Rule: Sendable, Hashable {
    case any
    case successful
    case only(Set<HTTPStatus>)
  }

  private let rule: Rule

  /// Any status: the caller checks it.
  public static let any = StatusExpectation(rule: .any)
  /// Any 2xx.
  public static let successful = StatusExpectation(rule: .successful)
  /// One of these.
  public static func only(_ statuses: Set<HTTPStatus>) -> StatusExpectation {
    StatusExpectation(rule: .only(statuses))
  }

  /// Whether the status is expected.
  public func accepts(_ status: HTTPStatus) -> Bool {
    switch rule {
    case .any: true
    case .successful: status.isSuccessful
    case .only(let statuses): statuses.contains(status)
    }
  }
}

extension RequestOptions {
  /// Whether the caller expects the status; true without an expectation.
  func accepts(_ status: HTTPStatus) -> Bool { expecting?.accepts(status) ?? true }
}

extension HTTPRequest {
  /// Returns the request with this expectation; without one, unchanged.
  func expecting(_ expectation: StatusExpectation?) -> HTTPRequest {
    guard let expectation else { return self }
    var request = self
    request.options.expecting = expectation
    return request
  }
}
