public import MartletSemantics

/// Adds fields to every request to certain origins, and to no other: an API key, an `Accept`, a tenant.
///
/// A field that the request has already is left as it is. A redirect to another origin does not carry the fields along.
///
/// ```swift
/// DefaultFieldsInterceptor(["X-Api-Key": key], for: [serviceURL], subdomains: .included)
/// ```
///
/// Without URLs every origin gets them that a request is made for, and none that only a redirect leads to.
public struct DefaultFieldsInterceptor: Interceptor {
  /// Whether hosts below those named count too.
  public enum Subdomains: Sendable, Hashable {
    /// Only the hosts themselves.
    case excluded
    /// `api.example.com` where `example.com` was named, with the same scheme and port. Addresses have no subdomains.
    case included
  }

  private let fields: HTTPFields
  /// nil for whatever origin is asked.
  private let origins: Set<Origin>?
  private let subdomains: Subdomains

  /// Makes an interceptor.
  ///
  /// - Parameters:
  ///   - fields: what is added; several lines of a name are added together or, where the request has one, not at all.
  ///   - urls: URLs whose origins get the fields: scheme, host and port. What is no http or https URL counts for nothing.
  ///   - subdomains: whether hosts below those get them too; they do not by default.
  public init(_ fields: HTTPFields, for urls: [URL], subdomains: Subdomains = .excluded) {
    self.fields = fields
    self.subdomains = subdomains
    origins = Set(urls.compactMap { Origin($0) })
  }

  /// Makes an interceptor for the origins that requests are made for, whichever they are.
  ///
  /// - Parameter fields: what is added, as in the other initializer. Nothing secret: every server that is asked gets it.
  public init(_ fields: HTTPFields) {
    self.fields = fields
    subdomains = .excluded
    origins = nil
  }

  public func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    guard let origin = Origin(request.url), covers(origin, asked: exchange.askedURL) else { return request }
    if let refusal = fields.refusal { throw refusal }
    var prepared = request
    for (name, value) in fields where !request.fields.contains(name) { prepared.fields.append(value, for: name) }
    return prepared
  }

  private func covers(_ origin: Origin, asked: URL?) -> Bool {
    guard let origins else { return asked.flatMap { Origin($0) } == origin }
    if origins.contains(origin) { return true }
    guard subdomains == .included, !origin.isAddress else { return false }
    return origins.contains { parent in
      parent.scheme == origin.scheme && parent.port == origin.port && !parent.isAddress
        && origin.host.hasSuffix("." + parent.host)
    }
  }
}

extension Origin {
  /// Whether the host is an IP address: its last label is a number (WHATWG URL §3.5), or it has colons.
  fileprivate var isAddress: Bool {
    guard let last = host.split(separator: ".").last?.utf8, let first = last.first else { return true }
    return host.utf8.contains(UInt8(ascii: ":")) || last.allSatisfy(ASCII.isDigit)
      || ASCII.isDigit(first) && last.dropFirst().first == UInt8(ascii: "x")
  }
}
