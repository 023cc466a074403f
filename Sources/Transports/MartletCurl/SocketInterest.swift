#if os(Linux)
import CCurl
import Glibc

/// The socket events that libcurl is interested in, and those registered with epoll. They are synchronized once a turn,
/// because libcurl changes its interest several times within one.
///
/// An idle connection stays registered, so that reusing it costs no system call. Any other descriptor, such as the pipe
/// of libcurl's resolver, is unregistered at once, because libcurl does not report when it closes it and its number is
/// used again.
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

  /// Notes libcurl's interest in a socket.
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

  /// Notes that a socket belongs to a connection.
  mutating func opened(_ descriptor: Int32) {
    makeRoom(for: Int(descriptor))
    entries[Int(descriptor)].isConnection = true
  }

  /// Unregisters a connection's socket that is about to be closed, because its number may be used again. The kernel
  /// does so by itself, but not while a child process has a copy of it.
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

  /// Registers with epoll what changed in this turn.
  mutating func apply() {
    for descriptor in changed {
      let entry = entries[Int(descriptor)]
      entries[Int(descriptor)].isChanged = false
      let staysIdle = entry.wanted == 0 && entry.registered == EPOLLIN.rawValue
      if entry.wanted != entry.registered, !staysIdle { register(entry.wanted, of: descriptor) }
    }
    changed.removeAll(keepingCapacity: true)
  }

  /// Whether libcurl is interested in this socket. If not, the socket is unregistered, so that unread input does not
  /// wake the loop again and again: the end of an idle connection, unexpected bytes, or frames that concern the whole
  /// connection.
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
      // the number was closed and used again unnoticed: only the current interest counts
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
