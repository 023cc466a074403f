import MartletEngine
import MartletSemantics

/// The exit codes of the program. The numbers are documented: scripts depend on them. Those up to 6 are HTTPie's.
enum ExitCode: Int32, Sendable, Hashable, CaseIterable {
  case success = 0
  case failure = 1
  case timeout = 2
  case redirection = 3
  case clientError = 4
  case serverError = 5
  case tooManyRedirects = 6
  case connection = 7
  case tls = 8
  case badResponse = 9
  case notStored = 10
  case interrupted = 130
  case brokenPipe = 141

  /// The code for an error of a call.
  init(_ error: HTTPError) {
    if error.isCancelled { self = .interrupted; return }
    if error.isTimeout { self = .timeout; return }
    if error.isTLSFailure { self = .tls; return }
    if error.isUnreachable { self = .connection; return }
    switch error.kind {
    case .addressRefused, .rateLimited, .concurrencyLimit: self = .connection
    case .tooManyRedirects: self = .tooManyRedirects
    case .protocolViolation, .headTooLarge, .bodyTooLarge, .undecodableBody: self = .badResponse
    case .unexpectedResponse: self = error.response.flatMap { ExitCode(statusOf: $0) } ?? .badResponse
    case .notCached: self = .notStored
    default: self = .failure
    }
  }

  /// The code for a status with `--check-status`; nil for a successful one.
  init?(statusOf head: ResponseHead) {
    switch head.status.class {
    case .redirection: self = .redirection
    case .clientError: self = .clientError
    case .serverError: self = .serverError
    default: return nil
    }
  }

  /// The meaning of the code, for the help, the manual page and the article.
  var meaning: String {
    switch self {
    case .success: "the call succeeded; without --check-status and --download, whatever its status"
    case .failure: "the command line cannot be carried out, or another failure, such as a file that cannot be written"
    case .timeout: "a timeout or the deadline, or a transfer below --speed-limit"
    case .redirection: "status 3xx, with --check-status or --download"
    case .clientError: "status 4xx, with --check-status or --download"
    case .serverError: "status 5xx, with --check-status or --download"
    case .tooManyRedirects: "more redirects than --max-redirects allows"
    case .connection: "no connection: the name, the host, the port or the proxy; or the connection was lost"
    case .tls: "TLS failed: the server's certificate, a pinned key, the client's certificate"
    case .badResponse: "the response is not valid, too large, or cannot be decoded"
    case .notStored: "nothing is stored (--only-cached) or recorded (--replay) for the request"
    case .interrupted: "interrupted with Ctrl-C"
    case .brokenPipe: "the reader of the output closed it, as in 'martlet get … | head'"
    }
  }
}
