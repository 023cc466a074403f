public import MartletSemantics

/// The messages that a signature is about (RFC 9421 §1.1, "signature context"): a request, or a response and the
/// request that it answers.
///
/// ```swift
/// // a server that verifies a request, which it received at `url` with these fields
/// let context = SignatureContext(RequestHead(method: .post, url: url, fields: fields))
/// ```
public struct SignatureContext: Sendable {
  /// The request. For a response it may be nil; components of the request are then an error.
  public var request: RequestHead?
  /// The response; nil if the request is the message that is signed.
  public var response: ResponseHead?
  /// The trailer fields of the message that is signed. None by default.
  public var trailers: HTTPFields = [:]
  /// The trailer fields of the request, if the response is signed. None by default.
  public var requestTrailers: HTTPFields = [:]
  /// The target of the request line; nil, the default, for the path and the query, or `*` for OPTIONS without either.
  /// Set it if the request goes to an HTTP proxy.
  public var requestTarget: String?
  /// The types of structured fields, which `sf` needs (§2.1.1). By default those of registered fields whose type is
  /// certain: ``registeredStructuredFields``. Add your own.
  public var structuredFields: [FieldName: StructuredType] = Self.registeredStructuredFields

  /// Makes the context of a request.
  public init(_ request: RequestHead) { self.request = request }

  /// Makes the context of a response.
  ///
  /// - Parameters:
  ///   - response: the response.
  ///   - request: the request that it answers, as it was sent; nil if the signature covers nothing of it.
  public init(_ response: ResponseHead, to request: RequestHead?) {
    (self.response, self.request) = (response, request)
  }

  /// The type of a structured field (RFC 9651 §3).
  @frozen public enum StructuredType: Sendable, Hashable {
    /// One value.
    case item
    /// A list.
    case list
    /// A dictionary.
    case dictionary
  }

  /// Registered fields whose definitions say that they are structured.
  public static let registeredStructuredFields: [FieldName: StructuredType] = [
    "accept-ch": .list, "accept-signature": .dictionary, "cache-status": .list, "cdn-cache-control": .dictionary,
    "client-cert": .item, "client-cert-chain": .list, "content-digest": .dictionary,
    "cross-origin-embedder-policy": .item, "cross-origin-opener-policy": .item, "deprecation": .item,
    "origin-agent-cluster": .item, "priority": .dictionary, "proxy-status": .list, "repr-digest": .dictionary,
    "signature": .dictionary, "signature-input": .dictionary, "want-content-digest": .dictionary,
    "want-repr-digest": .dictionary,
  ]
}

extension SignatureContext {
  /// The fields of the message that is signed.
  var fields: HTTPFields { response?.fields ?? request?.fields ?? [:] }
}
