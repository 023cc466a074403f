public import Foundation

/// Keeps values of any `Codable` type under keys: cookies, tokens, credentials.
///
/// The stores of this module may be used from any thread; SAP's own may not. A store of an app's own that is given to an
/// observer or a cookie storage is called by one thread at a time, as long as it is given to one only. It may use
/// the session while it is called, but not wait for it.
public protocol CodableStoring: AnyObject {
  /// The value of a key; nil if there is none.
  ///
  /// - Throws: what the store meets: no file, another type.
  func get<T: Codable>(_ type: T.Type, for key: String) throws -> T?

  /// Stores a value in place of what was there.
  func put<T: Codable>(_ value: T, for key: String) throws

  /// Forgets a key and its value. One that is not there is no error.
  func remove(for key: String) throws
}

/// Keeps bytes under keys: what a ``CodableStorage`` writes to.
public protocol DataStoring {
  /// Stores bytes in place of what was there.
  func put(data: Data, for key: String) throws

  /// The bytes of a key; nil if there are none.
  func data(for key: String) throws -> Data?

  /// Forgets a key and its bytes. One that is not there is no error.
  func removeData(for key: String) throws

  /// All keys.
  func keys() throws -> Set<String>
}

/// Makes bytes of values, and values of bytes.
public protocol CoderProtocol {
  /// The value in the bytes.
  func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T

  /// The bytes of a value.
  func encode<Value: Encodable>(_ value: Value) throws -> Data
}
