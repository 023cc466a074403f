/// A part of an origin that wants credentials, and accepts the same everywhere in it (RFC 9110 §11.5).
public struct ProtectionSpace: Sendable, Hashable, CustomStringConvertible {
  /// The origin: no other one gets its credentials.
  public let origin: Origin
  /// What the origin calls this part of itself; empty where it has no name.
  public let realm: String

  /// Makes a protection space.
  public init(origin: Origin, realm: String) {
    self.origin = origin
    self.realm = realm
  }

  /// Origin and realm.
  public var description: String { realm.isEmpty ? "\(origin)" : "\(origin) (\(realm))" }
}
