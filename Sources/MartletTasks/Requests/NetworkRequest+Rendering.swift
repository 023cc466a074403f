public import Martlet

extension NetworkRequest {
  /// The request as the engine sends it.
  ///
  /// - Throws: the first thing that was wrong with it, or that there is no base URL.
  public func rendered(in environment: NetworkEnvironment) throws(HTTPError) -> HTTPRequest {
    if let fault { throw fault }
    guard let base = baseURL ?? environment.baseURL else {
      throw HTTPError(
        .invalidRequest, "the request has no host: give it a baseURL, or the container an environment with one")
    }
    guard var parts = URLComponents(url: base, resolvingAgainstBaseURL: true), parts.host?.isEmpty == false
    else {
      throw HTTPError(.invalidRequest, "the base URL \(base.redacted) has no host")
    }
    parts.fragment = nil
    parts.percentEncodedPath = path.joined(to: parts.percentEncodedPath)
    if !query.isEmpty {
      let pairs = query.map { pair in
        let name = PercentEncoding.queryComponent.encode(pair.name)
        return pair.value.map { "\(name)=\(PercentEncoding.queryComponent.encode($0))" } ?? name
      }
      let own = parts.percentEncodedQuery.map { $0.isEmpty ? [] : [$0] } ?? []
      parts.percentEncodedQuery = (own + pairs).joined(separator: "&")
    }
    guard let url = parts.url else {
      throw HTTPError(.invalidRequest, "the base URL \(base.redacted) and the path make no URL")
    }
    return HTTPRequest(method, url, fields: fields, body: content, options: options)
  }
}
