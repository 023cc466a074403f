// Descriptions of heads and fields, without the secrets that `Redaction` hides.

extension RequestHead: CustomStringConvertible, CustomReflectable {
  /// Method, URL and fields without secrets: without user information and query, and only with field values that may be
  /// shown.
  public var description: String { "\(method) \(url.redacted)" + fields.indented }

  /// The description, so that `dump` shows no more.
  public var customMirror: Mirror { Mirror(self, children: ["head": description]) }
}

extension ResponseHead: CustomStringConvertible {
  /// Status and fields, without secrets.
  public var description: String { "\(status.code)" + fields.indented }
}

extension HTTPFields {
  /// The description on separate lines after a first line; empty if there are no fields.
  var indented: String { isEmpty ? "" : "\n" + description }
}

extension HTTPFields: CustomStringConvertible, CustomReflectable {
  /// The lines in the form of a message, for logs, without the secrets that ``Redaction/standard`` hides.
  public var description: String {
    Redaction.standard.redacted(self).map { "\($0.name): \($0.value)" }.joined(separator: "\n")
  }

  /// The description, so that `dump` shows no more.
  public var customMirror: Mirror { Mirror(self, children: ["lines": description]) }
}
