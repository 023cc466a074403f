public import Foundation

/// Stores values as bytes.
///
/// ```swift
/// let storage = CodableStorage(store: try SQLiteDataStore(at: folder.appending(path: "values.sqlite")))
/// try storage.put(settings, for: "settings")
/// ```
///
/// It holds nothing itself, so that it may be used from any thread if its store may: both ``MemoryDataStore`` and
/// ``SQLiteDataStore`` may. (SAP's must not.)
open class CodableStorage: CodableStoring {
  private let store: any DataStoring
  private let coder: any CoderProtocol

  /// Makes a storage.
  ///
  /// - Parameters:
  ///   - store: where the bytes go; memory by default, which forgets everything with the process.
  ///   - coder: how they are made; property lists by default.
  public init(store: any DataStoring = MemoryDataStore(), coder: any CoderProtocol = PlistCoder()) {
    self.store = store
    self.coder = coder
  }

  open func get<T: Codable>(_ type: T.Type, for key: String) throws -> T? {
    try store.data(for: key).map { try coder.decode(type, from: $0) }
  }

  open func put<T: Codable>(_ value: T, for key: String) throws { try store.put(data: coder.encode(value), for: key) }

  open func remove(for key: String) throws { try store.removeData(for: key) }

  /// All keys.
  public func keys() throws -> Set<String> { try store.keys() }
}

/// Property lists. A value that is no list or dictionary is put into a list of one, because a property list needs one.
open class PlistCoder: CoderProtocol {
  /// What encodes.
  public let encoder = PropertyListEncoder()
  /// What decodes.
  public let decoder = PropertyListDecoder()

  /// Makes a coder that writes binary property lists.
  public init() { encoder.outputFormat = .binary }

  open func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    guard let value = try decoder.decode([T].self, from: data).first else {
      throw DecodingError.valueNotFound(type, .init(codingPath: [], debugDescription: "the list is empty"))
    }
    return value
  }

  open func encode<Value: Encodable>(_ value: Value) throws -> Data { try encoder.encode([value]) }
}
