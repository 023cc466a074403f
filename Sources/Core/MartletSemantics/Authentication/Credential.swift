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

/// The reason why a credential cannot be used. The description contains nothing of the credential.
package struct CredentialError: Error, Sendable, Hashable, CustomStringConvertible {
  package let description: String

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
