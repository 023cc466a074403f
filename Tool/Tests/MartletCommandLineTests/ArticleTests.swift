@testable import MartletCommandLine
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

@Suite("The article about the tool", .timeLimit(.minutes(5)))
struct ArticleTests {
  /// A command of the article, and the lines that it prints.
  private struct Example {
    let command: String
    var lines: [String] = []
  }

  private func examples() throws -> [Example] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let article = root.appending(path: "Client/Sources/Martlet/Martlet.docc/Articles/CommandLineTool.md")
    var examples: [Example] = []
    var isInside = false
    for line in String(decoding: try Data(contentsOf: article), as: UTF8.self).split(separator: "\n") {
      if line.hasPrefix("```") {
        isInside = line == "```console"
      } else if isInside, line.hasPrefix("$ martlet ") {
        examples.append(Example(command: String(line.dropFirst("$ martlet ".count))))
      } else if isInside, !examples.isEmpty {
        examples[examples.count - 1].lines.append(String(line))
      }
    }
    return examples
  }

  private func service() throws -> LoopbackServer {
    let order = #"{"id":7,"item":"Tea","count":2,"price":3.50}"#
    return try LoopbackServer { request in
      if request.path == "/old" { return .redirect(to: "/orders/7").with(.setCookie, "sid=s3cret") }
      if request.method == .post {
        let isAsked = request.text == #"{"item":"Tea","count":2,"price":3.50}"# && request.fields["X-Trace"] == "1"
        return isAsked ? .json(order) : .status(.badRequest)
      }
      return .json(order)
    }
  }

  /// The times of a story differ from run to run.
  private func steady(_ line: String) -> String {
    guard let mark = line.firstRange(of: "  * ") ?? line.firstRange(of: "  > ") ?? line.firstRange(of: "  < ") else {
      return line
    }
    let text = line[mark.lowerBound...]
    return text.hasPrefix("  * times: ") ? "  * times: .." : String(text)
  }

  @Test func commandsPrintWhatTheArticleSays() async throws {
    let examples = try examples()
    #expect(examples.count == 11)
    let server = try service()
    let run = try TestRun()
    for example in examples {
      let words = example.command.replacing(":8080", with: ":\(server.port)").split(separator: " ").map(String.init)
      let result = try await run.run(words)
      let printed = (result.errors.text + result.text).replacing(":\(server.port)", with: ":8080")
      let lines = printed.split(separator: "\n").map { steady(String($0)) }
      #expect(lines == example.lines.map(steady), "martlet \(example.command)")
    }
  }

  @Test func theArticleKnowsEveryExitCode() throws {
    for code in ExitCode.allCases { #expect(!code.meaning.isEmpty) }
    #expect(ExitCode.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130, 141])
  }
}
