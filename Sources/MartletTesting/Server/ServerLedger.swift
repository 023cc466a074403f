import MartletSemantics

/// What a server knows of its past and its present; the threads write it, tests read it and wait on it.
struct ServerLedger: Sendable {
  var requests: [ReceivedRequest] = []
  /// How many connections were accepted.
  var accepted = 0
  /// How those that are over ended, by number.
  var ends: [Int: LoopbackServer.ConnectionEnd] = [:]
  /// The descriptors of the connections that are open.
  private var open: [Int: Int32] = [:]
  private(set) var isStopped = false

  /// Takes a new connection in; nil if the server was stopped, and then it is to be closed.
  mutating func admit(_ socket: Socket) -> Int? {
    guard !isStopped else { return nil }
    accepted += 1
    open[accepted] = socket.descriptor
    return accepted
  }

  /// Strikes a connection out. Its descriptor may be closed only afterwards: a number that the system gives out again
  /// must not be in here.
  mutating func strikeOut(_ connection: Int) { open[connection] = nil }

  /// Shuts everything down, which wakes every thread that waits for its socket; returns false the second time.
  ///
  /// These calls do not block. They are made under the lock because only there the descriptors are certain to be ours.
  mutating func stop(listener: Int32) -> Bool {
    guard !isStopped else { return false }
    isStopped = true
    SystemCalls.stopListening(listener)
    for descriptor in open.values { SystemCalls.shutDown(descriptor) }
    return true
  }
}
