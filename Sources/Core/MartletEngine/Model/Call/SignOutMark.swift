import Synchronization

/// The position of the last sign-out in the order in which calls begin. Calls that began before it belong to the
/// previous user and must not store anything.
///
/// Code that stores data of one user has a mark: the cookie jar, the CSRF tokens, an observer's passwords. On a
/// sign-out it first sets the mark and then removes everything. It checks the mark and stores within one lock or
/// transaction, so that a response after the sign-out is discarded, however late it arrives.
package final class SignOutMark: Sendable {
  private let position = Atomic<UInt64>(0)

  package init() {}

  /// The position of the last sign-out; 0 if there was none.
  package var last: UInt64 { position.load(ordering: .sequentiallyConsistent) }

  /// Records a sign-out.
  package func set() {
    position.store(Call.takeNextPosition(), ordering: .sequentiallyConsistent)
  }

  /// Whether there was a sign-out after that position: the ``Call/id`` of a call, or ``Call/lastPosition`` when work
  /// outside a call began.
  package func isAfter(_ begun: UInt64) -> Bool { begun < last }

  /// - Throws: ``HTTPError/signedOut`` if there was a sign-out after that position.
  package func check(_ begun: UInt64) throws(HTTPError) {
    guard !isAfter(begun) else { throw HTTPError.signedOut }
  }
}

extension HTTPError {
  /// The error of a request that began before the sign-out.
  package static var signedOut: HTTPError {
    HTTPError(.authenticationFailed, "the user signed out after this request began", phase: .preparing)
  }
}
