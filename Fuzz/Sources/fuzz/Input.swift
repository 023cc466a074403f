#if os(Linux)
import Dispatch
import Synchronization

/// The bytes of one run. Choices among variants are taken from their end, so that a plain file, such as a picture, is
/// also an input of its target.
struct Input {
  private(set) var bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Takes a byte from the end.
  mutating func choice() -> Int { Int(bytes.popLast() ?? 0) }

  /// Takes a byte from the end, and returns the element that it chooses.
  mutating func choice<Element>(of elements: [Element]) -> Element { elements[choice() % elements.count] }

  /// Takes two bytes from the end, and returns the rest in the pieces that they define: three of any size, or all of
  /// one byte.
  mutating func pieces() -> [ArraySlice<UInt8>] {
    let places = [choice(), choice()]
    if places == [0, 0] { return bytes.indices.map { bytes[$0...$0] } }
    return cut(bytes, at: places.map { $0 * bytes.count / 255 }.sorted())
  }
}

/// Work that runs in parallel with libFuzzer's thread.
final class Started<Value: Sendable>: Sendable {
  private let done = DispatchSemaphore(value: 0)
  private let result = Mutex<Result<Value, any Error>?>(nil)

  init(_ work: @escaping @Sendable () async throws -> Value) {
    Task {
      do {
        let value = try await work()
        result.withLock { $0 = .success(value) }
      } catch { result.withLock { $0 = .failure(error) } }
      done.signal()
    }
  }

  /// Waits for the result. Nothing here needs more than some milliseconds, so after five seconds it counts as a hang.
  func value() throws -> Value {
    guard done.wait(timeout: .now() + 5) == .success, let result = result.withLock({ $0 }) else {
      fatalError("it has not ended after five seconds")
    }
    return try result.get()
  }
}

/// Runs asynchronous code, and waits for it.
func wait<Value: Sendable>(for work: @escaping @Sendable () async throws -> Value) throws -> Value {
  try Started(work).value()
}
#endif
