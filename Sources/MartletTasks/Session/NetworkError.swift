public import Martlet

/// Why a task failed, where it is not the exchange itself (`HTTPError`) and not the decoding.
public enum NetworkError: Error, Sendable, Hashable {
  /// The service said no, in its own words.
  case service(ServiceMessage)
  /// There are no credentials to be had; see ``Authenticator/authenticate()``.
  case unauthenticated
  /// Nobody knows: for mappings that find nothing.
  case unknown
}

extension NetworkError: LocalizedError, CustomStringConvertible {
  /// The service's text.
  public var errorDescription: String? { description }

  /// The service's text, with its status.
  public var description: String {
    switch self {
    case .service(let message): "\(message.text) (\(message.statusCode))"
    case .unauthenticated: "there are no credentials"
    case .unknown: "an unknown network error"
    }
  }
}
