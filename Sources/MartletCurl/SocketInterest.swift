#if os(Linux)
import CCurl
import Glibc

/// Which sockets libcurl wants watched, and which the kernel watches: brought together once a turn, because libcurl
/// changes its mind several times within one.
///
/// A connection that is idle in the pool stays registered, so that a keep-alive request costs no system call for it. What
/// else libcurl watches, such as the pipe of its resolver, is let go at once: it is closed without a word, and its number
/// comes again.
struct SocketInterest {
  let epoll: Int32
  private var entries: [Entry] = []
  private var changed: [Int32] = []

  private struct Entry {
    var wanted: UInt32 = 0
    var registered: UInt32 = 0
    var isChanged = false
    var isConnection = false
  }

  init(epoll: Int32) { self.epoll = epoll }

  /// libcurl's wish for a socket.
  mutating func want(_ interest: Int32, of descriptor: Int32) {
    let index = Int(descriptor)
    makeRoom(for: index)
    entries[index].wanted = interest == CURL_POLL_REMOVE ? 0 : Self.events(of: interest)
    if interest == CURL_POLL_REMOVE, !entries[index].isConnection, entries[index].registered != 0 {
      return register(0, of: descriptor)
    }
    guard !entries[index].isChanged else { return }
    entries[index].isChanged = true
    changed.append(descriptor)
  }

  /// libcurl opened a connection's socket.
  mutating func opened(_ descriptor: Int32) {
    makeRoom(for: Int(descriptor))
    entries[Int(descriptor)].isConnection = true
  }

  /// The connection's socket is about to be closed, and its number may come again. The kernel would forget it by itself,
  /// but not while a child process holds a copy.
  mutating func closed(_ descriptor: Int32) {
    guard entries.indices.contains(Int(descriptor)) else { return }
    if entries[Int(descriptor)].registered != 0 { register(0, of: descriptor) }
    entries[Int(descriptor)].wanted = 0
    entries[Int(descriptor)].isConnection = false
  }

  private mutating func makeRoom(for index: Int) {
    guard index >= entries.count else { return }
    entries += Array(repeating: Entry(), count: max(64, index + 1 - entries.count))
  }

  /// Tells the kernel what changed in this turn.
  mutating func apply() {
    for descriptor in changed {
      let entry = entries[Int(descriptor)]
      entries[Int(descriptor)].isChanged = false
      let staysIdle = entry.wanted == 0 && entry.registered == EPOLLIN.rawValue
      if entry.wanted != entry.registered, !staysIdle { register(entry.wanted, of: descriptor) }
    }
    changed.removeAll(keepingCapacity: true)
  }

  /// Whether libcurl waits for this socket. Where it does not, the socket is watched no longer, so that what came over it does not
  /// keep the loop awake: the end of an idle connection, bytes that nobody asked for, or frames that concern the connection.
  mutating func isWanted(_ descriptor: Int32) -> Bool {
    guard entries.indices.contains(Int(descriptor)) else { return true }
    if entries[Int(descriptor)].wanted != 0 { return true }
    if entries[Int(descriptor)].registered != 0 { register(0, of: descriptor) }
    return false
  }

  private mutating func register(_ events: UInt32, of descriptor: Int32) {
    let registered = entries[Int(descriptor)].registered
    let operation = events == 0 ? EPOLL_CTL_DEL : registered == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
    if martlet_epoll_control(epoll, operation, descriptor, events) != 0, events != 0 {
      // a number that was closed and came again without our knowing: what counts is what is wanted now
      let other = operation == EPOLL_CTL_ADD ? EPOLL_CTL_MOD : EPOLL_CTL_ADD
      _ = martlet_epoll_control(epoll, other, descriptor, events)
    }
    entries[Int(descriptor)].registered = events
  }

  private static func events(of interest: Int32) -> UInt32 {
    (interest & CURL_POLL_IN != 0 ? EPOLLIN.rawValue : 0) | (interest & CURL_POLL_OUT != 0 ? EPOLLOUT.rawValue : 0)
  }
}
#endif
