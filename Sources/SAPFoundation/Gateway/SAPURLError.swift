public import Foundation
import MartletSemantics
import MartletURLSession

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// What went wrong with a request, as SAP's article on images tells it apart; with what its author left out.
///
/// ```swift
/// let session = SAPURLSession()
/// session.dataTaskPublisher(for: url)
///   .tryMap { try SAPURLError.checked($0.data, $0.response) }   // throws for everything but a good answer
///   .tryMap { try ImageDecoder.decode($0) }
///   .mapError { SAPURLError($0) }
/// ```
///
/// An app that declares an enum of this name of its own, within an extension of ``SAPURLSession`` as the article does, uses
/// its own.
public enum SAPURLError: Error {
  /// There is no response: no connection, no host, a timeout, a cancellation.
  case requestFailed(URLError)
  /// The response is a redirect that was not followed (3xx).
  case redirection(HTTPURLResponse)
  /// The service refuses (4xx), with the error that it gives; nil if it gives none that can be read.
  case client(response: HTTPURLResponse, payload: ODataErrorPayload?)
  /// The service failed (5xx), with the error that it gives; nil if it gives none that can be read.
  case server(response: HTTPURLResponse, payload: ODataErrorPayload?)
  /// Something else has failed: an observer, a decoder; a service that tells an error with a good status
  /// (``ODataServiceError``) or shows a login page in place of the answer (``SAPLoginRequiredError``).
  case other(any Error)
  /// The response is none of HTTP, or one that makes no sense here (1xx).
  case unknown
}

extension SAPURLError {
  /// Takes an error that a publisher or a task ended with.
  public init(_ error: any Error) {
    switch error {
    case let error as SAPURLError: self = error
    case let error as URLError: self = .requestFailed(error)
    case is CancellationError: self = .requestFailed(URLError(.cancelled))
    default:
      let bridged = error as NSError
      guard bridged.domain == NSURLErrorDomain else {
        self = .other(error)
        return
      }
      let code: URLError.Code? = URLError.Code(rawValue: bridged.code)  // no optional on Apple's platforms
      self = .requestFailed(URLError(code ?? .unknown, userInfo: bridged.userInfo))
    }
  }

  /// The error that a response tells; nil for a good one: a 2xx that is neither a login page nor carries an error in
  /// `sap-message`.
  public init?(response: URLResponse, data: Data) {
    guard let response = response as? HTTPURLResponse else {
      self = .unknown
      return
    }
    let head = ReceivedHead.head(of: response)
    switch response.statusCode {
    case 200...299:
      if let login = SAPLoginRequiredError(head.fields) {
        self = .other(login)
      } else if let error = ODataServiceError(head, body: data) {
        self = .other(error)
      } else {
        return nil
      }
    case 300...399: self = .redirection(response)
    case 400...499: self = .client(response: response, payload: Self.payload(head, data))
    case 500...599: self = .server(response: response, payload: Self.payload(head, data))
    default: self = .unknown
    }
  }

  /// The bytes of a good response.
  ///
  /// - Throws: `SAPURLError` for every other.
  public static func checked(_ data: Data, _ response: URLResponse) throws(SAPURLError) -> Data {
    if let error = SAPURLError(response: response, data: data) { throw error }
    return data
  }

  /// The body's error, or else that of `sap-message`.
  private static func payload(_ head: ResponseHead, _ data: Data) -> ODataErrorPayload? {
    ODataErrorPayload(body: data)
      ?? ODataErrorPayload.Body.sapMessage(in: head.fields).map { ODataErrorPayload(error: $0) }
  }
}

extension SAPURLError: LocalizedError {
  /// The service's own text where there is one.
  public var errorDescription: String? {
    switch self {
    case .requestFailed(let error): error.localizedDescription
    case .redirection(let response): Self.phrase(response)
    case .client(let response, let payload), .server(let response, let payload):
      payload?.text ?? Self.phrase(response)
    case .other(let error): error.localizedDescription
    case .unknown: "The answer is not one of HTTP."
    }
  }

  /// The status, and the service's code.
  public var failureReason: String? {
    switch self {
    case .client(let response, let payload), .server(let response, let payload):
      [Self.phrase(response), payload?.error.code ?? ""].filter { !$0.isEmpty }.joined(separator: ", ")
    case .redirection(let response): Self.phrase(response)
    case .other(let error): (error as? any LocalizedError)?.failureReason
    case .requestFailed, .unknown: nil
    }
  }

  private static func phrase(_ response: HTTPURLResponse) -> String { "\(HTTPStatus(response.statusCode))" }
}

extension ODataErrorPayload {
  /// What happened, for people; nil where nothing is said.
  fileprivate var text: String? {
    error.message.value.isEmpty ? error.details.first?.message : error.message.value
  }
}
