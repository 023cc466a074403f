/// A server's requests and connections. The connections' threads update it; tests read and await it.
struct ServerState: Sendable {
  /// Whether requests and ends are kept. The memory of a server that keeps none does not grow with their number.
  let recording: LoopbackServer.Recording
  private(set) var requests: [ReceivedRequest] = []
  /// The number of connections that were accepted.
  private(set) var accepted = 0
  /// How the closed connections ended, by number.
  private(set) var ends: [Int: LoopbackServer.ConnectionEnd] = [:]
  /// The descriptors of the open connections, by number.
  private var open: [Int: Int32] = [:]
  /// When connections began to wait for the head of a request, or for more of a body, by number: a count of all waits
  /// so far.
  private var waiting: [Int: Int] = [:]
  private var waitCount = 0
  private(set) var isStopped = false

  init(recording: LoopbackServer.Recording) { self.recording = recording }

  /// The number of open connections.
  var openCount: Int { open.count }

  mutating func record(_ request: ReceivedRequest) { if recording == .everything { requests.append(request) } }

  mutating func record(_ end: LoopbackServer.ConnectionEnd, of connection: Int) {
    if recording == .everything { ends[connection] = end }
  }

  /// Adds a new connection and returns its number; nil if the server was stopped, and the connection must be closed.
  mutating func add(_ socket: ServerSocket) -> Int? {
    guard !isStopped else { return nil }
    accepted += 1
    open[accepted] = socket.descriptor
    beginWaiting(accepted)
    return accepted
  }

  /// Records that a connection waits for its client, unless it had to give way or waits already.
  mutating func beginWaiting(_ connection: Int) {
    guard open[connection] != nil, waiting[connection] == nil else { return }
    waitCount += 1
    waiting[connection] = waitCount
  }

  /// Records that a connection has what it waited for; false if it had to give way before.
  mutating func endWaiting(_ connection: Int) -> Bool { waiting.removeValue(forKey: connection) != nil }

  /// Makes room for one more connection: shuts the one down that has waited longest for its client. False if none
  /// waits.
  mutating func makeRoom() -> Bool {
    guard let (connection, _) = waiting.min(by: { $0.value < $1.value }) else { return false }
    if let descriptor = open[connection] { SystemCalls.shutDown(descriptor) }
    remove(connection)
    return true
  }

  /// Removes a connection. Close its descriptor only afterwards, because the system reuses the descriptor's number.
  mutating func remove(_ connection: Int) { (open[connection], waiting[connection]) = (nil, nil) }

  /// Shuts down the listener and all connections, which wakes the threads that block on them; returns false the second
  /// time.
  ///
  /// These calls do not block. They run under the lock because the descriptors may be closed and reused outside of it.
  mutating func stop(listener: Int32) -> Bool {
    guard !isStopped else { return false }
    isStopped = true
    SystemCalls.stopListening(listener)
    for descriptor in open.values { SystemCalls.shutDown(descriptor) }
    return true
  }
}
