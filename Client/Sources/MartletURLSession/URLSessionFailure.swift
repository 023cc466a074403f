import MartletEngine

/// Translates an error from Foundation to an error with a kind, a phase, and the name of the host.
struct URLSessionFailure: Sendable {
  private let original: any Error
  /// Whether the response's head was delivered before.
  private let hasHead: Bool

  init(_ original: any Error, hasHead: Bool) {
    self.original = original
    self.hasHead = hasHead
  }

  func error(talkingTo peer: String) -> any Error {
    let code = (original as? URLError)?.code ?? .unknown
    if code == .cancelled { return CancellationError() }
    let (kind, phase) = Self.classification(of: code, hasHead: hasHead)
    let reason = "\(original.localizedDescription) (URLError \(code.rawValue))"
    return HTTPError(kind, "\(peer): \(reason)", phase: phase, underlying: original)
  }

  private static func classification(
    of code: URLError.Code, hasHead: Bool
  ) -> (HTTPError.Kind, HTTPError.Phase) {
    let late: HTTPError.Phase = hasHead ? .receiving : .waiting
    if let known = platformKind(of: code, hasHead: hasHead) { return (known, late) }
    switch code {
    case .badURL: return (.invalidRequest, .preparing)
    case .cannotFindHost, .dnsLookupFailed: return (.cannotResolveHost, .resolving)
    case .cannotConnectToHost, .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
      return (.cannotConnect, .connecting)
    case .timedOut: return hasHead ? (.idleTimeout, .receiving) : (.responseTimeout, .waiting)
    case .networkConnectionLost: return (.connectionLost, late)
    case .cannotParseResponse, .badServerResponse: return (.protocolViolation, late)
    case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
      .serverCertificateNotYetValid:
      return (.untrustedCertificate, .securing)
    case .secureConnectionFailed, .clientCertificateRejected, .clientCertificateRequired:
      return (.tlsFailed, .securing)
    case .cannotDecodeContentData, .cannotDecodeRawData: return (.undecodableBody, .receiving)
    case .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile: return (.file, .preparing)
    default: return (.other, late)
    }
  }
}
