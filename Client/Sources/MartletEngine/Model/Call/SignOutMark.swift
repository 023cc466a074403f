import Synchronization

/// The position of the last sign-out in the order in which calls begin. Calls that began before it belong to the
/// previous user and must not store anything.
///
/// Code that stores data of one user has a mark: the cookie jar, the CSRF tokens, an observer's passwords. On a
/// sign-out it first sets the mark and then removes everything. It checks the mark and stores within one lock or
/// transaction, so that a response after the sign-out is discarded, however late it arrives. Work that reads the data
/// outside of that lock may begin during the removal and still find them: then the mark is set once more at the end.
@_spi(Credentials) public final class SignOutMark: Sendable {
  private let position = Atomic<UInt64>(0)

  public init() {}

  /// The position of the last sign-out; 0 if there was none. While one is being recorded, it may change twice.
  public var last: UInt64 { position.load(ordering: .sequentiallyConsistent) }

  /// Records a sign-out.
  public func set() {
    // `max`, because a thread that stops here for a moment must not undo a later sign-out. Twice, because work may
    // begin at the first position before it is recorded, and still find the former user's data: the second position is
    // taken when all later work finds the first mark.
    for _ in 1...2 { position.max(Call.takeNextPosition(), ordering: .sequentiallyConsistent) }
  }

  /// Whether there was a sign-out after that position: the ``Call/id`` of a call, or ``Call/lastPosition`` when work
  /// outside a call began.
  public func isAfter(_ begun: UInt64) -> Bool { begun < last }

  /// - Throws: ``HTTPError/signedOut`` if there was a sign-out after that position.
  public func check(_ begun: UInt64) throws(HTTPError) {
    guard !isAfter(begun) else { throw HTTPError.signedOut }
  }
}

/// The sign-outs that a store of several processes has recorded for a group of partitions. Each sign-out changes the
/// value, and so does a new file in place of the old one.
@_spi(Stores) public struct SharedSignOuts: Sendable, Hashable {
  /// Changed when all cookies are removed.
  public var ofAll: Int64
  /// Changed when the cookies of a partition in the group are removed.
  public var ofGroup: Int64

  public init(ofAll: Int64 = 0, ofGroup: Int64 = 0) { (self.ofAll, self.ofGroup) = (ofAll, ofGroup) }

  /// The number of groups. A sign-out of one partition also refuses the cookies that other partitions of its group are
  /// about to receive in other processes, so there are many groups. Their number is bounded, and a group does not
  /// reveal its partitions.
  public static let groupCount = 256
}

/// When work for a user began, in the order of calls and sign-outs. Code that stores data of the user needs this value,
/// and stores nothing after a sign-out.
@_spi(Credentials) public struct Beginning: Sendable {
  /// ``Call/id``, or ``Call/lastPosition`` when work outside a call began.
  public let position: UInt64
  /// The sign-outs that all processes knew then; nil if they are not known.
  public let signOuts: SharedSignOuts?

  public init(_ position: UInt64, signOuts: SharedSignOuts? = nil) {
    (self.position, self.signOuts) = (position, signOuts)
  }

  /// The beginning of work that begins now, outside a call.
  public static var now: Beginning { Beginning(Call.lastPosition) }

  /// The beginning of the work of the current code that several calls share, such as the renewal of a token. It was
  /// taken before the decision to do the work, so that a sign-out that discards the work is always after it. Outside of
  /// such work it is ``now``.
  public static var ofSharedWork: Beginning { CallContext.positionOfSharedWork.map { Beginning($0) } ?? now }
}

extension SignOutMark {
  /// Whether there was a sign-out since the work began.
  @_spi(Credentials) public func isAfter(_ beginning: Beginning) -> Bool { isAfter(beginning.position) }

  /// - Throws: ``HTTPError/signedOut`` if there was a sign-out since the work began.
  @_spi(Credentials) public func check(_ beginning: Beginning) throws(HTTPError) { try check(beginning.position) }
}

extension HTTPError {
  /// The error of a request that began before the sign-out.
  @_spi(Credentials) public static var signedOut: HTTPError {
    HTTPError(.authenticationFailed, "the user signed out after this request began", phase: .preparing)
  }
}
