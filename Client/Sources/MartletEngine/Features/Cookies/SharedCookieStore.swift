public import MartletSemantics

/// A store whose cookies several processes change. A sign-out in one of them holds for all: it also refuses the cookies
/// of responses that the others have under way, which belong to the user who has signed out.
///
/// ``CookieStore/removeAll()`` changes ``SharedSignOuts/ofAll`` in the step that removes the cookies.
@_spi(Stores) public protocol SharedCookieStore: CookieStore {
  /// Returns the sign-outs so far.
  ///
  /// - Parameter group: a number below ``SharedSignOuts/groupCount``. A partition always has the same one.
  func signOuts(of group: Int) async throws -> SharedSignOuts

  /// Records the sign-out of a partition in the group. Changes that began before are then complete.
  func noteSignOut(of group: Int) async throws

  /// Changes the cookies of a site like ``CookieStore/update(_:_:)``, with the sign-outs at that moment, which no
  /// other process changes before the cookies are stored.
  func update<Result: Sendable>(
    _ site: String, in group: Int, _ change: @escaping @Sendable (inout [Cookie], SharedSignOuts) -> Result
  ) async throws -> Result
}
