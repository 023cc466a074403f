public import MartletSemantics

/// The origins that a ``CredentialSource`` answers for. Nothing else ever gets its credentials, redirects included.
public struct CredentialScope: Sendable {
  private let predicate: @Sendable (Origin) -> Bool

  private init(_ predicate: @escaping @Sendable (Origin) -> Bool) { self.predicate = predicate }

  /// All origins: for a source that knows itself whom it trusts, such as one that asks the user.
  public static let any = CredentialScope { _ in true }

  /// The origin of a URL: its scheme, host and port. A URL that has none covers nothing.
  public static func origin(of url: URL) -> CredentialScope { origins(Set([Origin(url)].compactMap { $0 })) }

  /// These origins.
  public static func origins(_ origins: Set<Origin>) -> CredentialScope { CredentialScope { origins.contains($0) } }

  /// The origins for which the closure says so: `.matching { $0.isSecure && $0.host.hasSuffix(".example.com") }`.
  /// It is asked for every attempt, and should be quick.
  public static func matching(_ predicate: @escaping @Sendable (Origin) -> Bool) -> CredentialScope {
    CredentialScope(predicate)
  }

  /// Whether an origin is one of them.
  public func covers(_ origin: Origin) -> Bool { predicate(origin) }
}
