/// What a request says before its body: method, target and fields. The pure rules work on this.
public struct RequestHead: Sendable, Hashable {
  /// The method; GET by default.
  public var method: HTTPMethod
  /// The absolute http or https URL.
  public var url: URL
  /// The fields, as the caller gave them.
  public var fields: HTTPFields

  /// Makes a head.
  public init(method: HTTPMethod = .get, url: URL, fields: HTTPFields = [:]) {
    self.method = method
    self.url = url
    self.fields = fields
  }
}

extension RequestHead: CustomStringConvertible, CustomReflectable {
  /// Method, URL and fields, without secrets: no user information, no query, and only fields that may be shown.
  public var description: String { "\(method) \(url.redacted)" + fields.indented }

  /// The description, so that `dump` shows no more.
  public var customMirror: Mirror { Mirror(self, children: ["head": description]) }
}
