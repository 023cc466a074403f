@_spi(Toolkit) public import MartletEngine
public import MartletSemantics
@_spi(Toolkit) import MartletServer
import Synchronization

/// Shows the calls of this process in a browser while they happen. It is for development.
///
/// ```swift
/// configuration.listeners.append(try Inspector())
/// // Inspector: http://127.0.0.1:41873/#6f1c…
/// ```
///
/// The page has a table of the calls and, for each of them, every attempt with its head as it was written, the reasons
/// for redirects and retries, the cache's decision, cookies, bodies, messages, times and sizes. Several sessions may
/// share an inspector.
///
/// It keeps the last calls in memory, with the beginning of their bodies, and in a file if ``Options-swift.struct``
/// names one. The redaction replaces secrets before the page or the file gets anything. The server listens only on the
/// loopback interface. It answers only requests to its own address from its own page, and shows calls only with the
/// random key in the page's URL: keep that URL as secret as the calls. Do not link the product into a release.
public final class Inspector: EventListener {
  /// The options of an inspector.
  public struct Options: Sendable {
    /// The port; 0, the default, lets the system choose a free one.
    public var port = 0
    /// The maximum number of calls; 500 by default. The oldest calls are removed first, pinned calls last.
    public var callLimit = 500
    /// The maximum number of bytes of all bodies and messages together; 64 MiB by default.
    public var byteLimit = 64 << 20
    /// The maximum number of bytes of one body, or of all messages of a WebSocket; 1 MiB by default. With 0, none are
    /// kept.
    public var bodyLimit = 1 << 20
    /// The secrets that are replaced; ``Martlet/Redaction/standard`` by default. `.off` shows passwords and tokens.
    public var redaction = Redaction.standard
    /// Whether the page may send a call again, unchanged or edited, through the session that made it; false by default.
    /// The session adds its credentials and cookies, so anyone with the page's URL can then act as the program's user.
    /// Hidden values of the request are sent again unseen, but never to another origin.
    public var allowsResending = false
    /// The file in which calls are kept, to be shown again after a restart; nil, the default, for none. A call that has
    /// ended is in it before its caller continues, unless that fails, which the page then says. The file has what the
    /// page has: calls with their secrets replaced, and the beginning of their bodies. Only its owner can read it; only
    /// one program at a time can use it.
    public var file: URL?
    /// The maximum number of bytes of ``file``, together with the one that it replaces, `FILE.1`; 64 MiB by default, at
    /// least 64 KiB. The oldest calls are removed first.
    public var fileLimit = 64 << 20
    /// Reads the numbers of a transport's connections, which the page then shows: `{ await transport.statistics() }`.
    /// nil, the default, shows none. It is called about once a second while a page is open.
    public var pools: (@Sendable () async -> [Origin: PoolStatistics])?
    /// Whether the URL is printed once on standard error; true by default.
    public var isAnnounced = true

    /// Makes the default options.
    public init() {}
  }

  /// The URL of the page, with the key in its fragment. Anyone who has it can read the calls.
  public let url: URL
  let log: CallLog
  private let server: InspectorServer
  /// The number of requests that local servers showed.
  static let served = Atomic<UInt64>(0)
  private let running = RunningCalls()

  /// Starts the server.
  ///
  /// - Throws: ``Martlet/HTTPError`` of kind `.other` if it cannot listen on the port, of kind `.file` if the file of
  ///   the options cannot be used.
  public convenience init(_ options: Options = .init()) throws(HTTPError) {
    try self.init(options, log: try CallLog(options), isLive: true)
  }

  init(_ options: Options, log: CallLog, isLive: Bool) throws(HTTPError) {
    self.log = log
    server = try InspectorServer(log, port: options.port, isLive: isLive)
    url = server.url
    if options.isAnnounced { SystemCalls.report("Inspector: \(url.absoluteString)") }
  }

  deinit { server.stop() }

  public var events: Event.Kinds { log.bodyLimit > 0 ? .all : .exceptBytes.subtracting(.message) }

  public func receive(_ event: Event, in call: Call) {
    switch event {
    case .started(let request):
      let session = log.allowsResending ? WeakSession(of: call) : nil
      if let record = log.begin(call.id, label: call.label, request, in: session) { running.add(record) }
    case .response:
      guard let record = running.record(of: call.id) else { return }
      let codings = call.decodedCodings
      if !codings.isEmpty { record.addDecoded(codings) }
      log.update(record, event)
    case .finished: if let record = running.remove(call.id) { log.update(record, event) }
    default: if let record = running.record(of: call.id) { log.update(record, event) }
    }
  }

  /// Ends the server and every open page. Later calls are not recorded.
  public func close() { server.stop() }
}

/// The records of the calls in progress. Their numbers rise, so that they are spread evenly without being hashed.
private struct RunningCalls: Sendable {
  private final class Shard: Sendable {
    let records = Mutex<[RecordedCall]>([])
  }

  private let shards = (0..<64).map { _ in Shard() }

  private func shard(of id: UInt64) -> Shard { shards[Int(id % 64)] }

  func add(_ record: RecordedCall) { shard(of: record.id).records.withLock { $0.append(record) } }

  func record(of id: UInt64) -> RecordedCall? {
    shard(of: id).records.withLock { records in
      for index in records.indices where records[index].id == id { return records[index] }
      return nil
    }
  }

  func remove(_ id: UInt64) -> RecordedCall? {
    shard(of: id).records.withLock { records in
      records.firstIndex { $0.id == id }.map { records.remove(at: $0) }
    }
  }
}
