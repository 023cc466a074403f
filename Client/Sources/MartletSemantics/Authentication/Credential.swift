/// A user name and a password.
///
/// Descriptions and mirrors show neither of them.
public struct Credential: Sendable, Hashable {
  /// The user name.
  public let user: String
  /// The password.
  public let password: String

  /// Makes a credential.
  ///
  /// Any text is allowed here. If a scheme cannot transmit it, such as a user name with a colon in Basic, the request
  /// that would send it fails.
  public init(user: String, password: String) {
    self.user = user
    self.password = password
  }
}

extension Credential {
  /// Use ``init(user:password:)``.
  @available(*, unavailable, renamed: "init(user:password:)")
  public init(username: String, password: String) { self.init(user: username, password: password) }

  /// Use ``user``.
  @available(*, unavailable, renamed: "user")
  public var username: String { user }
}

extension Credential: CustomStringConvertible, CustomReflectable {
  /// Always "a credential": a user name may be as secret as a password.
  public var description: String { "a credential" }

  /// Has no children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The user information of a URL, `user:password@` (RFC 3986 §3.2.1), without percent-encoding.
@_spi(Toolkit) public struct UserInformation: Sendable, Hashable {
  public let user: String
  /// The password; nil if the URL has none. `user:@` has an empty one.
  public let password: String?

  package init(user: String, password: String?) {
    self.user = user
    self.password = password
  }

  /// Returns the user information of a URL; nil if it has none, or only empty parts.
  public init?(of url: URL) {
    guard let user = url.user(percentEncoded: false) else { return nil }
    let password = url.password(percentEncoded: false)
    guard !user.isEmpty || !(password ?? "").isEmpty else { return nil }
    self.init(user: user, password: password)
  }

  /// Makes the user information that only this credential matches.
  package init(_ credential: Credential) { self.init(user: credential.user, password: credential.password) }

  /// The credential that the URL has by itself: without a password, an empty one.
  package var credential: Credential { Credential(user: user, password: password ?? "") }

  /// Returns whether a request to the URL may send a credential before the server has refused the URL's own: it is that
  /// of the same user, and does not contradict the password.
  package func matches(_ credential: Credential) -> Bool {
    credential.user == user && (password ?? credential.password) == credential.password
  }
}

extension URL {
  /// The URL without its user information; nil if the rest is not a URL.
  @_spi(Toolkit) public var withoutUserInformation: URL? {
    guard user(percentEncoded: true) != nil else { return self }
    var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    parts?.percentEncodedUser = nil
    parts?.percentEncodedPassword = nil
    return parts?.url
  }
}

extension UserInformation: CustomStringConvertible, CustomReflectable {
  public var description: String { "user information" }

  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The reason why a credential cannot be used. The description contains nothing of the credential.
@_spi(Credentials) public struct CredentialError: Error, Sendable, Hashable, CustomStringConvertible {
  public let description: String

  package init(_ description: String) { self.description = description }
}

/// A part of an origin that requires credentials, and accepts the same ones everywhere in it (RFC 9110 §11.5).
public struct ProtectionSpace: Sendable, Hashable, CustomStringConvertible {
  /// The origin. Its credentials are never sent to another one.
  public let origin: Origin
  /// The origin's name for the space; empty if it has none.
  public let realm: String

  /// Makes a protection space.
  public init(origin: Origin, realm: String) {
    self.origin = origin
    self.realm = realm
  }

  /// The origin, and the realm if there is one.
  public var description: String { realm.isEmpty ? "\(origin)" : "\(origin) (\(realm))" }
}
