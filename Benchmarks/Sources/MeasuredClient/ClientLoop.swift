import Dispatch
import Foundation
import Synchronization

/// The main function of a client's process. It prints a greeting. Then it performs each assignment that arrives as a
/// line on standard input, and prints the measurement. It returns when the input ends.
///
/// The main thread waits while others work. If it ended, Dispatch would call `sigsuspend` there, which makes valgrind
/// 3.19 crash.
public func serveAssignments(with make: @escaping @Sendable () async throws -> any Client) throws {
  let client = try waiting { try await make() }
  try printLine(Greeting(version: client.version))
  while let line = readLine() {
    let assignment = try JSONDecoder().decode(Assignment.self, from: Data(line.utf8))
    try printLine(try waiting { await measure(assignment, with: client) })
  }
}

private func waiting<Value: Sendable>(for work: @escaping @Sendable () async throws -> Value) throws -> Value {
  let result = Mutex<Result<Value, any Error>?>(nil)
  let isDone = DispatchSemaphore(value: 0)
  Task.detached {
    let value: Result<Value, any Error>
    do { value = .success(try await work()) } catch { value = .failure(error) }
    result.withLock { $0 = value }
    isDone.signal()
  }
  isDone.wait()
  guard let value = result.withLock({ $0 }) else { throw BenchError("the work has no result") }
  return try value.get()
}

private func measure(_ assignment: Assignment, with client: any Client) async -> AssignmentResult {
  var result = AssignmentResult()
  do {
    ProcessUsage.resetPeak()
    let before = ProcessUsage.now()
    let start = ContinuousClock.now
    if assignment.kind == .latency { result.take(try await client.latencies(assignment)) }
    result.bytes = try await client.perform(assignment)
    result.seconds = (ContinuousClock.now - start) / .seconds(1)
    let after = ProcessUsage.now()
    result.processor = ProcessUsage.seconds(of: after) - ProcessUsage.seconds(of: before)
    result.pageFaults = after.ru_minflt - before.ru_minflt
    let memory = try ProcessUsage.memory()
    (result.peak, result.resident) = (memory.peak, memory.resident)
  } catch { result.error = "\(error)" }
  return result
}

private func printLine(_ value: some Encodable) throws {
  print(String(decoding: try JSONEncoder().encode(value), as: UTF8.self))
  fflush(nil)
}
