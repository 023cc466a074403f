import CGTK

/// An argument of a signal, of a type that is read here.
enum SignalArgument: Sendable {
  case number(Int)
  case fraction(Double)
  case other
}

/// The effect of a signal from a GObject.
@MainActor
enum Signal {
  /// Receives the arguments after the object itself. Returns whether the signal was handled, for signals with a result.
  typealias Handler = @MainActor ([SignalArgument]) -> Bool

  private final class Box {
    let handler: Handler
    init(_ handler: @escaping Handler) { self.handler = handler }
  }

  /// Connects a signal for as long as the object lives.
  static func connect(_ object: OpaquePointer, _ signal: String, _ handler: @escaping Handler) {
    let data = Unmanaged.passRetained(Box(handler)).toOpaque()
    cgtk_connect(UnsafeMutableRawPointer(object), signal, data, marshal) { data, _ in
      data.map { Unmanaged<Box>.fromOpaque($0).release() }
    }
  }

  /// Connects a signal whose arguments are not needed.
  static func connect(_ object: OpaquePointer, _ signal: String, _ handler: @escaping @MainActor () -> Void) {
    connect(object, signal) { _ in
      handler()
      return false
    }
  }

  private static let marshal: GClosureMarshal = { closure, result, count, values, _, _ in
    guard let data = closure?.pointee.data else { return }
    let arguments = UnsafeBufferPointer(start: values, count: Int(count)).dropFirst().map { argument($0) }
    let address = UInt(bitPattern: data)
    // GTK sends all its signals on the main thread.
    let isDealtWith = MainActor.assumeIsolated {
      UnsafeRawPointer(bitPattern: address).map {
        Unmanaged<Box>.fromOpaque($0).takeUnretainedValue().handler(arguments)
      }
    }
    if let result, cgtk_is_boolean(result) != 0 { g_value_set_boolean(result, isDealtWith == true ? 1 : 0) }
  }

  private nonisolated static func argument(_ value: GValue) -> SignalArgument {
    withUnsafePointer(to: value) { value in
      if cgtk_is_int(value) != 0 { return .number(Int(g_value_get_int(value))) }
      if cgtk_is_uint(value) != 0 { return .number(Int(g_value_get_uint(value))) }
      if cgtk_is_flags(value) != 0 { return .number(Int(g_value_get_flags(value))) }
      if cgtk_is_double(value) != 0 { return .fraction(g_value_get_double(value)) }
      return .other
    }
  }
}
