import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file descriptors that the process can do without: those of idle connections, which may end at any time anyway.
///
/// Code that makes a descriptor and gets `EMFILE` or `ENFILE` lets all transports of the process give up idle
/// connections, and tries once more. So nothing fails while another part of the process only keeps descriptors for
/// later.
package enum SpareDescriptors {
  /// A transport with connections that it can give up.
  package protocol Holder: AnyObject, Sendable {
    /// Closes some idle connections, if there are any, and then calls the closure, on any thread.
    func giveUpIdleConnections(_ done: @escaping @Sendable () -> Void)
  }

  private struct Entry: Sendable {
    let id: ObjectIdentifier
    weak let holder: (any Holder)?
  }

  private static let entries = Mutex<[Entry]>([])

  /// Adds a holder, which calls ``remove(_:)`` when it is released.
  package static func add(_ holder: some Holder) {
    entries.withLock { $0.append(Entry(id: ObjectIdentifier(holder), holder: holder)) }
  }

  package static func remove(_ holder: some Holder) {
    let id = ObjectIdentifier(holder)
    entries.withLock { entries in entries.removeAll { $0.id == id } }
  }

  /// Lets all holders give up idle connections. Calls the closure when they have done so.
  package static func release(_ done: @escaping @Sendable () -> Void) {
    beginRelease().notify(queue: .global(), execute: done)
  }

  /// Makes a descriptor by a system call, which returns a negative number if it fails. If none is left, it blocks for
  /// at most 100 milliseconds, until the holders have given up idle connections, and tries once more. Not for the
  /// thread of a holder, which would wait for itself: see ``release(_:)``.
  package static func making(_ call: () -> Int32) -> Int32 {
    retrying(call) { $0 < 0 }
  }

  /// The same for any call that sets `errno`.
  package static func retrying<Result>(_ call: () -> Result, if hasFailed: (Result) -> Bool) -> Result {
    errno = 0
    let result = call()
    guard hasFailed(result), errno == EMFILE || errno == ENFILE else { return result }
    _ = beginRelease().wait(timeout: .now() + .milliseconds(100))
    return call()
  }

  private static func beginRelease() -> DispatchGroup {
    let holders = entries.withLock { $0.compactMap(\.holder) }
    let group = DispatchGroup()
    for holder in holders {
      group.enter()
      holder.giveUpIdleConnections { group.leave() }
    }
    return group
  }
}
