@_spi(Stores) import SAPFoundation

/// What the program keeps about onboarding, beside the encrypted stores of the users: identifiers, the keys of stores
/// without a passcode, and failed attempts. All processes of the program share the file, which only the user can read.
final class OnboardingRecords: Sendable {
  /// The records of the program.
  static let shared = OnboardingRecords { try ProgramFolder.dataFile("Onboarding.sqlite") }

  private let location: @Sendable () throws -> URL
  private let opened = Locked<SQLiteDataStore?>(nil)

  /// - Parameter location: returns the URL of the file, which is opened when it is first used.
  init(_ location: @escaping @Sendable () throws -> URL) { self.location = location }

  /// The folder of the file, for the stores of the users.
  func folder() throws -> URL { try location().deletingLastPathComponent() }

  private func file() throws -> SQLiteDataStore {
    if let file = opened.value { return file }
    let file = try SQLiteDataStore(at: location()) { damaged in
      ForeignCalls.log.error("the users of this device are unknown: \(damaged)")
    }
    return opened.withLock { opened in
      let kept = opened ?? file
      opened = kept
      return kept
    }
  }

  // MARK: - Identifiers

  func id(for key: String) throws -> UUID? {
    try file().data(for: "id \(key)").flatMap { UUID(uuidString: String(decoding: $0, as: UTF8.self)) }
  }

  /// Stores an identifier if there is none, and returns the one that is stored then.
  func setID(_ id: UUID, for key: String) throws -> UUID {
    let name = "id \(key)"
    return try file().update([name]) { values in
      if let stored = values[name].flatMap({ UUID(uuidString: String(decoding: $0, as: UTF8.self)) }) { return stored }
      values[name] = Data(id.uuidString.utf8)
      return id
    }
  }

  /// Removes an identifier, unless another one replaced it.
  func removeID(_ id: UUID, for key: String) throws {
    let name = "id \(key)"
    try file().update([name]) { values in
      if values[name] == Data(id.uuidString.utf8) { values[name] = nil }
    }
  }

  // MARK: - Users

  /// The user whose flow was last opened.
  func lastUser() throws -> UUID? { try id(for: "last user") }

  /// Notes that a user is being removed: if the program ends in between, the next onboarding removes the rest.
  func beginRemoval(of id: UUID) throws {
    try set(ProcessMark.own.text, .unfinished, of: id)
    try removeID(id, for: "last user")
  }

  func setLastUser(_ id: UUID) throws { try file().put(data: Data(id.uuidString.utf8), for: "id last user") }

  func users() throws -> [OnboardingUser] { try Self.users(try file().data(for: "users")) }

  func changeUsers<Result>(_ change: @Sendable (inout [OnboardingUser]) -> Result) throws -> Result {
    let outcome = try file().update(["users"]) { values in
      Swift.Result { () throws -> Result in
        var users = try Self.users(values["users"])
        let result = change(&users)
        values["users"] = try JSONEncoder().encode(users)
        return result
      }
    }
    return try outcome.get()
  }

  /// Whether a user has onboarded, as far as the managers of this module know.
  func isKnown(_ id: UUID) throws -> Bool {
    if try users().contains(where: { $0.onboardingID == id }) { return true }
    let file = try self.file()
    return try file.keys().contains { key in
      try key.hasPrefix("id ") && file.data(for: key) == Data(id.uuidString.utf8)
    }
  }

  private static func users(_ data: Data?) throws -> [OnboardingUser] {
    try data.map { try JSONDecoder().decode([OnboardingUser].self, from: $0) } ?? []
  }

  // MARK: - Values of a store

  /// What is kept about the store of a user.
  enum StoreValue: String, CaseIterable {
    /// The key of a store without a passcode.
    case key
    /// The number of wrong passcodes in a row.
    case attempts
    /// The number of wrong passcodes that are allowed.
    case limit
    /// The process in which the onboarding is not finished.
    case unfinished
  }

  func text(_ value: StoreValue, of id: UUID) throws -> String? {
    try file().data(for: "\(value.rawValue) \(id.uuidString)").map { String(decoding: $0, as: UTF8.self) }
  }

  func set(_ text: String?, _ value: StoreValue, of id: UUID) throws {
    let name = "\(value.rawValue) \(id.uuidString)"
    if let text { try file().put(data: Data(text.utf8), for: name) } else { try file().removeData(for: name) }
  }

  /// The users whose onboarding is not finished, with their processes.
  func unfinished() throws -> [(id: UUID, process: String)] {
    let prefix = "\(StoreValue.unfinished.rawValue) "
    return try file().keys().filter { $0.hasPrefix(prefix) }.compactMap { key in
      guard let id = UUID(uuidString: String(key.dropFirst(prefix.count))), let process = try text(.unfinished, of: id)
      else { return nil }
      return (id, process)
    }
  }
}
