public import Foundation
public import MartletEngine
import MartletSemantics

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLError {
  /// What the engine says of the failure: kind, phase, attempts.
  ///
  /// It tells apart what has one code here: a PKCS#12 container that cannot be read (`.badClientCertificate`) and a wrong
  /// password for it (`.badClientCertificatePassword`), say.
  public var underlyingHTTPError: HTTPError? { userInfo[NSUnderlyingErrorKey] as? HTTPError }

  /// The engine's error as Foundation's users know it.
  init(_ error: HTTPError) {
    var info: [String: Any] = [NSUnderlyingErrorKey: error, NSLocalizedDescriptionKey: error.message]
    if let url = error.request?.url {
      info[NSURLErrorFailingURLErrorKey] = url
    }
    if let resumption = error.resumption { info[URLError.resumeDataKey] = try? JSONEncoder().encode(resumption) }
    self.init(Self.codes[error.kind] ?? .unknown, userInfo: info)
  }

  /// The key of Foundation's that holds what a download can go on with.
  static let resumeDataKey = "NSURLSessionDownloadTaskResumeData"

  private static let codes: [HTTPError.Kind: URLError.Code] = [
    .invalidRequest: .badURL, .cancelled: .cancelled, .responseTimeout: .timedOut, .idleTimeout: .timedOut,
    .connectTimeout: .timedOut, .deadlineExceeded: .timedOut, .cannotResolveHost: .cannotFindHost,
    .cannotConnect: .cannotConnectToHost, .proxyFailed: .cannotConnectToHost, .connectionLost: .networkConnectionLost,
    .protocolViolation: .badServerResponse, .untrustedCertificate: .serverCertificateUntrusted,
    .pinMismatch: .serverCertificateUntrusted, .tlsFailed: .secureConnectionFailed,
    .badClientCertificate: .clientCertificateRejected, .badClientCertificatePassword: .clientCertificateRejected,
    .headersTooLarge: .dataLengthExceedsMaximum, .bodyTooLarge: .dataLengthExceedsMaximum,
    .undecodableBody: .cannotDecodeContentData, .unexpectedResponse: .badServerResponse,
    .bodyNotReplayable: .requestBodyStreamExhausted, .tooManyRedirects: .httpTooManyRedirects,
    .redirectRefused: .redirectToNonExistentLocation, .tooManyAttempts: .httpTooManyRedirects,
    .authenticationFailed: .userAuthenticationRequired, .notCached: .resourceUnavailable, .file: .cannotOpenFile,
  ]
}

extension HTTPError {
  /// What a task fails with: what an observer or its interceptor threw, as it is; everything else as a `URLError`.
  var forTask: any Error {
    if kind == .other, let underlying { return underlying }
    return URLError(self)
  }
}
