public import Martlet

extension NetworkRequest {
  /// Sets a header, in place of one of that name. A value with a control character makes the task fail.
  public func header(name: String, value: String?) -> NetworkRequest {
    with { request in
      do throws(FieldError) {
        request.fields[try FieldName(name)] = value
      } catch { request.fault = request.fault ?? HTTPError(wrapping: error) }
    }
  }

  /// Sets a header, in place of one of that name.
  public func header(_ name: FieldName, _ value: String?) -> NetworkRequest { with { $0.fields[name] = value } }

  /// Sets the body to a value as JSON. One that cannot be encoded makes the task fail.
  public func body(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) -> NetworkRequest {
    do throws(HTTPError) {
      return content(try .json(value, encoder: encoder))
    } catch { return faulty(error) }
  }

  /// Sets the body to the pairs of a form.
  public func body(form pairs: [(name: String, value: String)]) -> NetworkRequest { content(.form(pairs)) }

  /// Sets the body to a form with files.
  public func body(multipart form: MultipartForm) -> NetworkRequest { content(.multipart(form)) }

  /// Sets the body to a file, read while it is sent.
  public func body(file: URL, type: MediaType? = nil) -> NetworkRequest { content(.file(file), type: type) }

  /// Sets the body to bytes.
  public func body(data: Data, type: MediaType? = nil) -> NetworkRequest { content(.data(data), type: type) }

  private func content(_ body: RequestBody, type: MediaType? = nil) -> NetworkRequest {
    with {
      $0.content = body
      if let type { $0.content.fields[.contentType] = type.description }
    }
  }

  /// Sets the time for everything, from the first interceptor to the last byte of the body.
  public func timeout(_ duration: Duration) -> NetworkRequest { with { $0.options.deadline = duration } }

  /// Sets what a cache may do.
  public func cachePolicy(_ policy: CachePolicy) -> NetworkRequest { with { $0.options.cachePolicy = policy } }

  /// Changes any of the engine's options.
  public func options(_ change: (inout RequestOptions) -> Void) -> NetworkRequest { with { change(&$0.options) } }

  /// Lets the session's ``Authenticator`` pass it by: no authorization, and a 401 is the answer. For logins and the like.
  public func unauthenticated() -> NetworkRequest { with { $0.isAuthenticated = false } }
}
