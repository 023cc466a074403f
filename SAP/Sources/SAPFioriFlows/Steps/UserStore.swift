@_spi(Stores) import SAPFoundation

/// Asks for passcodes.
struct PasscodeQuestions: Sendable {
  private let decider: UncheckedSendable<any PasscodeDeciding>
  private let calls: ForeignCalls

  init(_ decider: any PasscodeDeciding, _ calls: ForeignCalls) {
    (self.decider, self.calls) = (UncheckedSendable(value: decider), calls)
  }

  /// Returns a passcode that meets the policy; nil if there may be none and the user wants none. A program that answers
  /// without a user would otherwise be asked for ever, so there is a limit.
  func newPasscode(for policy: PasscodePolicy) async throws -> String? {
    var violations: [PasscodePolicy.Violation] = []
    for _ in 0..<20 {
      let decision: PasscodeDecision = try await calls.answer(
        of: .init(decider.value, "choosePasscode(for:violations:)")
      ) { [decider, violations] done in
        decider.value.choosePasscode(for: policy, violations: violations, completionHandler: done)
      }
      if case .skip = decision, policy.isSkippable { return nil }
      let passcode = try decision.passcode()
      violations = policy.violations(of: passcode)
      if violations.isEmpty { return passcode }
    }
    throw StoreManagerError.passcodeRetryLimitReached
  }

  func passcode(attemptsLeft: Int?) async throws -> String {
    let decision: PasscodeDecision = try await calls.answer(
      of: .init(decider.value, "enterPasscode(attemptsLeft:)")
    ) { [decider] done in decider.value.enterPasscode(attemptsLeft: attemptsLeft, completionHandler: done) }
    return try decision.passcode()
  }
}

extension PasscodeDecision {
  fileprivate func passcode() throws -> String {
    switch self {
    case .passcode(let passcode): return passcode
    case .skip: throw StoreManagerError.skipPasscodeSetup
    case .reset: throw StoreManagerError.resetPasscode
    case .cancel: throw StoreManagerError.cancelPasscodeEntry
    case .addNewUser: throw StoreManagerError.addNewUser
    case .switchUser(let id): throw StoreManagerError.switchUser(to: id)
    }
  }
}

/// The encrypted store of one user, and what is kept beside it.
struct UserStore: Sendable {
  private let id: UUID
  private let context: OnboardingContext
  private let records: OnboardingRecords
  private let calls = ForeignCalls()

  init(_ context: OnboardingContext, _ records: OnboardingRecords) {
    (id, self.context, self.records) = (context.onboardingID, context, records)
  }

  private static func database(_ id: UUID, beside records: OnboardingRecords) throws -> SecureDatabaseStore {
    SecureDatabaseStore(databaseFileName: try records.folder().appending(path: "Store-\(id.uuidString).sqlite").path)
  }

  private func store() throws -> SecureKeyValueStore {
    try SecureKeyValueStore(databaseStore: Self.database(id, beside: records), name: "credentials")
  }

  /// The policy of the last passcode; nil without one.
  var policy: PasscodePolicy? {
    try? context.credentialStore.get(PasscodePolicy.self, for: Self.policyKey)
  }

  /// When the passcode was chosen; nil without one.
  var passcodeDate: Date? { try? context.credentialStore.get(Date.self, for: Self.dateKey) }

  /// Whether the user has a store.
  var exists: Bool {
    get throws { FileManager.default.fileExists(atPath: try Self.database(id, beside: records).file.path) }
  }

  private static let policyKey = "martlet.passcodePolicy"
  private static let dateKey = "martlet.passcodeDate"

  // MARK: - Making

  func make(_ policy: PasscodePolicy?, _ questions: PasscodeQuestions?) async throws {
    removeUnfinished()
    let store = try store()
    let file = store.secureDatabaseStore.file
    guard !FileManager.default.fileExists(atPath: file.path) else {
      throw StoreManagerError.storeAlreadyExists(path: file.path)
    }
    let passcode = try await newPasscode(policy, questions)
    do {
      try records.set(ProcessMark.own.text, .unfinished, of: id)
      try await open(store, with: key(passcode))
      if passcode != nil { try note(policy) }
      try context.credentialStore.setPersistentStore(store)
    } catch {
      ForeignCalls.log.error("the store of a user was not made", error: error)
      remove()
      throw StoreManagerError.failedToCreateStore
    }
    (context.persistentStoreManger as? PersistentStoreManager)?.set(store)
  }

  private func newPasscode(_ policy: PasscodePolicy?, _ questions: PasscodeQuestions?) async throws -> String? {
    guard let policy else { return nil }
    guard let questions else {
      throw OnboardingFlowError.noDecision(step: "StoreManagerStep", needs: "PasscodeDeciding")
    }
    return try await questions.newPasscode(for: policy)
  }

  /// Returns the passcode, or else a random key that is kept.
  private func key(_ passcode: String?) throws -> String {
    if let passcode { return passcode }
    let key = EncryptedDataStore.makeKey().base64EncodedString()
    try records.set(key, .key, of: id)
    return key
  }

  private func note(_ policy: PasscodePolicy?) throws {
    guard let policy else { return }
    try context.credentialStore.put(policy, for: Self.policyKey)
    try context.credentialStore.put(Date(), for: Self.dateKey)
    try records.set("\(policy.retryLimit)", .limit, of: id)
  }

  private func open(_ store: SecureKeyValueStore, with key: String) async throws {
    let database = store.secureDatabaseStore
    try await calls.slowly { try database.open(with: key) }
  }

  // MARK: - Opening

  func open(_ questions: PasscodeQuestions?) async throws {
    if context.persistentStoreManger.store?.isOpen == true, context.credentialStore.persistentStore != nil { return }
    let store = try store()
    let file = store.secureDatabaseStore.file
    guard FileManager.default.fileExists(atPath: file.path) else {
      throw StoreManagerError.storeDoesntExist(path: file.path)
    }
    do {
      if let key = try records.text(.key, of: id) {
        // A program that ended while it replaced the key by a passcode leaves both.
        do { try await open(store, with: key) } catch SecureStorageError.authenticationFailed {
          try await enterPasscode(store, questions)
          try records.set(nil, .key, of: id)
        }
      } else {
        try await enterPasscode(store, questions)
      }
      try context.credentialStore.setPersistentStore(store)
    } catch let error as SecureStorageError {
      ForeignCalls.log.error("the store of a user was not opened", error: error)
      throw StoreManagerError.failedToOpenStore
    }
    (context.persistentStoreManger as? PersistentStoreManager)?.set(store)
  }

  private func enterPasscode(_ store: SecureKeyValueStore, _ questions: PasscodeQuestions?) async throws {
    guard let questions else {
      throw OnboardingFlowError.noDecision(step: "StoreManagerStep", needs: "PasscodeDeciding")
    }
    let limit = try records.text(.limit, of: id).flatMap { Int($0) } ?? PasscodePolicy().retryLimit
    while true {
      let wrong = try records.text(.attempts, of: id).flatMap { Int($0) } ?? 0
      guard limit == 0 || wrong < limit else { throw StoreManagerError.passcodeRetryLimitReached }
      let passcode = try await questions.passcode(attemptsLeft: limit == 0 ? nil : limit - wrong)
      // It counts before it is tried: ending the program in between gives no further attempt.
      try records.set("\(wrong + 1)", .attempts, of: id)
      do {
        try await open(store, with: passcode)
        return try records.set(nil, .attempts, of: id)
      } catch SecureStorageError.authenticationFailed { continue }
    }
  }

  // MARK: - Changing and removing

  func replacePasscode(_ policy: PasscodePolicy?, _ questions: PasscodeQuestions?) async throws {
    guard let store = context.persistentStoreManger.store, let policy else {
      throw StoreManagerError.invalidPasscodeAction
    }
    guard let passcode = try await newPasscode(policy, questions) else { return }
    let database = store.secureDatabaseStore
    do {
      try await calls.slowly { try database.changeEncryptionKey(with: passcode) }
      try records.set(nil, .key, of: id)
      try note(policy)
    } catch {
      ForeignCalls.log.error("a passcode was not changed", error: error)
      throw StoreManagerError.passcodeChangeFailed
    }
  }

  func remove() {
    if context.credentialStore.persistentStore != nil { context.credentialStore.releasePersistentStore() }
    context.persistentStoreManger.store?.close()
    (context.persistentStoreManger as? PersistentStoreManager)?.set(nil)
    Self.remove(id, records)
  }

  /// Removes the stores of onboardings whose process has ended before they were finished. A user whose identifier was
  /// stored has onboarded: only the note is left over.
  private func removeUnfinished() {
    let unfinished = (try? records.unfinished()) ?? []
    for (id, process) in unfinished where !ProcessMark.isRunning(process) {
      if (try? records.isKnown(id)) == true {
        try? records.set(nil, .unfinished, of: id)
      } else {
        Self.remove(id, records)
      }
    }
  }

  private static func remove(_ id: UUID, _ records: OnboardingRecords) {
    do {
      let file = try database(id, beside: records).file
      for suffix in ["", "-wal", "-shm"] {
        let path = file.path + suffix
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
      }
      for value in OnboardingRecords.StoreValue.allCases { try records.set(nil, value, of: id) }
    } catch { ForeignCalls.log.error("the store of a user was not removed", error: error) }
  }
}

/// Names a process so that another one with its number is not taken for it.
struct ProcessMark {
  let text: String

  static let own = ProcessMark(text: name(of: ProcessInfo.processInfo.processIdentifier))

  static func isRunning(_ text: String) -> Bool {
    guard let number = text.split(separator: " ").first.flatMap({ Int32($0) }) else { return false }
    return name(of: number) == text
  }

  #if os(Linux)
  /// The number, and when the process started (field 22 of its `stat`; the second field may have spaces).
  private static func name(of number: Int32) -> String {
    let stat = (try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)) ?? ""
    let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
    return fields.count > 20 ? "\(number) \(fields[20])" : "\(number) ended"
  }
  #else
  /// The number: a process with it, or one that may not be asked, counts as the same.
  private static func name(of number: Int32) -> String {
    kill(number, 0) == 0 || errno == EPERM ? "\(number)" : "\(number) ended"
  }
  #endif
}
