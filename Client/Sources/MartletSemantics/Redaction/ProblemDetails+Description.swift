extension ProblemDetails: CustomStringConvertible, CustomReflectable {
  /// The type, without secrets, and the title.
  public var description: String {
    [Redaction.standard.redacted(reference: type), title].compactMap(\.self).joined(separator: ": ")
  }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["problem": description]) }
}
