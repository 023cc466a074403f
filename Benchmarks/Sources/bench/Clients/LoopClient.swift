import CLoop
import Foundation
import MeasuredClient

/// The C loop, driven from a thread of its own: the practical limit that the others are compared with.
final class LoopClient: Client {
  let version = "libcurl " + String(cString: cloop_library_version())
  private let worker = DispatchQueue(label: "c-loop")
  private let loop: Loop

  /// The queue is serial: one thread at a time is in the loop.
  private struct Loop: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  init(authority: URL, connections: Int) throws {
    guard let pointer = cloop_make(authority.path, connections) else {
      throw BenchError("the C loop cannot be made: out of memory")
    }
    loop = Loop(pointer: pointer)
  }

  deinit { cloop_free(loop.pointer) }

  func fetch(_ url: URL, times: Int, atOnce: Int) async throws -> Int64 {
    try await run(url, requests: times, atOnce: atOnce)
  }

  func download(_ url: URL) async throws -> Int64 { try await run(url, discards: true) }

  func upload(_ count: Int64, to url: URL) async throws { _ = try await run(url, upload: count) }

  private func run(
    _ url: URL, requests: Int = 1, atOnce: Int = 1, discards: Bool = false, upload: Int64 = 0
  ) async throws -> Int64 {
    try await withCheckedThrowingContinuation { continuation in
      worker.async { [loop] in
        var received: Int64 = 0
        let failure = url.absoluteString.withCString { text in
          var workload = cloop_workload(
            url: text, requests: requests, concurrency: atOnce, discards: discards ? 1 : 0, upload: upload)
          return cloop_run(loop.pointer, &workload, &received).map { String(cString: $0) }
        }
        if let failure {
          continuation.resume(throwing: BenchError("\(url): \(failure)"))
        } else {
          continuation.resume(returning: received)
        }
      }
    }
  }
}
