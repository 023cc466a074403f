/// Work that has to be awaited.
package typealias Later<Value> = @Sendable () async throws -> Value

/// The result of a function that every request calls and that nearly always has the value at once: the value, or work
/// that produces it. Such a function is not asynchronous, because an `await` would take longer than the function
/// itself.
package enum Immediate<Value: Sendable>: Sendable {
  case now(Value)
  case later(Later<Value>)

  /// The value. It is inlined into its caller, and awaits only work.
  @inline(__always)
  package func value() async throws -> Value {
    switch self {
    case .now(let value): value
    case .later(let work): try await work()
    }
  }
}
