package import MartletSemantics

/// The sign-outs that a store of several processes has recorded for a group of partitions. Each of them changes the
/// value, and so does a new file in place of the old one.
package struct SharedSignOuts: Sendable, Hashable {
  /// Changed when all cookies are removed.
  package var ofAll: Int64
  /// Changed when the cookies of a partition in the group are removed.
  package var ofGroup: Int64

  package init(ofAll: Int64 = 0, ofGroup: Int64 = 0) { (self.ofAll, self.ofGroup) = (ofAll, ofGroup) }

  /// The number of groups. A sign-out of one partition also refuses the cookies that others of its group are about to
  /// receive in other processes, so there are many; but their number is bounded, and does not tell the partition.
  package static let groupCount = 256
}

/// A store whose cookies several processes change. A sign-out in one of them holds for all: it also refuses the cookies
/// of responses that the others have under way, which belong to the user who has signed out.
///
/// ``CookieStore/removeAll()`` changes ``SharedSignOuts/ofAll`` in the step that removes the cookies.
package protocol SharedCookieStore: CookieStore {
  /// Returns the sign-outs so far.
  func signOuts(of group: Int) async throws -> SharedSignOuts

  /// Records the sign-out of a partition in the group. Changes that began before are then complete.
  func noteSignOut(of group: Int) async throws

  /// Changes the cookies of a site like ``CookieStore/update(_:_:)``, with the sign-outs at that moment, which no
  /// other process changes before the cookies are stored.
  func update<Result: Sendable>(
    _ site: String, in group: Int, _ change: @escaping @Sendable (inout [Cookie], SharedSignOuts) -> Result
  ) async throws -> Result
}
