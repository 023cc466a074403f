/// Knows which users have onboarded on this device, and so which flow an app needs.
public protocol OnboardingIDManaging {
  /// Names the purpose of the next flow. Call the handler once.
  func flowToStart(completionHandler: @escaping @Sendable (OnboardingFlow.FlowType) -> Void)

  /// Stores the identifier of a user who has onboarded. Call the handler once, with nil or an error.
  func store(onboardingID: UUID, completionHandler: @escaping @Sendable ((any Error)?) -> Void)

  /// Removes an identifier. Call the handler before the function returns.
  func remove(onboardingID: UUID, completionHandler: () -> Void)
}

/// Remembers one user: the first flow onboards, later ones restore.
///
/// The identifier is in a file of the program's folder (`~/.local/share/APP/SAPFoundation` on Linux), which all
/// processes of the program share. If two processes onboard at once, the first one to finish wins; the onboarding of
/// the other fails with ``OnboardingControllerError/mismatchingOnboardingIDs``, and its next flow restores the user.
///
/// SAFETY: ``backgroundMode`` and the file have locks of their own; a subclass may be used on any thread, as this
/// class.
open class SingleUserOnboardingIDManager: OnboardingIDManaging, @unchecked Sendable {
  /// The name under which the identifier is stored by default. (SAP does not publish its text.)
  public static let defaultStoringKey = "onboardingID"

  /// The name under which the identifier is stored.
  public let storingKey: String
  private let isInBackground: Locked<Bool>
  private let records: OnboardingRecords

  /// Makes a manager.
  ///
  /// - Parameters:
  ///   - storingKey: the name under which the identifier is stored. Apps in one program need different names.
  ///   - backgroundMode: whether a user who has onboarded gets a background flow; false by default.
  public init(storingKey: String = defaultStoringKey, backgroundMode: Bool = false) {
    (self.storingKey, isInBackground) = (storingKey, Locked(backgroundMode))
    records = .shared
  }

  init(_ records: OnboardingRecords) {
    (storingKey, isInBackground, self.records) = (Self.defaultStoringKey, Locked(false), records)
  }

  /// Whether a user who has onboarded gets a background flow.
  public var backgroundMode: Bool {
    get { isInBackground.value }
    set { _ = isInBackground.replace(by: newValue) }
  }

  open func flowToStart(completionHandler: @escaping @Sendable (OnboardingFlow.FlowType) -> Void) {
    do {
      guard let id = try records.id(for: storingKey) else { return completionHandler(.onboard) }
      completionHandler(backgroundMode ? .background(onboardingID: id) : .restore(onboardingID: id))
    } catch {
      ForeignCalls.log.warn("the identifier of the user cannot be read: a new user onboards", error: error)
      completionHandler(.onboard)
    }
  }

  open func store(onboardingID: UUID, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    do {
      let stored = try records.setID(onboardingID, for: storingKey)
      completionHandler(stored == onboardingID ? nil : OnboardingControllerError.mismatchingOnboardingIDs)
    } catch { completionHandler(OnboardingFlowError.notStored("\(error)")) }
  }

  open func remove(onboardingID: UUID, completionHandler: () -> Void) {
    do { try records.removeID(onboardingID, for: storingKey) } catch {
      ForeignCalls.log.warn("the identifier of a user was not removed", error: error)
    }
    completionHandler()
  }
}

/// Remembers all users of a device that several people share.
///
/// ```swift
/// let users = MultiUserOnboardingIDManager()
/// users.next = .newUser(name: "ben")
/// ```
///
/// By default the next flow restores the user who was last here; ``next`` chooses another one. In SAP's framework a
/// screen does that, whose types are not published.
///
/// SAFETY: ``next`` has a lock; a subclass may be used on any thread, as this class.
open class MultiUserOnboardingIDManager: OnboardingIDManaging, @unchecked Sendable {
  /// The user of the next flow.
  public enum Choice: Sendable, Hashable {
    /// The user who was last here; a new one without a name if there is none.
    case lastUser
    /// A new user.
    case newUser(name: String)
    /// A user who has onboarded.
    case user(onboardingID: UUID)
  }

  private let userManager: UncheckedSendable<any UserManaging>
  private let choice = Locked(Choice.lastUser)

  /// Makes a manager.
  ///
  /// - Parameter userManager: stores the users; by default in a file of the program's folder.
  public init(userManager: any UserManaging = UserManager()) {
    self.userManager = UncheckedSendable(value: userManager)
  }

  /// The user of the next flow. It stays until the user has onboarded or is removed.
  public var next: Choice {
    get { choice.value }
    set { _ = choice.replace(by: newValue) }
  }

  /// The users who have onboarded; the one who was last here first.
  ///
  /// - Throws: the error of the user manager.
  public func users() throws -> [OnboardingUser] { try userManager.value.users() }

  open func flowToStart(completionHandler: @escaping @Sendable (OnboardingFlow.FlowType) -> Void) {
    switch next {
    case .newUser: completionHandler(.onboard)
    case .user(let id):
      if let user = try? users().first(where: { $0.onboardingID == id }) { note(user) }
      completionHandler(.restore(onboardingID: id))
    case .lastUser:
      do {
        completionHandler(try users().first.map { .restore(onboardingID: $0.onboardingID) } ?? .onboard)
      } catch {
        ForeignCalls.log.warn("the users cannot be read: a new user onboards", error: error)
        completionHandler(.onboard)
      }
    }
  }

  open func store(onboardingID: UUID, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    var name = ""
    if case .newUser(let chosen) = next { name = chosen }
    do {
      try userManager.value.store(OnboardingUser(onboardingID: onboardingID, name: name))
      next = .lastUser
      completionHandler(nil)
    } catch { completionHandler(error) }
  }

  open func remove(onboardingID: UUID, completionHandler: () -> Void) {
    do { try userManager.value.remove(onboardingID: onboardingID) } catch {
      ForeignCalls.log.warn("a user was not removed", error: error)
    }
    if next == .user(onboardingID: onboardingID) { next = .lastUser }
    completionHandler()
  }

  /// Makes a user the last one.
  private func note(_ user: OnboardingUser) {
    do { try userManager.value.store(user) } catch {
      ForeignCalls.log.warn("the last user was not stored", error: error)
    }
  }
}

/// A user who has onboarded on this device.
public struct OnboardingUser: Codable, Sendable, Hashable {
  /// Identifies the user on this device.
  public let onboardingID: UUID
  /// The name with which the app shows the user; empty if it gave none.
  public let name: String

  /// Makes a user.
  public init(onboardingID: UUID, name: String) { (self.onboardingID, self.name) = (onboardingID, name) }
}

/// Stores the users of a device. (SAP publishes the name, and not the requirements.)
public protocol UserManaging {
  /// Returns the users; the one who was stored last first.
  func users() throws -> [OnboardingUser]

  /// Stores a user, or moves a stored one to the front.
  ///
  /// - Throws: ``UserManagerError/userAlreadyExists(with:)`` if another user has the same name.
  func store(_ user: OnboardingUser) throws

  /// Removes a user. A missing one is not an error.
  func remove(onboardingID: UUID) throws
}

/// Stores the users in a file of the program's folder, which all processes of the program share.
public final class UserManager: UserManaging, Sendable {
  private let records: OnboardingRecords

  /// Makes a manager.
  public init() { records = .shared }

  init(_ records: OnboardingRecords) { self.records = records }

  public func users() throws -> [OnboardingUser] { try records.users() }

  public func store(_ user: OnboardingUser) throws {
    let isNew = try records.changeUsers { users in
      let others = users.filter { $0.onboardingID != user.onboardingID }
      if !user.name.isEmpty, others.contains(where: { $0.name == user.name }) { return false }
      users = [user] + others
      return true
    }
    guard isNew else { throw UserManagerError.userAlreadyExists(with: user.name) }
  }

  public func remove(onboardingID: UUID) throws {
    try records.changeUsers { users in users.removeAll { $0.onboardingID == onboardingID } }
  }
}

/// The error of a ``UserManaging``.
public enum UserManagerError: SAPError, Sendable, Hashable {
  /// A user with this name has onboarded.
  case userAlreadyExists(with: String)
  /// Another user than this one has signed in.
  case userMismatch(with: String)

  /// The problem.
  public var description: String {
    switch self {
    case .userAlreadyExists(let name): "The user \(name) has already onboarded on this device."
    case .userMismatch(let name): "Another user than \(name) has signed in."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}
