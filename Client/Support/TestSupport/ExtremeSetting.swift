/// A public number or time, and changes of it to its extreme values, which are legal: they stop neither the program nor
/// anything else.
package struct ExtremeSetting<Setup>: CustomStringConvertible, Sendable {
  package let description: String
  package let changes: [@Sendable (inout Setup) -> Void]

  package init(_ name: String, _ set: @escaping @Sendable (inout Setup, Int) -> Void) {
    description = name
    changes = [Int.max, .min, 0, -1, 1].map { value in { set(&$0, value) } }
  }

  package init(time name: String, _ set: @escaping @Sendable (inout Setup, Duration) -> Void) {
    description = name
    changes = Duration.extremes.map { value in { set(&$0, value) } }
  }
}

extension Duration {
  /// The longest and the shortest times, and those around zero.
  package static let extremes: [Duration] = [
    Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999), .seconds(Int64.max),
    Duration(secondsComponent: .min, attosecondsComponent: 0), .zero, .nanoseconds(-1), .nanoseconds(1),
  ]
}
