/// The stored responses that a request invalidates (RFC 9111 §4.4).
package enum InvalidationRule {
  /// Returns the keys to remove after an unsafe request that did not fail: the key of the target, and the keys of
  /// `Location` and `Content-Location` if they have the same origin.
  package static func keys(after response: ResponseHead, to request: RequestHead, partition: String) -> [CacheKey] {
    guard !request.method.isSafe, response.status.isSuccessful || response.status.isRedirection else { return [] }
    let named = [FieldName.location, .contentLocation].compactMap { url(in: $0, of: response, to: request) }
    let origin = Origin(request.url)
    let urls = [request.url] + named.filter { origin != nil && Origin($0) == origin }
    return urls.map { CacheKey($0, partition: partition) }
  }

  /// Resolves the URL in a field of the response against that of the request.
  static func url(in name: FieldName, of response: ResponseHead, to request: RequestHead) -> URL? {
    guard let value = response.fields[values: name].first,
      case .url(let url) = RedirectTarget.resolve(value, against: request.url)
    else { return nil }
    return url
  }
}
