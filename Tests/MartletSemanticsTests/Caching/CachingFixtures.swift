import MartletSemantics

/// The moment at which responses in these tests arrive: Wed, 01 Jan 2025 00:00:00 GMT.
let arrival = Date(timeIntervalSince1970: 1_735_689_600)

/// The time so many seconds after the arrival, as a field writes it.
func moment(_ seconds: Double) -> String { HTTPDate.format(arrival.addingTimeInterval(seconds)) }

func target(_ text: String = "http://a.example/") -> URL {
  guard let url = URL(string: text) else { fatalError("'\(text)' is no URL") }
  return url
}

extension StoredResponse {
  /// A response that went out and arrived at the same moment.
  init(
    _ fields: HTTPFields, status: HTTPStatus = .ok, for request: HTTPFields = [:], delay: Double = 0,
    isUnpacked: Bool = false
  ) {
    let head = ResponseHead(status: status, fields: fields)
    self.init(
      head: head, variant: VaryRule.variant(of: head, for: request),
      requestTime: arrival.addingTimeInterval(-delay), responseTime: arrival, isUnpacked: isUnpacked)
  }
}

extension RequestHead {
  init(_ fields: HTTPFields, _ method: HTTPMethod = .get) {
    self.init(method: method, url: target(), fields: fields)
  }
}
