public import MartletSemantics

/// An access token as an authorization server gives it out (RFC 6749 §1.4, §5.1).
///
/// It never shows the token: neither in a description nor in a mirror.
public struct AccessToken: Sendable, Hashable {
  /// The token itself.
  public var value: String
  /// The scheme by which requests carry it (`token_type`); `Bearer` by default (RFC 6750).
  public var type: String
  /// When it expires, nil where that is not known. A token is renewed half a minute before that, or after three quarters
  /// of its life if that is later.
  public var expires: Date?
  /// What the next token is asked for with, nil if there is none. The engine only hands it to the closure that refreshes.
  public var refreshToken: String?

  /// Makes a token.
  public init(_ value: String, type: String = "Bearer", expires: Date? = nil, refreshToken: String? = nil) {
    self.value = value
    self.type = type
    self.expires = expires
    self.refreshToken = refreshToken
  }

  /// The value of `Authorization`. Authorization servers write the type in any case, resource servers often know but one.
  package var authorization: String { (ASCII.equalIgnoringCase(type, "Bearer") ? "Bearer" : type) + " " + value }

  /// Whether it is still good: not so close to its end that it might expire on the way.
  ///
  /// - Parameter received: when it came. A token whose whole life is shorter than the margin is good for most of it.
  package func isFresh(at now: Date, received: Date) -> Bool {
    guard let expires else { return true }
    return expires.timeIntervalSince(now) > min(30, expires.timeIntervalSince(received) / 4)
  }
}

extension AccessToken: CustomStringConvertible, CustomReflectable {
  /// That it is one, and until when.
  public var description: String { "an access token" + (expires.map { " until \($0)" } ?? "") }

  /// Shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
