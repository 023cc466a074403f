import MartletSemantics
@_spi(Toolkit) import MartletURLSession

/// The error of a request, with the cases of SAP's article on images, and further ones that the article omits.
///
/// ```swift
/// let session = SAPURLSession()
/// session.dataTaskPublisher(for: url)
///   .tryMap { try SAPURLError.checked($0.data, $0.response) }   // throws for every other response than a success
///   .tryMap { try ImageDecoder.decode($0) }
///   .mapError { SAPURLError($0) }
/// ```
///
/// If an app declares an enum with this name in an extension of ``SAPURLSession``, as the article does, it uses its
/// own.
public enum SAPURLError: Error {
  /// There is no response, because of a lost connection, an unknown host, a timeout or a cancellation.
  case requestFailed(URLError)
  /// The response is a redirect that was not followed (3xx).
  case redirection(HTTPURLResponse)
  /// The service refused the request (4xx). The payload is the error in the body; nil if there is none that can be
  /// read.
  case client(response: HTTPURLResponse, payload: ODataErrorPayload?)
  /// The service failed (5xx). The payload is the error in the body; nil if there is none that can be read.
  case server(response: HTTPURLResponse, payload: ODataErrorPayload?)
  /// Another error: of an observer or a decoder; an error with a 2xx status (``ODataServiceError``); or a login page
  /// instead of the resource (``SAPLoginRequiredError``).
  case other(any Error)
  /// The response is not an HTTP response, or has an unexpected status (1xx).
  case unknown
}

extension SAPURLError {
  /// Makes an error from the error of a publisher or a task.
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

  /// Makes the error of a response; nil for a success: a 2xx that is not a login page and has no error in
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

  /// Returns the bytes of a successful response.
  ///
  /// - Throws: `SAPURLError` for every other response.
  public static func checked(_ data: Data, _ response: URLResponse) throws(SAPURLError) -> Data {
    if let error = SAPURLError(response: response, data: data) { throw error }
    return data
  }

  /// Returns the error in the body or in `sap-message`.
  private static func payload(_ head: ResponseHead, _ data: Data) -> ODataErrorPayload? {
    ODataErrorPayload(body: data)
      ?? ODataErrorPayload.Body.sapMessage(in: head.fields).map { ODataErrorPayload(error: $0) }
  }
}

extension SAPURLError: CustomStringConvertible, CustomReflectable {
  /// The error's text, status and code: Foundation's responses would show their URL and all fields.
  public var description: String {
    [errorDescription, failureReason].compactMap(\.self).joined(separator: ", ")
  }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["error": description]) }
}

extension SAPURLError: LocalizedError {
  /// The service's text if there is one.
  public var errorDescription: String? {
    switch self {
    case .requestFailed(let error): error.localizedDescription
    case .redirection(let response): Self.phrase(response)
    case .client(let response, let payload), .server(let response, let payload):
      payload?.error.text ?? Self.phrase(response)
    case .other(let error): error.localizedDescription
    case .unknown: "The response is not an HTTP response."
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

/// The service returned a sign-in page, with status 200, instead of the resource.
public struct SAPLoginRequiredError: Error, Sendable, Hashable {
  /// How the user signs in.
  public enum Method: String, Sendable, Hashable {
    /// SAML: the response has the field `com.sap.cloud.security.login`.
    case saml
    /// A one-time password: the response has `x-smp-authentication: otp-challenge`.
    case oneTimePassword
  }

  /// How the user signs in.
  public let method: Method

  init?(_ response: HTTPURLResponse) { self.init(ReceivedHead.head(of: response).fields) }

  @_spi(Toolkit) public init?(_ fields: HTTPFields) {
    if fields.contains("com.sap.cloud.security.login") {
      method = .saml
    } else if fields["x-smp-authentication"]?.lowercased() == "otp-challenge" {
      method = .oneTimePassword
    } else {
      return nil
    }
  }
}

extension SAPLoginRequiredError: LocalizedError {
  /// The message for the user.
  public var errorDescription: String? {
    switch method {
    case .saml: "The service requires the user to sign in (SAML)."
    case .oneTimePassword: "The service requires a one-time password."
    }
  }
}
