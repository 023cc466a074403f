#if os(Linux)
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import Testing

/// The program `curl`, which asks for many replies in one run, each over a connection of its own.
struct CurlProgram {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Asks a server for replies, and returns the outcomes by the replies' numbers. Some replies crash some versions of
  /// curl (before 8.1.0, a folded first field): another run goes on behind such a reply.
  func outcomes(of replies: [MutatedReply], at url: URL) throws -> [Int: OtherClient.Outcome] {
    var outcomes: [Int: OtherClient.Outcome] = [:]
    var rest = replies[...]
    while let first = rest.first {
      let some = try run(rest, at: url)
      outcomes.merge(some) { $1 }
      if some.isEmpty { outcomes[first.number] = .refused("curl ended", isCutOff: nil) }
      rest = rest.drop { outcomes[$0.number] != nil }
    }
    return outcomes
  }

  /// Returns the outcomes until the run ended.
  private func run(_ replies: ArraySlice<MutatedReply>, at url: URL) throws -> [Int: OtherClient.Outcome] {
    let blocks = replies.map { reply in
      """
      url = "\(url.absoluteString)\(reply.number)"
      \(reply.method == .head ? "head" : "request = \(reply.method.rawValue)")
      header = "Connection: close"
      noproxy = "*"
      max-time = 30
      dump-header = "\(head(reply.number).path)"
      output = "\(reply.method == .head ? "/dev/null" : body(reply.number).path)"
      write-out = "\(reply.number) %{exitcode} %{response_code} %{errormsg}\\n"

      """
    }
    try folder.write(Data(blocks.joined(separator: "next\n").utf8), to: "requests")
    let process = try ChildProcess("curl", ["-q", "-s", "-K", folder.file("requests").path], output: .read)
    let lines = String(decoding: process.readToEnd(), as: UTF8.self).split(separator: "\n")
    return Dictionary(uniqueKeysWithValues: lines.compactMap(outcome))
  }

  private func head(_ number: Int) -> URL { folder.file("\(number).head") }

  private func body(_ number: Int) -> URL { folder.file("\(number).body") }

  /// Reads the line that `write-out` printed for a reply; nil for any other output of curl.
  private func outcome(_ line: Substring) -> (Int, OtherClient.Outcome)? {
    let words = line.split(separator: " ", maxSplits: 3)
    guard words.count >= 3, let number = Int(words[0]), let code = Int(words[1]), let status = Int(words[2]) else {
      return nil
    }
    guard code == 0 else {
      // 18: a partial file; 52: nothing from the server; 56: the connection failed, or a chunk is malformed
      let text = words.count > 3 ? String(words[3]) : ""
      return (number, .refused("\(code): \(text)", isCutOff: code == 18 || code == 52))
    }
    let content = (try? Data(contentsOf: body(number))) ?? Data()  // there is no file for an empty body
    return (number, .response(status: status, fields: fields(number), body: content))
  }

  /// The field lines of the final response, with folded lines joined; neither those of informational responses nor
  /// trailers.
  private func fields(_ number: Int) -> [String] {
    guard let bytes = try? Data(contentsOf: head(number)) else { return [] }
    var lines: [String] = []
    var isInHead = false
    for line in bytes.split(separator: 10, omittingEmptySubsequences: false) {
      let text = Self.text(line.last == 13 ? line.dropLast() : line)
      if text.hasPrefix("HTTP/") {
        (lines, isInHead) = ([], true)
      } else if text.isEmpty {
        isInHead = false
      } else if isInHead, let first = text.first, first == " " || first == "\t", let last = lines.popLast() {
        lines.append(last + " " + text)
      } else if isInHead {
        lines.append(text)
      }
    }
    return lines
  }

  /// Decodes a line as Martlet does: UTF-8, else Latin-1; a byte of a cookie that is no UTF-8 is a character for
  /// private use.
  private static func text(_ line: Data) -> String {
    if let text = String(validating: line, as: UTF8.self) { return text }
    let isCookie = MutatedReply.text(line.prefix(11)).lowercased() == "set-cookie:"
    return isCookie ? line.withUnsafeBytes { FieldOctets.text($0) } : MutatedReply.text(line)
  }
}
#endif
