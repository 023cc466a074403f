/// A value that is not Sendable, on its way to the code that alone uses it from then on.
///
/// SAFETY: code that wraps a value does not use it any more, or the value is an app's object, which the documentation
/// says may be used on any thread.
struct UncheckedSendable<Value>: @unchecked Sendable {
  let value: Value
}
