@_spi(Toolkit) import MartletEngine

/// Encrypts the values of another store, with AES-256-GCM and the caller's key.
///
/// ```swift
/// let key = EncryptedDataStore.makeKey()      // once; do not keep it beside the file
/// let file = try SQLiteDataStore(at: folder.appending(path: "secrets.sqlite"))
/// let secrets = CodableStorage(store: try EncryptedDataStore(store: file, key: key))
/// ```
///
/// - The key has 32 random bytes (``makeKey()``). Do not keep it beside the file; use a keychain or a secret of the
///   machine. A password is not a key.
/// - Every value has a new random nonce, so equal values have different bytes; a key may be used for 2^32 writes.
/// - A value is authenticated with its name. It is an error to read bytes that were changed, cut, or moved to another
///   name, or to read with another key. Reading changes nothing in the store. The store does not detect that a value
///   was removed, or replaced with an earlier value.
/// - **Names are not encrypted**, and neither are the lengths of values. The names that this module uses contain hosts:
///   `oauth2-token https://host`.
/// - Reading a value that was stored without encryption is a separate error: read it with the inner store, and write it
///   again.
///
/// Any thread may use it if this is true of its store. The format is this module's own.
public final class EncryptedDataStore: DataStoring {
  private let store: any DataStoring
  private let key: Data

  /// The first bytes of every value. Values with other first bytes are not decrypted.
  private static let header = Data("mrt1".utf8)

  /// Makes a store.
  ///
  /// - Parameters:
  ///   - store: stores the encrypted bytes.
  ///   - key: 32 bytes.
  /// - Throws: ``EncryptedDataStoreError/invalidKey(length:)`` for a key of another length.
  public init(store: any DataStoring, key: Data) throws(EncryptedDataStoreError) {
    guard key.count == AuthenticatedCipher.keyLength else { throw .invalidKey(length: key.count) }
    self.store = store
    self.key = Data(key)
  }

  /// Returns a new key: 32 bytes from the system's cryptographic random number generator.
  public static func makeKey() -> Data { random(AuthenticatedCipher.keyLength) }

  public func put(data: Data, for key: String) throws {
    let nonce = Self.random(AuthenticatedCipher.nonceLength)
    guard
      let sealed = AuthenticatedCipher.seal(
        data, key: self.key, nonce: nonce, authenticating: Self.context(of: key))
    else { throw EncryptedDataStoreError.cannotEncrypt(key: key) }
    try store.put(data: Self.header + nonce + sealed, for: key)
  }

  /// Returns the decrypted bytes for a key; nil if there are none.
  ///
  /// - Throws: ``EncryptedDataStoreError``, or an error of the store.
  public func data(for key: String) throws -> Data? {
    guard let stored = try store.data(for: key) else { return nil }
    guard stored.starts(with: Self.header) else { throw EncryptedDataStoreError.notEncrypted(key: key) }
    let rest = Data(stored.dropFirst(Self.header.count))
    let nonce = Data(rest.prefix(AuthenticatedCipher.nonceLength))
    guard
      let data = AuthenticatedCipher.open(
        Data(rest.dropFirst(nonce.count)), key: self.key, nonce: nonce, authenticating: Self.context(of: key))
    else { throw EncryptedDataStoreError.cannotDecrypt(key: key) }
    return data
  }

  public func removeData(for key: String) throws { try store.removeData(for: key) }

  public func keys() throws -> Set<String> { try store.keys() }

  /// Returns the additional data that is authenticated: the format and the name.
  private static func context(of key: String) -> Data { header + Data(key.utf8) }

  private static func random(_ count: Int) -> Data { Data((0..<count).map { _ in UInt8.random(in: 0...255) }) }
}

/// An error of an ``EncryptedDataStore``. Nothing in the store was changed.
public enum EncryptedDataStoreError: Error, Sendable, Hashable {
  /// The key does not have 32 bytes.
  case invalidKey(length: Int)
  /// The value with this name cannot be decrypted: it was written with another key, or its bytes were changed. The two
  /// cannot be distinguished.
  case cannotDecrypt(key: String)
  /// The value with this name was not written by an ``EncryptedDataStore``.
  case notEncrypted(key: String)
  /// The value cannot be encrypted: it is larger than 2 GiB, or the platform refuses.
  case cannotEncrypt(key: String)
}

extension EncryptedDataStoreError: LocalizedError, CustomStringConvertible {
  /// The problem and the remedy.
  public var description: String {
    switch self {
    case .invalidKey(let length): "the key has \(length) bytes, but AES-256 needs 32: make one with makeKey()"
    case .cannotDecrypt(let key):
      "the value of '\(key)' cannot be decrypted: it was written with another key, or its bytes were changed"
    case .notEncrypted(let key):
      "the value of '\(key)' is not encrypted: read it with the inner store, and write it again"
    case .cannotEncrypt(let key): "the value of '\(key)' cannot be encrypted"
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}

extension EncryptedDataStore: CustomReflectable {
  /// A mirror without the key.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
