import MartletEngine
import MartletSQLite
import MartletSemantics
import Synchronization

/// The hosts that require https (HSTS, RFC 6797), which calls with a session share. The file is in
/// `$XDG_CONFIG_HOME/martlet`.
struct StrictHosts: Sendable {
  let security: StrictTransportSecurity

  /// The hosts for a call with a session that uses the network; nil for any other call.
  init?(_ arguments: ParsedArguments, _ environment: ToolEnvironment) {
    let isReadOnly = arguments.has(.sessionReadOnly)
    guard arguments.has(.session) || isReadOnly, !arguments.has(.replay), !arguments.has(.offline),
      !arguments.has(.curl), let folder = environment.configuration
    else { return nil }
    security = StrictTransportSecurity(store: StrictHostsFile(in: folder, isReadOnly: isReadOnly))
  }

  /// Returns the URL with https if its host requires it, and says so. The session of the https origin then applies.
  func upgraded(_ url: URL, _ environment: ToolEnvironment) async throws -> URL {
    let upgraded = try await security.upgraded(url)
    if upgraded != url {
      environment.report("martlet: \(url.host() ?? "") requires https (Strict-Transport-Security), which is used")
    }
    return upgraded
  }
}

/// The file in the program's folder. It is opened when a host is looked up and the file exists, and made when the first
/// host is stored: most calls need neither.
final class StrictHostsFile: KeyValueStore {
  private let folder: URL
  private let isReadOnly: Bool
  private let opened = Mutex<(any KeyValueStore)?>(nil)

  /// - Parameter isReadOnly: whether nothing is stored or removed.
  init(in folder: URL, isReadOnly: Bool = false) { (self.folder, self.isReadOnly) = (folder, isReadOnly) }

  private var file: URL { folder.appending(component: "strict-transport.sqlite") }

  func value(for key: String) async throws -> Data? { try await existing()?.value(for: key) }
  func set(_ value: Data, for key: String) async throws { if !isReadOnly { try await open().set(value, for: key) } }
  func removeValue(for key: String) async throws { if !isReadOnly { try await existing()?.removeValue(for: key) } }
  func removeAll() async throws { if !isReadOnly { try await existing()?.removeAll() } }
  func keys() async throws -> [String] { try await existing()?.keys() ?? [] }

  private func existing() throws -> (any KeyValueStore)? {
    FileManager.default.fileExists(atPath: file.path) ? try open() : nil
  }

  private func open() throws -> any KeyValueStore {
    if let store = opened.withLock(\.self) { return store }
    try OwnFolder.make(folder)
    let store = try SQLiteKeyValueStore(at: file)
    opened.withLock { $0 = store }
    return store
  }
}
