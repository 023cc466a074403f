extension Cookie {
  /// The reason why a cookie was rejected. The description contains the name of the cookie and the reason, but never
  /// the value.
  public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reasons. More may be added: a `switch` over them needs a `default`.
    @nonexhaustive public enum Reason: Sendable, Hashable {
      /// The line contains a control character (RFC 6265bis §5.6).
      case controlCharacter
      /// Name and value are both empty.
      case empty
      /// Name and value together have more than 4096 bytes.
      case tooLarge
      /// The response sets more than 50 cookies, and this is one of the later ones.
      case tooMany
      /// The name, the value or the path contains a character that cannot be sent in a `Cookie` line. Only for cookies
      /// that a program creates.
      case unsendable
      /// The URL has no host, or the domain of the cookie is not a valid one.
      case noHost
      /// The Domain attribute contains non-ASCII characters.
      case nonASCIIDomain
      /// The Path attribute contains non-ASCII characters.
      case nonASCIIPath
      /// The domain is a public suffix.
      case publicSuffix
      /// The host does not belong to the domain.
      case domainMismatch
      /// A `Secure` cookie was set over an insecure connection.
      case insecureConnection
      /// A cookie that was set over an insecure connection would hide a `Secure` one.
      case hidesSecureCookie
      /// An `HttpOnly` cookie was set or replaced by an interface other than HTTP.
      case httpOnly
      /// A `SameSite` cookie was set by a cross-site request.
      case crossSite
      /// `SameSite=None` without `Secure`.
      case sameSiteNoneNotSecure
      /// The name begins with `__Secure-`, `__Host-`, `__Http-` or `__Host-Http-`, and the cookie lacks the required
      /// attributes; or the value of a nameless cookie begins that way.
      case prefix
      /// The cookie belongs to another session than the stored one: its request was sent before the stored cookie,
      /// which belongs to a CSRF token, was set.
      case otherSession
    }

    /// The reason.
    public let reason: Reason
    /// The name of the cookie, if one could be parsed.
    public let name: String

    package init(_ reason: Reason, name: String = "") {
      self.reason = reason
      self.name = name
    }

    /// The name of the cookie and the reason.
    public var description: String {
      let cookie = name.isEmpty ? "the cookie without a name" : "the cookie \(String(reflecting: name))"
      return "\(cookie) was rejected: \(explanation)"
    }

    private var explanation: String {
      switch reason {
      case .controlCharacter: "it contains a control character"
      case .empty: "it has neither name nor value"
      case .tooLarge: "its name and value have more than 4096 bytes together"
      case .tooMany: "the response sets more than 50"
      case .unsendable:
        "a name must not contain ';' or '=', a value no ';', and a path must begin with '/' and contain no ';'"
      case .noHost: "it has no valid host"
      case .nonASCIIDomain: "its Domain is not ASCII: write it in A-labels (xn--…)"
      case .nonASCIIPath: "its Path is not ASCII: percent-encode it"
      case .publicSuffix: "its Domain is a public suffix, whose subdomains belong to different owners"
      case .domainMismatch: "the host does not belong to its Domain"
      case .insecureConnection: "it is Secure, but was not received over https"
      case .hidesSecureCookie: "it would hide a Secure cookie of the same name, and was not received over https"
      case .httpOnly: "it is HttpOnly, or would replace such a cookie, and was not set over HTTP"
      case .crossSite: "it is a SameSite cookie, and the request is cross-site"
      case .sameSiteNoneNotSecure: "SameSite=None requires Secure"
      case .prefix: "it does not have the attributes that the prefix of its name requires"
      case .otherSession: "the stored cookie is newer and belongs to a CSRF token, and the request did not carry it"
      }
    }
  }
}

extension Result where Failure == Cookie.Refusal {
  /// The reason why there is no cookie.
  package var refusal: Cookie.Refusal? {
    guard case .failure(let refusal) = self else { return nil }
    return refusal
  }
}
