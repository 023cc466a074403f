#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What a program has to say for itself, on standard error.
package struct Complaint: Sendable {
  private let program: String

  package init(of program: String) { self.program = program }

  package func tell(_ message: String) {
    let bytes = Array("\(program): \(message)\n".utf8)
    _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Says it and ends the program: code 2 for a mistake on the command line, 1 for anything else.
  package func end(_ error: any Error) -> Never {
    tell("\(error)")
    exit(error is CommandLineOptions.Mistake ? 2 : 1)
  }
}
