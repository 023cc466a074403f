import MartletSemantics

/// A request and the fields that describe its body, such as `Content-Type`.
///
/// When an interceptor sets another body, the fields of the old one are replaced; fields that the caller or an
/// interceptor set themselves stay. A body's field that an interceptor only removes from the request is added again: to
/// send a body without it, remove it from ``RequestBody/fields``.
struct DescribedRequest {
  private(set) var request: HTTPRequest
  /// The fields that were added from the body.
  private var added: HTTPFields = [:]

  init(_ request: HTTPRequest) {
    self.request = request
    describe()
  }

  /// Lets an interceptor change the request.
  mutating func update<Result>(_ change: (inout HTTPRequest) throws -> Result) rethrows -> Result {
    defer { describeAgain() }
    return try change(&request)
  }

  private mutating func describeAgain() {
    guard !added.isEmpty || !request.bodyFields.isEmpty else { return }
    for name in Set(added.map(\.name)) {
      let isUntouched = request.fields[values: name] == added[values: name]
      if isUntouched, request.body.fields[values: name] == added[values: name] { continue }
      // The interceptor has set another value.
      if isUntouched { request.fields.remove(name) }
      added.remove(name)
    }
    describe()
  }

  private mutating func describe() {
    guard !request.bodyFields.isEmpty else { return }
    let own = request.fields
    for (name, value) in request.body.fields where !own.contains(name) {
      request.fields.append(value, for: name)
      added.append(value, for: name)
    }
  }
}

extension HTTPRequest {
  /// Returns the request with its body's fields, except fields that the request sets itself.
  @_spi(Toolkit) public func addingBodyFields() -> HTTPRequest { DescribedRequest(self).request }
}
