/// Work that has to be awaited.
package typealias Later<Value> = @Sendable () async throws -> Value

/// A value, or work that produces it: the result of a function that every request calls and that nearly always has the
/// value. Such a function is not asynchronous, because an `await` would take longer than the function itself.
///
/// In names, `immediate` means that a function neither suspends nor blocks, and leaves the rest to an asynchronous one.
/// A function that blocks its caller's thread until it is done has a name with `blocking`.
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
