@_spi(Toolkit) public import MartletSemantics

/// Adds fields to every request to certain origins: an API key, an `Accept`, a tenant.
///
/// Fields that the request already has are not changed. After a redirect to another origin the fields are not sent.
///
/// ```swift
/// DefaultFieldsInterceptor(["X-Api-Key": key], for: [serviceURL], subdomains: .included)
/// ```
///
/// Fields for the whole of a service are simpler as ``SessionConfiguration/fields``, with a
/// ``SessionConfiguration/baseURL``.
///
/// Without URLs, the fields are added to requests to every origin, but not after a redirect to another one.
public struct DefaultFieldsInterceptor: Interceptor {
  /// Only `prepare`.
  public var stages: InterceptorStages { .prepare }

  /// Whether subdomains get the fields too.
  public enum Subdomains: Sendable, Hashable {
    /// Only the hosts themselves.
    case excluded
    /// With `example.com` also `api.example.com`, with the same scheme and port. IP addresses have no subdomains.
    case included
  }

  private let fields: HTTPFields
  /// nil for all origins of calls.
  private let origins: Set<Origin>?
  private let subdomains: Subdomains

  /// Makes an interceptor.
  ///
  /// - Parameters:
  ///   - fields: the fields. Fields with the same name are added together, or not at all if the request has one.
  ///   - urls: URLs whose origins (scheme, host and port) get the fields. Only http and https URLs count.
  ///   - subdomains: whether subdomains get them too; they do not by default.
  public init(_ fields: HTTPFields, for urls: [URL], subdomains: Subdomains = .excluded) {
    self.fields = fields
    self.subdomains = subdomains
    origins = Set(urls.compactMap { Origin($0) })
  }

  /// Makes an interceptor for the origins of all calls.
  ///
  /// - Parameter fields: the fields, as in the other initializer. They must not be secret: every server gets them.
  public init(_ fields: HTTPFields) {
    self.fields = fields
    subdomains = .excluded
    origins = nil
  }

  @_spi(Toolkit) public func prepareImmediately(_ request: inout HTTPRequest, in call: Call) throws -> Unfinished<
    Preparation
  >? {
    guard let origin = request.origin, covers(origin, asked: call.askedURL) else { return nil }
    if let refusal = fields.refusal { throw refusal }
    let own = request.fields
    for (name, value) in fields where !own.contains(name) { request.fields.append(value, for: name) }
    return nil
  }

  private func covers(_ origin: Origin, asked: URL?) -> Bool {
    guard let origins else { return asked.flatMap { Origin($0) } == origin }
    if origins.contains(origin) { return true }
    guard subdomains == .included else { return false }
    return origins.contains { parent in
      parent.scheme == origin.scheme && parent.port == origin.port
        && HostName.matches(origin.host, domain: parent.host)
    }
  }
}

@_spi(Toolkit) extension DefaultFieldsInterceptor: ImmediateInterceptor {}

/// Adds a `User-Agent` field (RFC 9110 §10.1.5) to requests without one.
struct UserAgentInterceptor: ImmediateInterceptor {
  let value: String
  var stages: InterceptorStages { .prepare }

  func prepareImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<Preparation>? {
    if !request.hasOrOmits(.userAgent) { request.fields[.userAgent] = value }
    return nil
  }
}
