@_spi(Stores) @_spi(Toolkit) public import MartletEngine
import MartletSemantics

/// The errors of the session and its observers that SAP's documentation names.
///
/// A task fails with one of these, with exactly the error that an observer gave, or with a `URLError` whose
/// `underlyingHTTPError` is the engine's.
public enum SAPURLSessionError: Error, Sendable, Hashable {
  /// The request cannot be sent: it has no URL, or its body cannot be read.
  case invalidRequest
  /// The request has an invalid method.
  case unexpectedHTTPMethod
  /// The session was invalidated.
  case invalidURLSession
  /// No CSRF token was received. The text names the source, if that is known. (The spelling is SAP's.)
  case failedToRetriveCSRFToken(String?)
}

extension SAPURLSessionError: SAPError {
  /// The error in a few words.
  public var description: String {
    switch self {
    case .invalidRequest: "The request cannot be sent."
    case .unexpectedHTTPMethod: "Wrong HTTP method."
    case .invalidURLSession: "Not existing instance: the session was invalidated."
    case .failedToRetriveCSRFToken: "No CSRF token received."
    }
  }

  /// The name of the case, and its associated value.
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

  /// The remedy.
  public var failureReason: String? {
    switch self {
    case .invalidRequest: "Check the request's URL, and the stream or file that is its body."
    case .unexpectedHTTPMethod: "Check the request's method."
    case .invalidURLSession: "Make a new session: one that was invalidated starts no tasks."
    case .failedToRetriveCSRFToken(let detail): detail ?? "The server sent no token. Check the URL and the credentials."
    }
  }
}

extension URLError {
  /// The engine's error, with kind, phase and attempts.
  ///
  /// It distinguishes errors that have the same code here, such as a PKCS#12 container that cannot be read
  /// (`.badClientCertificate`) and a wrong password for it (`.badClientCertificatePassword`).
  public var underlyingHTTPError: HTTPError? { userInfo[NSUnderlyingErrorKey] as? HTTPError }

  /// Makes a `URLError` from the engine's error.
  init(_ error: HTTPError) {
    var info: [String: Any] = [NSUnderlyingErrorKey: error, NSLocalizedDescriptionKey: error.message]
    if let url = error.request?.url {
      info[NSURLErrorFailingURLErrorKey] = url
    }
    if let resumption = error.resumption { info[URLError.resumeDataKey] = try? JSONEncoder().encode(resumption) }
    self.init(Self.code(of: error), userInfo: info)
  }

  private static func code(of error: HTTPError) -> URLError.Code {
    switch error.underlying {
    case is NetworkIsDown: .notConnectedToInternet
    case is UnsupportedScheme: .unsupportedURL
    default: codes[error.kind] ?? .unknown
    }
  }

  /// Foundation's key for the resume data of a download.
  static let resumeDataKey = "NSURLSessionDownloadTaskResumeData"

  /// Whether an app can continue a download with the data in this error. If it was cancelled, only the handlers of
  /// ``SAPURLSessionDownloadTask/cancel(byProducingResumeData:)`` get such data.
  var hasResumeData: Bool { code != .cancelled && userInfo[Self.resumeDataKey] != nil }

  /// The codes of all kinds. `.unknown` is for kinds that no code describes.
  static let codes: [HTTPError.Kind: URLError.Code] = [
    .invalidRequest: .badURL, .cancelled: .cancelled, .responseTimeout: .timedOut, .idleTimeout: .timedOut,
    .tooSlow: .timedOut,
    .poolTimeout: .timedOut, .connectTimeout: .timedOut, .deadlineExceeded: .timedOut,
    .cannotResolveHost: .cannotFindHost,
    .cannotConnect: .cannotConnectToHost, .addressRefused: .cannotConnectToHost,
    .concurrencyLimit: .resourceUnavailable, .rateLimited: .resourceUnavailable, .circuitOpen: .resourceUnavailable,
    .proxyFailed: .cannotConnectToHost, .connectionLost: .networkConnectionLost,
    .protocolViolation: .badServerResponse, .untrustedCertificate: .serverCertificateUntrusted,
    .pinMismatch: .serverCertificateUntrusted, .tlsFailed: .secureConnectionFailed,
    .badClientCertificate: .clientCertificateRejected, .badClientCertificatePassword: .clientCertificateRejected,
    .headTooLarge: .dataLengthExceedsMaximum, .bodyTooLarge: .dataLengthExceedsMaximum,
    .undecodableBody: .cannotDecodeContentData, .unexpectedResponse: .badServerResponse,
    .bodyNotReplayable: .requestBodyStreamExhausted, .tooManyRedirects: .httpTooManyRedirects,
    .redirectRefused: .redirectToNonExistentLocation, .tooManyAttempts: .httpTooManyRedirects,
    .authenticationFailed: .userAuthenticationRequired, .notCached: .resourceUnavailable, .file: .cannotOpenFile,
    .digestMismatch: .badServerResponse,
    // `URLSession` cancels the tasks of a session that is invalidated.
    .shutDown: .cancelled,
    .bodyAlreadyRead: .unknown, .other: .unknown,
  ]
}

extension HTTPError {
  /// The error that a task fails with: exactly what an observer or its interceptor threw, everything else as a
  /// `URLError`.
  var taskError: any Error {
    if kind == .other, let underlying { return underlying }
    return URLError(self)
  }
}
