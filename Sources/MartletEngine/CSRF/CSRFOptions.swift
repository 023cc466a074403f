public import MartletSemantics

/// How a ``CSRFInterceptor`` speaks with its servers. The defaults are those of SAP Gateway, SAP Mobile Services and
/// Tomcat's `RestCsrfPreventionFilter`.
public struct CSRFOptions: Sendable {
  /// The field that carries the token, and the words `Fetch` and `Required`. `X-CSRF-Token` by default.
  public var field: FieldName = "X-CSRF-Token"
  /// The statuses that, together with `Required` in the field, refuse a token. 403 by default; servers may have another.
  public var refusals: Set<HTTPStatus> = [.forbidden]
  /// Where tokens are kept; in memory by default.
  public var store: any CSRFTokenStore = MemoryCSRFTokenStore()

  /// Makes the default options.
  public init() {}
}
