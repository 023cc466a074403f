extension SAPURLSession {
  /// The names of methods, for `URLRequest.httpMethod`:
  ///
  /// ```swift
  /// request.httpMethod = SAPURLSession.HTTPMethod.put
  /// ```
  public enum HTTPMethod {
    /// `GET`: transfers a representation.
    public static let get = "GET"
    /// `HEAD`: like GET, without the body.
    public static let head = "HEAD"
    /// `POST`: processes the request's body.
    public static let post = "POST"
    /// `PUT`: replaces the resource.
    public static let put = "PUT"
    /// `PATCH`: changes parts of the resource (RFC 5789).
    public static let patch = "PATCH"
    /// `MERGE`: the name of PATCH in OData 2.0.
    public static let merge = "MERGE"
    /// `DELETE`: removes the resource.
    public static let delete = "DELETE"
    /// `OPTIONS`: requests the resource's communication options.
    public static let options = "OPTIONS"
    /// `TRACE`: returns the request.
    public static let trace = "TRACE"
    /// `CONNECT`: requests a tunnel from a proxy.
    public static let connect = "CONNECT"
  }

  /// The names of fields. An app adds its own: `extension SAPURLSession.HTTPHeader { static let token = "X-Token" }`.
  public enum HTTPHeader {
    /// `Accept`: the accepted media types.
    public static let accept = "Accept"
    /// `Accept-Language`: the accepted languages.
    public static let acceptLanguage = "Accept-Language"
    /// `Authorization`: the credentials.
    public static let authorization = "Authorization"
    /// `Content-Type`: the media type of the body.
    public static let contentType = "Content-Type"
    /// `X-CSRF-Token`: the token against cross-site request forgery.
    public static let csrfToken = "X-CSRF-Token"
  }

  /// Media types, as values of `Content-Type` and `Accept`. An app adds its own.
  public enum HTTPContentType {
    /// `application/json`
    public static let applicationJSON = "application/json"
    /// `application/xml`
    public static let applicationXML = "application/xml"
    /// `application/atom+xml`
    public static let applicationAtomXML = "application/atom+xml"
    /// `application/x-www-form-urlencoded`
    public static let applicationFormURLEncoded = "application/x-www-form-urlencoded"
    /// `application/octet-stream`
    public static let applicationOctetStream = "application/octet-stream"
    /// `multipart/mixed`: an OData batch.
    public static let multipartMixed = "multipart/mixed"
    /// `text/plain`
    public static let textPlain = "text/plain"
  }
}
