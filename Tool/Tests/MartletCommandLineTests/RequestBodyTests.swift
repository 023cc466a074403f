@testable import MartletCommandLine
import Glibc
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

@Suite("Types of bodies, and standard input", .timeLimit(.minutes(5)))
struct RequestBodyTests {
  private let run: TestRun

  init() throws { run = try TestRun() }

  private func url(_ server: LoopbackServer) -> String { ":\(server.port)/" }

  private func echo() throws -> LoopbackServer { try LoopbackServer { _ in .json("{}") } }

  @Test(arguments: [
    ([], #"{"a":1}"#, "application/json"), ([], "a=1", "application/json"),
    (["--form"], "a=1", "application/x-www-form-urlencoded"), (["--json"], "a=1", "application/json"),
    (["Content-Type:text/csv"], "1,2", "text/csv"),
  ])
  func rawTextIsJSONUnlessAnotherTypeIsNamed(more: [String], text: String, type: String) async throws {
    let server = try echo()
    _ = try await run.run(["post", url(server), "--raw", text] + more)
    let request = try await server.request(1)
    #expect(request.text == text)
    #expect(request.fields[.contentType] == type)
  }

  @Test(arguments: [
    (["post", "--json"], "application/json", "application/json, */*;q=0.5"),
    (["get", "--json"], "application/json", "application/json, */*;q=0.5"),
    (["post", "--form"], "application/x-www-form-urlencoded", "*/*"), (["post"], nil, "*/*"),
    (["post", "--json", "Content-Type:"], nil, "application/json, */*;q=0.5"),
  ])
  func aRequestWithoutABodyHasTheTypeThatIsAskedFor(line: [String], type: String?, accept: String) async throws {
    let server = try echo()
    _ = try await run.run([line[0], url(server)] + line.dropFirst())
    let fields = try await server.request(1).fields
    #expect(fields[.contentType] == type && fields[.accept] == accept)
  }

  @Test(arguments: [["a=1"], ["a=1", "--form"], ["--raw", "text"], ["--multipart", "a=1"], ["@-"]])
  func aBodyIsSentWithoutItsTypeIfThatIsLeftOut(body: [String]) async throws {
    let server = try echo()
    _ = try await run.run(["post", url(server), "Content-Type:"] + body)
    #expect(try await server.request(1).fields[.contentType] == nil)
  }

  @Test(arguments: ["Accept", "Accept-Encoding", "User-Agent", "accept", "Cookie", "Authorization"], ["get", "post"])
  func aFieldIsLeftOut(name: String, method: String) async throws {
    let server = try echo()
    let target = "http://u:p@localhost:\(server.port)/"
    _ = try await run(method, target, "\(name):", "X-Other:1")
    let request = try await server.request(1)
    #expect(request.fields[values: try FieldName(name)].isEmpty && request.fields["X-Other"] == "1")
    let offline = try await run(method, target, "\(name):", "--offline").text
    #expect(!offline.lowercased().contains("\n\(name.lowercased()): "))
    #expect(try await run("get", target).code == .success)
    #expect(try await server.request(2).fields[.accept] == "*/*")
  }

  /// The end of a pipe with these bytes, which stays open for writing.
  private func pipe(_ text: String) throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0, write(ends[1], text, text.utf8.count) == text.utf8.count else {
      throw UsageError("there is no pipe")
    }
    return (ends[0], ends[1])
  }

  @Test(arguments: [
    ([":PORT/"], "{}", true), (["delete", ":PORT/"], "{}", true), (["PROPFIND", ":PORT/"], "{}", true),
    (["post", ":PORT/", "-I"], "{}", false), ([":PORT/", "-q"], "{}", false), ([":PORT/", "a=1"], "{}", false),
    (["get", ":PORT/"], "{}", false), ([":PORT/"], "", false),
  ])
  func standardInputThatIsNotSentIsReported(line: [String], text: String, isReported: Bool) async throws {
    let server = try echo()
    let ends = try pipe(text)
    defer { for end in [ends.reading, ends.writing] { close(end) } }
    let result = try await run.run(
      line.map { $0.replacing("PORT", with: "\(server.port)") }, input: "/dev/fd/\(ends.reading)")
    #expect(result.code == .success)
    #expect(result.errors.text.contains("standard input is not sent: @- sends it as the body") == isReported)
    let inFile = try await run(url(server), input: text)
    #expect(inFile.errors.text.contains("standard input is not sent") == !text.isEmpty)
  }
}
