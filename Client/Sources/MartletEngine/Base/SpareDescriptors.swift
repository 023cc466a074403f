import Dispatch
public import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file descriptors that the process can do without: the descriptors of idle connections, which may end at any time
/// anyway.
///
/// Code that makes a descriptor and gets `EMFILE` or `ENFILE` lets all transports of the process give up idle
/// connections, and tries once more. So nothing fails while another part of the process only keeps descriptors for
/// later.
@_spi(Toolkit) public enum SpareDescriptors {
  /// Gives up idle connections, if there are any, on any thread. It releases the argument when they are closed.
  package typealias GiveUp = @Sendable (_ done: Done) -> Void

  /// Ends the wait for a transport when it is released, even if the transport has ended in the meantime.
  package final class Done: Sendable {
    private let group: DispatchGroup

    fileprivate init(_ group: DispatchGroup) {
      self.group = group
      group.enter()
    }

    deinit { group.leave() }
  }

  /// The transports. The references to them are not weak: each retain and release of an object that has a weak
  /// reference takes longer, and every request has some of a transport's thread.
  private static let transports = Mutex<(last: Int, list: [Int: GiveUp])>((0, [:]))

  /// Adds a transport. Returns the number with which ``remove(_:)`` is called at its end.
  package static func add(_ giveUp: @escaping GiveUp) -> Int {
    transports.withLock { transports in
      transports.last += 1
      transports.list[transports.last] = giveUp
      return transports.last
    }
  }

  /// Removes a transport.
  package static func remove(_ number: Int) {
    let removed = transports.withLock { $0.list.removeValue(forKey: number) }
    withExtendedLifetime(removed) {}  // It is released outside the lock.
  }

  /// Lets all transports give up idle connections. Calls the closure when they have done so.
  package static func release(_ done: @escaping @Sendable () -> Void) {
    beginRelease(by: all()).notify(queue: .global(), execute: done)
  }

  /// Makes a descriptor by a system call, which returns a negative number if it fails. If none is left, it blocks for
  /// at most 100 milliseconds, until the transports have given up idle connections, and tries once more. Not for the
  /// thread of a transport, which would wait for itself: see ``release(_:)``.
  public static func making(_ call: () -> Int32) -> Int32 {
    retrying(call) { $0 < 0 }
  }

  /// The same for any call that sets `errno`.
  package static func retrying<Result>(_ call: () -> Result, if hasFailed: (Result) -> Bool) -> Result {
    errno = 0
    let result = call()
    guard hasFailed(result), errno == EMFILE || errno == ENFILE else { return result }
    waitForRelease()
    return call()
  }

  /// The same for work whose error tells that no descriptor was left.
  public static func repeating<Result>(
    _ work: () throws -> Result, if lacksDescriptor: (any Error) -> Bool
  ) rethrows -> Result {
    do { return try work() } catch {
      guard lacksDescriptor(error) else { throw error }
      waitForRelease()
      return try work()
    }
  }

  private static func waitForRelease() {
    _ = beginRelease(by: all()).wait(timeout: .now() + .milliseconds(100))
  }

  /// Reads a whole file.
  public static func contents(of file: URL) throws -> Data {
    try retrying({ Result { try Data(contentsOf: file) } }, if: { (try? $0.get()) == nil }).get()
  }

  private static func all() -> [GiveUp] { transports.withLock { Array($0.list.values) } }

  /// Lets transports give up idle connections. The group is empty when they have done so.
  static func beginRelease(by transports: [GiveUp]) -> DispatchGroup {
    let group = DispatchGroup()
    for giveUp in transports { giveUp(Done(group)) }
    return group
  }
}
