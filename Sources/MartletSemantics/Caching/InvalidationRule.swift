/// What a change at the origin makes worthless (RFC 9111 §4.4).
package enum InvalidationRule {
  /// The keys whose stored responses must go: after an unsafe method that did not fail, the target's; and those of
  /// `Location` and `Content-Location` where they lie on the same origin.
  package static func keys(after response: ResponseHead, to request: RequestHead, partition: String) -> [CacheKey] {
    guard !request.method.isSafe, response.status.isSuccessful || response.status.isRedirection else { return [] }
    let named = [FieldName.location, .contentLocation].compactMap { url(in: $0, of: response, to: request) }
    let origin = Origin(request.url)
    let urls = [request.url] + named.filter { origin != nil && Origin($0) == origin }
    return urls.map { CacheKey($0, partition: partition) }
  }

  /// The URL that a field of a response names, seen from the request's.
  static func url(in name: FieldName, of response: ResponseHead, to request: RequestHead) -> URL? {
    guard let value = response.fields[values: name].first,
      case .url(let url) = RedirectTarget.resolve(value, against: request.url)
    else { return nil }
    return url
  }
}
