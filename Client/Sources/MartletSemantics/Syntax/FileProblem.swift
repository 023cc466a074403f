/// A line of a file that is not valid, of a `cookies.txt` or `.netrc` file for example, with the reason. It contains
/// nothing of the file's text, which may be a secret.
public struct FileProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// The number of the line; the first line is 1.
  public let line: Int
  /// The problem of the line, and how to fix it.
  public let reason: String

  package init(line: Int, reason: String) {
    self.line = line
    self.reason = reason
  }

  /// The number of the line, and the reason.
  public var description: String { "line \(line): \(reason)" }
}
