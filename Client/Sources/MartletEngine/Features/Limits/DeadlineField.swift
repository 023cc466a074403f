@_spi(Toolkit) public import MartletSemantics

/// A field that tells a server how much time a call has left, so that it need not begin work after the client has gone.
///
/// ```swift
/// configuration.limits.deadlineField = DeadlineField("X-Request-Timeout-Ms")
/// configuration.options.deadline = .seconds(2)
/// ```
///
/// The time is the rest until ``RequestOptions/deadline``, set for each attempt just before it is sent. Without a
/// deadline there is no field. A request that already has a field of that name keeps it. If no time is left, nothing is
/// sent, and the call fails with ``HTTPError/Kind/deadlineExceeded``.
///
/// A server passes the deadline on to its own requests:
///
/// ```swift
/// // `fields` are those of the request that the server has received
/// request.options.deadline = DeadlineField("X-Request-Timeout-Ms").time(in: fields)
/// ```
public struct DeadlineField: Sendable, Hashable {
  /// How the time is written.
  @nonexhaustive public enum Format: Sendable, Hashable {
    /// A whole number of milliseconds: `1500`.
    case milliseconds
    /// Seconds with three decimals: `1.500`.
    case seconds
    /// The form of gRPC's `grpc-timeout`, a number of at most eight digits and a unit: `1500m`.
    case grpc
  }

  /// The name of the field.
  public var name: FieldName
  /// How the time is written; milliseconds by default.
  public var format: Format

  /// Makes a field.
  public init(_ name: FieldName, format: Format = .milliseconds) {
    self.name = name
    self.format = format
  }

  /// Returns the value for a time; it is rounded down, but not to zero.
  public func value(for time: Duration) -> String {
    let milliseconds = max(1, Int64(time.bounded.inMilliseconds))
    switch format {
    case .milliseconds: return "\(milliseconds)"
    case .seconds: return "\(milliseconds / 1000).\((milliseconds % 1000).digits(3))"
    case .grpc: return milliseconds < 100_000_000 ? "\(milliseconds)m" : "\(min(99_999_999, milliseconds / 1000))S"
    }
  }

  /// Returns the time that a received request has left according to its field; nil without a field, or if its value is
  /// not valid. Use it as the ``RequestOptions/deadline`` of requests made for it.
  public func time(in fields: HTTPFields) -> Duration? {
    guard let text = fields[name] else { return nil }
    switch format {
    case .milliseconds: return Self.number(text[...]).map { .milliseconds($0) }
    case .seconds:
      let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
      guard let seconds = Self.number(parts[0]) else { return nil }
      guard parts.count == 2 else { return .seconds(seconds) }
      let digits = parts[1].prefix(3)
      guard Self.number(parts[1]) != nil, let fraction = Int64(digits + String(repeating: "0", count: 3 - digits.count))
      else { return nil }
      return .seconds(seconds) + .milliseconds(fraction)
    case .grpc:
      guard let unit = text.last, let number = Self.number(text.dropLast()), number <= 99_999_999 else { return nil }
      return Self.units[unit].map { $0 * number }
    }
  }

  private static let units: [Character: Duration] = [
    "H": .seconds(3600), "M": .seconds(60), "S": .seconds(1), "m": .milliseconds(1), "u": .microseconds(1),
    "n": .nanoseconds(1),
  ]

  private static func number(_ text: Substring) -> Int64? {
    guard (1...12).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int64(text)
  }
}

/// Sets the field.
struct DeadlineFieldTransport: TransportLayer {
  let base: any Transport
  let field: DeadlineField

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard let deadline = call.activeDeadline, !request.fields.contains(field.name) else {
      return try await base.send(request, in: call)
    }
    do { try deadline.check() } catch { throw HTTPError(beforeSending: error) }
    var request = request
    request.fields[field.name] = field.value(for: deadline.remaining)
    return try await base.send(request, in: call)
  }
}
