@_spi(Credentials) import MartletEngine

/// What a session or an observer keeps of a user: an app's store, passwords, certificates.
///
/// Work that stores something needs its beginning, taken when it began, and is refused if the user has signed out
/// since. So no code compares a mark by itself, and none can store without one. One thread at a time uses the content,
/// which may call back into its caller: the lock is recursive.
///
/// SAFETY: `content` is only used under the lock.
final class UserData<Content>: @unchecked Sendable {
  private let lock = NSRecursiveLock()
  private var content: Content
  /// Set when the user signs out.
  let signOutMark = SignOutMark()

  init(_ content: Content) { self.content = content }

  /// Whether the user has signed out since the work began.
  func hasSignedOut(since beginning: Beginning) -> Bool { signOutMark.isAfter(beginning) }

  /// Reads the content for work of the user, or stores what the work has obtained.
  ///
  /// - Throws: ``HTTPError/signedOut`` if the user has signed out since the work began; otherwise the error of the
  ///   work.
  func use<Result>(since beginning: Beginning, _ work: (inout Content) throws -> Result) throws -> Result {
    try change { content in
      try signOutMark.check(beginning)
      return try work(&content)
    }
  }

  /// Reads the content, or removes what is no longer valid. It stores nothing, so it needs no beginning.
  func access<Result>(_ work: (inout Content) throws -> Result) rethrows -> Result { try change(work) }

  /// Removes everything, because the user signs out. Work that began before stores nothing from now on.
  func signOut<Result>(_ removal: (inout Content) throws -> Result) rethrows -> Result {
    signOutMark.set()
    return try change { content in
      // Work that began during the removal may have found what was removed. Under the lock: it may wait to store that.
      defer { signOutMark.set() }
      return try removal(&content)
    }
  }

  private func change<Result>(_ work: (inout Content) throws -> Result) rethrows -> Result {
    lock.lock()
    // A store of the app may call back, and use the content during the work.
    var changed = content
    defer {
      content = changed
      lock.unlock()
    }
    return try work(&changed)
  }
}

extension Beginning {
  /// The beginning of the work for which an authenticator of the app is called; nil in all other code. Tasks that the
  /// authenticator begins, and cookies that it sets, count as begun then, so that none outlives a sign-out.
  @TaskLocal static var ofLogin: Beginning?

  /// The beginning of what the current code begins now, or for a login or a renewal that runs.
  static var current: Beginning { ofLogin ?? ofSharedWork }
}

// The content may be secret, so a dump shows nothing of it.

extension UserData: CustomReflectable {
  var customMirror: Mirror { Mirror(self, children: [:]) }
}
