extension RequestHead: CustomStringConvertible, CustomReflectable {
  /// Method, URL and fields for people who read logs: without user information, the query's values, and the values of fields
  /// that carry credentials.
  public var description: String {
    ["\(method) \(url.redacted)", fields.description].filter { !$0.isEmpty }.joined(separator: "\n")
  }

  /// Shows what ``description`` shows.
  public var customMirror: Mirror {
    Mirror(self, children: ["method": method, "url": url.redacted, "fields": fields] as KeyValuePairs<String, Any>)
  }
}

extension HTTPFields: CustomReflectable {
  /// Shows what ``description`` shows.
  public var customMirror: Mirror {
    Mirror(self, unlabeledChildren: description.split(separator: "\n").map(String.init))
  }
}
