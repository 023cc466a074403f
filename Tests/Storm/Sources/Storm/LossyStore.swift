#if canImport(Glibc)
import Foundation
import Glibc
import Martlet
import MartletObservation
import MartletSQLite
@_spi(Stores) import SAPFoundation

/// A store in a folder, into which a test puts numbers.
package struct LossyStore: Sendable {
  package let name: String
  /// Whether opening it takes half a second, as a passcode does.
  package var isSlow: Bool { name == Self.secrets.name }
  /// Whether it tells that it has refused a number. A log does not: its lines must not stop a program.
  let reportsFailures: Bool
  /// Whether a number replaces the one before.
  let hasOnlyLast: Bool
  /// Whether it removes numbers to make room.
  let makesRoom: Bool
  let open: @Sendable (_ folder: URL) throws -> Access

  /// An open store.
  struct Access: Sendable {
    let put: @Sendable (_ number: Int) async throws -> Void
    /// Returns the numbers that can be read.
    let stored: @Sendable () async throws -> Set<Int>
  }

  private init(
    _ name: String, reportsFailures: Bool = true, hasOnlyLast: Bool = false, makesRoom: Bool = false,
    open: @escaping @Sendable (_ folder: URL) throws -> Access
  ) {
    (self.name, self.reportsFailures, self.hasOnlyLast) = (name, reportsFailures, hasOnlyLast)
    (self.makesRoom, self.open) = (makesRoom, open)
  }

  package static let all = [values, cookies, responses, secrets, logs, archive]

  private static let values = LossyStore("values") { folder in
    let store = try SQLiteKeyValueStore(at: folder.appending(path: "values.sqlite"))
    return Access(put: { try await store.set(content($0), for: "\($0)") }) {
      var found: Set<Int> = []
      for number in try await store.keys().compactMap({ Int($0) }) {
        if try await store.value(for: "\(number)") == content(number) { found.insert(number) }
      }
      return found
    }
  }

  private static let cookies = LossyStore("cookies") { folder in
    let (store, site) = (try SQLiteCookieStore(at: folder.appending(path: "cookies.sqlite")), "example.com")
    return Access(
      put: { number in
        try await store.update(site) {
          $0.append(Cookie(name: "\(number)", value: "\(number)", domain: site, expires: .distantFuture))
        }
      }, stored: { Set(try await store.cookies(in: site).filter { $0.name == $0.value }.compactMap { Int($0.name) }) })
  }

  private static let responses = LossyStore("responses", makesRoom: true) { folder in
    let store = try SQLiteCacheStore(at: folder.appending(path: "responses.sqlite"))
    let key = CacheKey(partition: "", normalizedURL: "https://example.com/")
    return Access(
      put: { number in
        let response = StoredResponse(
          head: ResponseHead(status: 200), variant: "\(number)", requestTime: .now, responseTime: .now)
        guard let writer = try await store.begin(CacheEntry(key: key, response: response)) else {
          throw CacheEntry.Refusal("not now")
        }
        try await writer.append(content(number))
        try await writer.commit()
      },
      stored: {
        var found: Set<Int> = []
        for entry in try await store.entries(for: key) {
          guard let number = Int(entry.response.variant), let length = entry.length,
            let body = try await store.open(entry.id, range: 0..<length)
          else { continue }
          if try await ResponseBody(length: length, from: body).collect(upTo: 10_000_000) == content(number) {
            found.insert(number)
          }
        }
        return found
      })
  }

  private static let secrets = LossyStore("secrets") { folder in
    let file = SecureDatabaseStore(databaseFileName: folder.appending(path: "secrets.sqlite").path)
    try file.open(with: "passcode")
    // Not Sendable, unlike its file.
    let store = { @Sendable in try SecureKeyValueStore(databaseStore: file, name: "") }
    return Access(
      put: { try store().put(data: content($0), for: "\($0)") },
      stored: {
        let store = try store()
        return Set(try store.keys().compactMap { Int($0) }.filter { try store.data(for: "\($0)") == content($0) })
      })
  }

  private static let logs = LossyStore("logs", reportsFailures: false) { folder in
    let files = LogFiles(in: folder)
    try files.prepare()
    files.limits = .init(fileSize: 10_000, fileCount: 1_000)
    return Access(
      put: { files.append("line \($0).\n") },
      stored: {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".log") }
        var found: Set<Int> = []
        for name in names {
          let text = String(decoding: try Data(contentsOf: folder.appending(path: name)), as: UTF8.self)
          // A line may begin within another one, whose end was changed.
          found.formUnion(text.matches(of: #/line ([0-9]+)\./#).compactMap { Int($0.1) })
        }
        return found
      })
  }

  /// An archive, whose writer is that of recordings, too.
  private static let archive = LossyStore("archive", hasOnlyLast: true) { folder in
    let file = folder.appending(path: "calls.har")
    return Access(
      put: { number in
        let log = HAR.Log(creator: .init(name: "storm", version: "1"), entries: [], comment: "\(number)")
        try HAR(log: log).write(to: file)
      },
      stored: {
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        let comment = try HAR(json: Data(contentsOf: file)).log.comment
        return Set([comment.flatMap { Int($0) }].compactMap { $0 })
      })
  }

  /// What is stored for a number: some kilobytes, so that it fills several pages after a while.
  private static func content(_ number: Int) -> Data { Data("\(number) ".utf8) + Data(count: number % 7 * 700) }

  // MARK: - In a process of its own

  /// Puts numbers from a first one on, and prints each that was accepted. For a process that a test starts.
  ///
  /// - Parameter obstacle: what happens after three numbers.
  package static func write(_ name: String, _ folder: String, from first: Int, count: Int, _ obstacle: String?) async {
    guard let store = all.first(where: { $0.name == name }) else { return }
    let folder = URL(filePath: folder)
    do {
      let access = try store.open(folder)
      for number in first..<first + count {
        if number == first + 3 { hinder(obstacle, in: folder) }
        do { try await access.put(number) } catch { continue }
        let line = "\(number)\n"
        _ = Glibc.write(STDOUT_FILENO, line, line.utf8.count)
      }
    } catch {
      print("not opened: \(error)")
    }
  }

  private static func hinder(_ obstacle: String?, in folder: URL) {
    switch obstacle {
    case "fullDisk":
      signal(SIGXFSZ, SIG_IGN)
      let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
      var limit = rlimit()
      getrlimit(resource, &limit)
      limit.rlim_cur = 0
      setrlimit(resource, &limit)
    case "readOnly":
      for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
        chmod(folder.appending(path: name).path, 0o444)
      }
      chmod(folder.path, 0o555)
      // The superuser may write nevertheless.
      if geteuid() == 0 { seteuid(65_534) }
    default: break
    }
  }
}
#endif
