/// A user name and a password.
///
/// It never shows the password: neither in a description nor in a mirror.
public struct Credential: Sendable, Hashable {
  /// The user's name.
  public let user: String
  /// The password.
  public let password: String

  /// Makes a credential. What a scheme cannot carry is an error when it is used: a user's name with a colon, say, in Basic.
  public init(user: String, password: String) {
    self.user = user
    self.password = password
  }
}

extension Credential: CustomStringConvertible, CustomReflectable {
  /// That it is one, and no more: a user's name may be as secret as a password.
  public var description: String { "a credential" }

  /// Shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why a credential cannot be used, in words that show nothing of it.
package struct CredentialError: Error, Sendable, Hashable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
