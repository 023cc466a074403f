import MartletSemantics
@_exported import TestSupport

/// The time at which responses are received in these tests: Wed, 01 Jan 2025 00:00:00 GMT.
let arrival = Date(timeIntervalSince1970: 1_735_689_600)

/// The date of a field, in seconds after the arrival.
func moment(_ seconds: Double) -> String { HTTPDate.format(arrival.addingTimeInterval(seconds)) }

extension StoredResponse {
  /// A response that was requested and received at the same time.
  init(
    _ fields: HTTPFields, status: HTTPStatus = .ok, for request: HTTPFields = [:], delay: Double = 0,
    isDecoded: Bool = false
  ) {
    let head = ResponseHead(status: status, fields: fields)
    self.init(
      head: head, variant: VaryRule.variant(of: head, for: request),
      requestTime: arrival.addingTimeInterval(-delay), responseTime: arrival, isDecoded: isDecoded)
  }
}

extension RequestHead {
  init(_ fields: HTTPFields, _ method: HTTPMethod = .get) {
    self.init(method: method, url: origin, fields: fields)
  }
}
