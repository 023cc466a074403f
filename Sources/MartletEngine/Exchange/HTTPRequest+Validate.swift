import MartletSemantics

extension HTTPRequest {
  /// Refuses what no transport should see: a target that is no http or https URL, a field that was refused, a body
  /// whose length makes no sense.
  func validate() throws(HTTPError) {
    guard let scheme = url.scheme else {
      throw .invalid("the URL '\(url.redacted)' has no scheme: use http or https")
    }
    guard ASCII.equalIgnoringCase(scheme, "http") || ASCII.equalIgnoringCase(scheme, "https") else {
      throw .invalid("the URL '\(url.redacted)' has the scheme '\(scheme)': use http or https")
    }
    guard let host = url.host(percentEncoded: false), !host.isEmpty else {
      throw .invalid("the URL '\(url.redacted)' names no host")
    }
    guard Origin(url) != nil else { throw hasNoOrigin }
    if let refusal = fields.refusal { throw HTTPError(wrapping: refusal) }
    if let length = body.length, length < 0 {
      throw .invalid("the request's body has the length \(length)")
    }
  }
}

extension HTTPRequest {
  /// The error of a request whose URL has no ``Origin``: nobody could tell whom to connect to, and what belongs to whom.
  package var hasNoOrigin: HTTPError { .invalid("the URL '\(url.redacted)' has no usable host and port") }
}

extension HTTPError {
  fileprivate static func invalid(_ message: String) -> HTTPError {
    HTTPError(.invalidRequest, message, phase: .preparing)
  }
}
