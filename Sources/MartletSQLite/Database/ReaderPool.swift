import Synchronization

/// Connections for reading that are between two reads.
///
/// A connection is out for as long as one read takes, and a read does not suspend: so there are never more connections
/// than there are threads, and no reader waits for another.
final class ReaderPool: Sendable {
  private let idle = Mutex<[Connection]>([])

  /// As many threads as read at once on most machines.
  private static let capacity = 16

  /// A connection to this file, nil if there is none; those to another are closed.
  func take(for file: FileIdentity) -> Connection? {
    let (connection, others) = idle.withLock { idle in
      let last = idle.popLast()
      if last == nil || last?.identity == file { return (last, [Connection]()) }
      defer { idle = [] }
      return (nil, idle)
    }
    _ = others  // closed here, not under the lock
    return connection
  }

  func give(back connection: Connection) {
    idle.withLock { idle in
      if idle.count < Self.capacity { idle.append(connection) }
    }
  }
}
