/// The states of a circuit.
public enum CircuitState: String, Sendable, Hashable {
  /// Requests are sent.
  case closed
  /// Requests fail.
  case open
  /// A few requests are sent to test whether the origin works again.
  case halfOpen = "half-open"
}
