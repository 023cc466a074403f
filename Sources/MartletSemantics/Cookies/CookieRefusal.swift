/// Why a cookie was not taken. For people: what it says names the cookie and the reason, and never the value.
public struct CookieRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// The reasons. New ones may come: a `switch` over them needs a `default`.
  public enum Reason: Sendable, Hashable {
    /// A control character stands in the line (RFC 6265bis §5.6).
    case controlCharacter
    /// Neither name nor value.
    case empty
    /// Name and value have more than 4096 bytes.
    case tooLarge
    /// The name, the value or the path has a character that cannot be sent in a `Cookie` line; only where a program makes
    /// the cookie.
    case unsendable
    /// The URL has no host, or the cookie's domain is none.
    case noHost
    /// The Domain attribute holds something else than ASCII.
    case nonASCIIDomain
    /// The Path attribute holds something else than ASCII.
    case nonASCIIPath
    /// The domain is a public suffix.
    case publicSuffix
    /// The host does not belong to the domain.
    case domainMismatch
    /// `Secure`, and the connection was not.
    case insecureConnection
    /// It would hide a cookie with `Secure`, and the connection was not secure.
    case hidesSecureCookie
    /// `HttpOnly`, or in place of one with it, and not set over HTTP.
    case httpOnly
    /// `SameSite`, and the request came from another site.
    case crossSite
    /// `SameSite=None` without `Secure`.
    case sameSiteNoneNotSecure
    /// The name begins with `__Secure-`, `__Host-`, `__Http-` or `__Host-Http-`, and the cookie is not what that promises;
    /// or the value of a nameless cookie does.
    case prefix
    /// It belongs to another session than the cookie that is there: its request was sent before that one was set, and that one
    /// belongs to a CSRF token.
    case otherSession
  }

  /// Why.
  public let reason: Reason
  /// The cookie's name, if one could be read.
  public let name: String

  package init(_ reason: Reason, name: String = "") {
    self.reason = reason
    self.name = name
  }

  /// The cookie and the reason.
  public var description: String {
    let cookie = name.isEmpty ? "the cookie without a name" : "the cookie \(String(reflecting: name))"
    return "\(cookie) was not taken: \(explanation)"
  }

  private var explanation: String {
    switch reason {
    case .controlCharacter: "it holds a control character"
    case .empty: "it has neither name nor value"
    case .tooLarge: "its name and value have more than 4096 bytes together"
    case .unsendable: "a name must not hold ';' or '=', a value no ';', and a path must begin with '/' and hold no ';'"
    case .noHost: "there is no host for it"
    case .nonASCIIDomain: "its Domain is not ASCII: write it in A-labels (xn--…)"
    case .nonASCIIPath: "its Path is not ASCII: percent-encode it"
    case .publicSuffix: "its Domain is a public suffix, below which strangers register their names"
    case .domainMismatch: "the host does not lie in its Domain"
    case .insecureConnection: "it is Secure, and did not come over https"
    case .hidesSecureCookie: "it would hide a Secure cookie of the same name, and did not come over https"
    case .httpOnly: "it is HttpOnly, or would replace such a cookie, and was not set over HTTP"
    case .crossSite: "it is for its own site, and the request came from another"
    case .sameSiteNoneNotSecure: "SameSite=None requires Secure"
    case .prefix: "its name promises by a prefix what its attributes do not hold"
    case .otherSession: "a newer one belongs to a CSRF token, and its request did not carry that"
    }
  }
}
