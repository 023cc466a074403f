/// Work that has to be awaited.
package typealias Later<Value> = @Sendable () async throws -> Value

/// The result of a function that every request calls, and that nearly always has the value at once: the value, or the
/// work that leads to it. Such a function is not asynchronous, because an `await` takes longer than it does.
package enum Immediate<Value: Sendable>: Sendable {
  case now(Value)
  case later(Later<Value>)

  /// The value. It is a part of its caller, and awaits only work.
  @inline(__always)
  package func value() async throws -> Value {
    switch self {
    case .now(let value): value
    case .later(let work): try await work()
    }
  }
}
