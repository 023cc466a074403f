#if os(Linux)
import Foundation
import MartletTesting

/// Runs of the program `sap-program`, whose user's folders are in a folder of the test.
struct SAPProgram {
  let folder: TemporaryFolder

  var data: URL { folder.file("data") }
  var cache: URL { folder.file("cache") }

  /// Runs the program, and returns what it prints.
  func run(_ arguments: String...) async throws -> String { try await run(arguments) }

  /// - Parameter environment: further variables, such as `http_proxy=http://127.0.0.1:1`.
  func run(_ arguments: [String], environment: [String] = []) async throws -> String {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "sap-program").path
    let folders = ["XDG_DATA_HOME=\(data.path)", "XDG_CACHE_HOME=\(cache.path)"]
    let arguments = folders + environment + [program] + arguments
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            let process = try ChildProcess("env", arguments, output: .read)
            let text = String(decoding: process.readToEnd(), as: UTF8.self)
            return process.succeeds() ? text : "failed: \(text)"
          })
      }
    }
  }

  /// The files and folders that sessions have made.
  var files: [URL] {
    [data, cache].flatMap { folder in
      (FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? [])
        .map { folder.appending(path: $0) }
    }.filter { $0.pathComponents.contains("SAPFoundation") }
  }

  /// The files in which a text can be read, of this module and of Foundation.
  func files(with text: String) -> [String] {
    [data, cache].flatMap { folder in
      (FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? [])
        .filter { (try? Data(contentsOf: folder.appending(path: $0)))?.range(of: Data(text.utf8)) != nil }
    }
  }
}
#endif
