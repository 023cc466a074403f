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

  init(authority: URL, connections: Int, polls: Bool) throws {
    guard let pointer = cloop_make(authority.path, connections, polls ? 1 : 0) else {
      throw BenchError("the C loop cannot be made: out of memory")
    }
    loop = Loop(pointer: pointer)
  }

  deinit { cloop_free(loop.pointer) }

  func fetch(_ url: URL, times: Int, atOnce: Int) async throws -> Int64 {
    try await run(url, requests: times, atOnce: atOnce)
  }

  func fetchDecoded(_ url: URL, times: Int, atOnce: Int) async throws -> Int64 {
    try await run(url, requests: times, atOnce: atOnce, decodes: true)
  }

  func send(_ count: Int64, to url: URL, times: Int, atOnce: Int) async throws {
    _ = try await run(url, requests: times, atOnce: atOnce, upload: count)
  }

  func latencies(_ assignment: Assignment) async throws -> [Double] {
    let times = UnsafeMutableBufferPointer<Int64>.allocate(capacity: assignment.times)
    defer { times.deallocate() }
    nonisolated(unsafe) let room = times.baseAddress
    _ = try await run(
      assignment.url, requests: assignment.times, atOnce: assignment.atOnce, arrivals: assignment.arrivals,
      latencies: room)
    return times.map { Double($0) / 1000 }
  }

  func download(_ url: URL) async throws -> Int64 { try await run(url, discards: true) }

  func upload(_ count: Int64, to url: URL) async throws { _ = try await run(url, upload: count) }

  func upload(_ file: URL, to url: URL) async throws {
    let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
    let count = lseek(descriptor, 0, SEEK_END)
    guard descriptor >= 0, count > 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
      throw BenchError("\(file.path) cannot be read")
    }
    defer { close(descriptor) }
    _ = try await run(url, upload: Int64(count), file: descriptor)
  }

  private func run(
    _ url: URL, requests: Int = 1, atOnce: Int = 1, discards: Bool = false, decodes: Bool = false, upload: Int64 = 0,
    file: Int32 = -1, arrivals: [Int64] = [], latencies: sending UnsafeMutablePointer<Int64>? = nil
  ) async throws -> Int64 {
    nonisolated(unsafe) let latencies = latencies
    return try await withCheckedThrowingContinuation { continuation in
      worker.async { [loop] in
        var received: Int64 = 0
        let failure = url.absoluteString.withCString { text in
          arrivals.withUnsafeBufferPointer { arrivals in
            var workload = cloop_workload(
              url: text, requests: requests, concurrency: atOnce, discards: discards ? 1 : 0,
              decodes: decodes ? 1 : 0, upload: upload, file: file,
              arrivals: arrivals.isEmpty ? nil : arrivals.baseAddress, latencies: latencies)
            return cloop_run(loop.pointer, &workload, &received).map { String(cString: $0) }
          }
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
