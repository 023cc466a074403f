import MartletEngine
@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import MartletSockets
@_spi(Toolkit) import MartletTesting

/// The program's message for an error, and its exit code.
struct Failure: Sendable, Hashable {
  let code: ExitCode
  /// The lines for standard error; none if the user wanted the end.
  let lines: [String]

  /// - Parameter arguments: the command line, if it was parsed.
  init(_ error: any Error, of arguments: ParsedArguments? = nil) {
    switch error {
    case let error as UsageError: self.init(.failure, [error.description] + error.excerpt)
    case let error as OutputError: self = error == .closed ? .closed : Failure(.failure, [error.description])
    case let error as HTTPError: self = Self.of(error, arguments)
    case let error as NotRecorded: self.init(.notStored, [error.description])
    case let error as NotDrawn:
      self.init(.failure, [error.description, "without --image the body is shown as it is"])
    case is CancellationError: self.init(.interrupted, [])
    default: self.init(.failure, ["\(error)"])
    }
  }

  /// The failure that only a code tells.
  init(_ code: ExitCode) { self.init(code, []) }

  private init(_ code: ExitCode, _ lines: [String]) { (self.code, self.lines) = (code, lines) }

  private static let closed = Failure(.brokenPipe, [])

  private static func of(_ error: HTTPError, _ arguments: ParsedArguments?) -> Failure {
    if error.isCancelled { return Failure(.interrupted, []) }
    if let cause = error.underlying as? OutputError, cause == .closed { return closed }
    var text = error.message.replacing(Proxy.placeInErrors, with: "named by --proxy")
    if let request = error.request { text += " (\(request.method) \(request.url.redacted))" }
    return Failure(ExitCode(error), [text] + (remedy(error, arguments).map { [$0] } ?? []))
  }

  /// An option that may help.
  private static func remedy(_ error: HTTPError, _ arguments: ParsedArguments?) -> String? {
    switch error.kind {
    case .cannotConnect:
      error.request.flatMap { Origin($0.url) }.map { "does a server listen on port \($0.port) of \($0.host)?" }
    case .proxyFailed:
      "--proxy http://USER:PASSWORD@HOST:PORT names the proxy, or socks5:// one of SOCKS; --proxy none uses none"
    case .cannotResolveHost: "is the host's name written correctly?"
    // If an accepted certificate is refused, it has none of the pinned keys.
    case .untrustedCertificate where arguments?.has(.insecure) == true: nil
    case .untrustedCertificate: "--ca FILE trusts an authority; --insecure accepts any certificate, for development"
    case .responseTimeout, .idleTimeout, .connectTimeout:
      "--timeout SECONDS allows more time, --retry NUMBER tries again"
    case .tooSlow: "--speed-time SECONDS allows more time, --retry NUMBER continues over another connection"
    case .deadlineExceeded: "--deadline SECONDS allows more time"
    case .notCached: "without --only-cached it uses the network"
    case .redirectRefused, .tooManyRedirects: "--no-redirects shows the redirect itself"
    default: nil
    }
  }
}

/// The error of a body that is not an image.
struct NotDrawn: Error, CustomStringConvertible {
  let description: String

  init(_ error: ImageDrawingError, _ response: ResponseHead) {
    description = "the body cannot be drawn: \(error.message) (\(response.statusText))"
  }
}

/// The error of a request without a response in an archive.
struct NotRecorded: Error, CustomStringConvertible {
  let description: String

  /// Recorded failures have a kind; the transport's own error has none.
  static func or(_ error: any Error) -> any Error {
    guard let error = error as? HTTPError, error.kind == .other, error.response == nil else { return error }
    let message = error.message.replacing(Recording.remedy, with: "record again, with --har or martlet record")
    return NotRecorded(description: message)
  }
}
