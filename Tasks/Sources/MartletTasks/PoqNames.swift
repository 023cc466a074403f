// The names of these types in Poq's documentation, so that code written for it compiles.

public import Martlet

/// The session under Poq's name.
public typealias PoqNetworkSession = StandardNetworkSession
/// The authenticator that does nothing, under Poq's name.
public typealias PoqAuthenticator = PassiveAuthenticator
/// The authenticator of an account, under Poq's name.
public typealias PoqAccountAuthenticator = AccountAuthenticator
/// The service's message under Poq's name.
public typealias PoqMessage = ServiceMessage

extension HTTPMethod {
  /// The method GET, under its name in capitals.
  public static let GET = HTTPMethod.get
  /// The method HEAD, under its name in capitals.
  public static let HEAD = HTTPMethod.head
  /// The method POST, under its name in capitals.
  public static let POST = HTTPMethod.post
  /// The method PUT, under its name in capitals.
  public static let PUT = HTTPMethod.put
  /// The method PATCH, under its name in capitals.
  public static let PATCH = HTTPMethod.patch
  /// The method DELETE, under its name in capitals.
  public static let DELETE = HTTPMethod.delete
}

extension Dependency {
  /// The same as ``single(_:)``, under Poq's name: `Container.shared.cart = .replace { LocalCart() }`.
  public static func replace(_ make: @escaping @Sendable () -> Value) -> Dependency { single(make) }
}
