/// A command line that cannot be carried out: what is wrong, and what to do.
struct UsageError: Error, Sendable, Hashable, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
