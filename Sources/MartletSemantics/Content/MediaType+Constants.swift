extension MediaType {
  /// `application/json` (RFC 8259).
  public static let json: MediaType = "application/json"
  /// `application/problem+json` (RFC 9457).
  public static let problemJSON: MediaType = "application/problem+json"
  /// `application/xml` (RFC 7303).
  public static let xml: MediaType = "application/xml"
  /// `application/x-www-form-urlencoded`: the pairs of a form (WHATWG URL §5).
  public static let form: MediaType = "application/x-www-form-urlencoded"
  /// `multipart/form-data` (RFC 7578); a message also needs its `boundary`.
  public static let multipartForm: MediaType = "multipart/form-data"
  /// `application/octet-stream`: bytes of which nothing is known.
  public static let octetStream: MediaType = "application/octet-stream"
  /// `application/pdf` (RFC 8118).
  public static let pdf: MediaType = "application/pdf"
  /// `text/plain` (RFC 2046 §4.1.3).
  public static let plainText: MediaType = "text/plain"
  /// `text/plain; charset=utf-8`.
  public static let plainTextUTF8: MediaType = "text/plain; charset=utf-8"
  /// `text/html`.
  public static let html: MediaType = "text/html"
  /// `text/css`.
  public static let css: MediaType = "text/css"
  /// `text/csv` (RFC 4180).
  public static let csv: MediaType = "text/csv"
  /// `text/event-stream`: server-sent events.
  public static let eventStream: MediaType = "text/event-stream"
  /// `image/jpeg`.
  public static let jpeg: MediaType = "image/jpeg"
  /// `image/png`.
  public static let png: MediaType = "image/png"
  /// `image/webp` (RFC 9649).
  public static let webP: MediaType = "image/webp"
  /// `image/gif`.
  public static let gif: MediaType = "image/gif"
  /// `image/svg+xml`.
  public static let svg: MediaType = "image/svg+xml"
  /// `image/*`: the range of all images.
  public static let anyImage: MediaType = "image/*"
  /// `*/*`: the range of everything.
  public static let any: MediaType = "*/*"
}
