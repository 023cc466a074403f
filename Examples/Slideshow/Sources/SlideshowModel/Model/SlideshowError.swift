package import MartletSemantics

/// An error of loading the slideshow.
package enum SlideshowError: Error, Sendable, Hashable {
  /// No URL is configured: not in the property list at that path or, if none is given, neither in an option nor in an
  /// environment variable.
  case noUrlDefinedInInfoPropertyList(SlideshowConfiguration.Key, file: String? = nil)
  /// There is no readable property list at that path.
  case unreadableInfoPropertyList(file: String, reason: String)
  /// The configured value cannot be used.
  case invalidURL(SlideshowConfiguration.Key, value: String, reason: String)
  /// The response has an unexpected status.
  case unexpectedStatusCode(Int, URL)
  /// The response is not a slideshow; the field is the one that could not be decoded.
  case slideshowDataDecodingError(URL, field: String, reason: String)
  /// The service could not be reached.
  case serviceDown(URL, reason: String)
  /// The call failed for another reason, such as a certificate, a redirect or a body without an end.
  case transferFailed(URL, reason: String)
  /// The task was cancelled.
  case cancelled
}

extension SlideshowError {
  /// Whether the service could not be reached.
  package var meansServiceIsDown: Bool {
    if case .serviceDown = self { true } else { false }
  }
}

extension SlideshowError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .noUrlDefinedInInfoPropertyList(let key, nil):
      "no URL is defined for \(key.rawValue): pass \(key.option) URL, or set the environment variable \(key.rawValue)"
    case .noUrlDefinedInInfoPropertyList(let key, let file?):
      "no URL is defined for \(key.rawValue) in \(file): add a string for that key, or pass \(key.option) URL"
    case .unreadableInfoPropertyList(let file, let reason):
      "\(file) cannot be used as property list: \(reason)"
    case .invalidURL(let key, let value, let reason):
      "'\(value)' cannot be used as \(key.rawValue): \(reason)"
    case .unexpectedStatusCode(let code, let url):
      "\(url.shown) answered with status \(HTTPStatus(code)), expected a 2xx: check the path in "
        + "\(SlideshowConfiguration.Key.service.option), and the log of the web service"
    case .slideshowDataDecodingError(let url, let field, let reason):
      "\(url.shown) is not a slideshow: \(field): \(reason); expected "
        + #"{"title": "…", "slides": [{"id": 10, "file": "sunset-10.jpeg"}]}"#
    case .serviceDown(let url, let reason):
      "nobody answers at \(url.shown): check if the web service is running (\(reason))"
    case .transferFailed(let url, let reason):
      "\(url.shown) could not be fetched: \(reason)"
    case .cancelled: "the request was cancelled"
    }
  }
}

extension URL {
  /// The URL in a form for display: without user information.
  var shown: String {
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "an unreadable URL" }
    parts.user = nil
    parts.password = nil
    return parts.string ?? "an unreadable URL"
  }
}
