public import Foundation

/// What SAP's documentation calls the errors of the session and its observers.
///
/// A task fails with one of these, with exactly the error that an observer gave, or with a `URLError` whose
/// `underlyingHTTPError` is the engine's.
public enum SAPURLSessionError: Error, Sendable, Hashable {
  /// The request cannot be sent: it has no URL, or its body cannot be had.
  case invalidRequest
  /// The method does not fit what is asked for.
  case unexpectedHTTPMethod
  /// The session was invalidated, or does not exist any more.
  case invalidURLSession
  /// No CSRF token was received; the text says from where, where that is known. (The spelling is SAP's.)
  case failedToRetriveCSRFToken(String?)
}

extension SAPURLSessionError: CustomStringConvertible, CustomDebugStringConvertible, LocalizedError {
  /// The error in a few words.
  public var description: String {
    switch self {
    case .invalidRequest: "The request cannot be sent."
    case .unexpectedHTTPMethod: "Wrong HTTP method."
    case .invalidURLSession: "Not existing instance: the session was invalidated."
    case .failedToRetriveCSRFToken: "No CSRF token received."
    }
  }

  /// The name of the case, and what it carries.
  public var debugDescription: String {
    switch self {
    case .invalidRequest: "SAPURLSessionError.invalidRequest"
    case .unexpectedHTTPMethod: "SAPURLSessionError.unexpectedHTTPMethod"
    case .invalidURLSession: "SAPURLSessionError.invalidURLSession"
    case .failedToRetriveCSRFToken(let detail): "SAPURLSessionError.failedToRetriveCSRFToken(\(detail ?? "nil"))"
    }
  }

  /// The description.
  public var errorDescription: String? { description }

  /// What to do about it.
  public var failureReason: String? {
    switch self {
    case .invalidRequest: "Check the request's URL, and the stream or file that is its body."
    case .unexpectedHTTPMethod: "Check the request's method."
    case .invalidURLSession: "Make a new session: one that was invalidated starts no tasks."
    case .failedToRetriveCSRFToken(let detail): detail ?? "The server sent no token. Check the URL and the credentials."
    }
  }
}
