@_spi(Stores) @_spi(Toolkit) import MartletEngine
public import MartletSemantics

/// A key with which a store encrypts its data on the server: AES-256-GCM (NIST SP 800-38D).
///
/// ```swift
/// let seal = try RedisSeal(key: secret)        // 32 random bytes, the same in all processes
/// let store = RedisCacheStore(redis, options: .sealed(with: seal))
/// ```
///
/// A person with access to the server then still sees the names of keys, the sizes and the times. Names are digests of
/// URLs, and for requests in progress of their credentials too, so a guess can be tested. But such a person can
/// neither read nor change values, nor move a value to another place. A reader without the key, or with another one,
/// finds nothing. Each value has a random nonce, which suffices for 2^32 values; then use a new key.
public struct RedisSeal: Sendable {
  private let key: Data

  /// Makes a seal.
  ///
  /// - Parameter key: 32 random bytes.
  /// - Throws: ``RedisError`` of kind `.notStored` if the key has another length.
  public init(key: Data) throws(RedisError) {
    guard key.count == AuthenticatedCipher.keyLength else {
      throw RedisError(.notStored, "the key of a seal has \(key.count) bytes: use 32 random ones")
    }
    self.key = key
  }

  /// Returns the nonce, the encrypted value and its tag.
  ///
  /// - Parameter place: the place of the value; it can be opened only there.
  func seal(_ value: Data, at place: Data) throws(RedisError) -> Data {
    var random = SystemRandomNumberGenerator()
    let nonce = Data((0..<AuthenticatedCipher.nonceLength).map { _ in UInt8.random(in: 0...255, using: &random) })
    guard let sealed = AuthenticatedCipher.seal(value, key: key, nonce: nonce, authenticating: place) else {
      throw RedisError(.notStored, "the value could not be encrypted")
    }
    return nonce + sealed
  }

  /// Returns the value; nil if it was sealed with another key or for another place, or was changed.
  func open(_ sealed: Data, at place: Data) -> Data? {
    let sealed = Data(sealed)
    guard sealed.count >= AuthenticatedCipher.nonceLength + AuthenticatedCipher.tagLength else { return nil }
    return AuthenticatedCipher.open(
      Data(sealed.dropFirst(AuthenticatedCipher.nonceLength)), key: key,
      nonce: Data(sealed.prefix(AuthenticatedCipher.nonceLength)), authenticating: place)
  }
}

extension RedisSeal: CustomStringConvertible, CustomReflectable {
  /// "a seal", without the key.
  public var description: String { "a seal" }

  /// Has no children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// How a store writes values: with a checksum, or sealed. The first byte tells which. A value of the other kind, or a
/// damaged one, counts as missing.
struct ValueForm: Sendable {
  let seal: RedisSeal?

  /// The maximum number of bytes that it adds to a value.
  static let overhead = 1 + AuthenticatedCipher.nonceLength + AuthenticatedCipher.tagLength
  private static let checked: UInt8 = 3
  private static let sealed: UInt8 = 2

  /// - Parameter place: the place of the value; it can be read only there.
  func write(_ value: Data, at place: Data) throws(RedisError) -> Data {
    if let seal { return try Data([Self.sealed]) + seal.seal(value, at: place) }
    var start = ByteWriter()
    start.add(Self.checked)
    start.add(Self.sum(of: value, at: place))
    return start.bytes + value
  }

  func read(_ stored: Data, at place: Data) -> Data? {
    let rest = stored.dropFirst()
    switch (stored.first, seal) {
    case (Self.checked, nil):
      var reader = ByteReader(rest)
      guard let sum = reader.integer64() else { return nil }
      let value = Data(reader.rest)
      return Self.sum(of: value, at: place) == sum ? value : nil
    case (Self.sealed, let seal?): return seal.open(rest, at: place)
    default: return nil
    }
  }

  private static func sum(of value: Data, at place: Data) -> UInt64 {
    var sum = Checksum()
    place.withUnsafeBytes { sum.add($0) }
    value.withUnsafeBytes { sum.add($0) }
    return UInt64(bitPattern: sum.value)
  }
}
