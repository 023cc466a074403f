import Foundation
import MartletTesting
import Testing

@testable import SAPOData

@Suite("Answers to batches", .timeLimit(.minutes(5)))
struct BatchAnswerTests {
  /// Sends a batch with a read, a set of two changes and another read, which have the numbers 1 to 4. Returns the
  /// entity tags of their answers; nil for one without an answer.
  private func tags(_ body: String) async throws -> [String?] {
    let (provider, _) = try OnlineODataProvider.answered { _ in
      .data(Data(body.utf8), type: "multipart/mixed;boundary=b")
    }
    var batch = ODataBatch()
    let first = batch.read(String.self, in: "A")
    let changes = batch.changeSet { changes in [changes.delete("B"), changes.delete("C")] }
    let last = batch.read(String.self, in: "D")
    let result = try await provider.send(batch)
    let pages = try [first, last].map { part in
      do { return try result.value(of: part).values.first } catch let error as ODataError {
        #expect([.notExecuted, .invalidResponse].contains(error.kind))
        return nil
      }
    }
    let tags = changes.map { try? result.value(of: $0).etag }
    return [pages[0], tags[0], tags[1], pages[1]]
  }

  private static func read(_ value: String) -> String {
    "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{\"value\":[\"\(value)\"]}\r\n"
  }

  /// A change's answer, with a `Content-ID` in the head of the part or in that of the response.
  private static func change(_ tag: String, id: Int? = nil, innerID: Int? = nil) -> String {
    let (outer, inner) = (id.map { "Content-ID: \($0)\r\n" } ?? "", innerID.map { "Content-ID: \($0)\r\n" } ?? "")
    return "--c\r\nContent-Type: application/http\r\n\(outer)\r\n"
      + "HTTP/1.1 204 No Content\r\n\(inner)ETag: \(tag)\r\n\r\n\r\n"
  }

  private static func set(_ changes: String...) -> String {
    "--b\r\nContent-Type: multipart/mixed;boundary=c\r\n\r\n" + changes.joined() + "--c--\r\n"
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let body: String
    var tags: [String?] = ["1", "two", "three", "4"]
  }

  private static func whole(_ changes: String...) -> String {
    read("1") + "--b\r\nContent-Type: multipart/mixed;boundary=c\r\n\r\n" + changes.joined() + "--c--\r\n" + read("4")
      + "--b--\r\n"
  }

  static let cases = [
    Case(testDescription: "in order", body: whole(change("two"), change("three"))),
    Case(testDescription: "by identifier", body: whole(change("three", id: 3), change("two", id: 2))),
    Case(
      testDescription: "by the identifier in the response",
      body: whole(change("three", innerID: 3), change("two", innerID: 2))),
    Case(
      testDescription: "by MIME's form of identifiers",
      body: whole(change("three", id: 3), change("two", id: 2)).replacing("-ID: 3", with: "-ID: <3>")
        .replacing("-ID: 2", with: "-ID: <2>")),
    Case(testDescription: "one by identifier, the other in order", body: whole(change("three", id: 3), change("two"))),
    Case(testDescription: "the same identifier twice", body: whole(change("two", id: 3), change("three", id: 3))),
    Case(testDescription: "identifiers of another count", body: whole(change("two", id: 12), change("three", id: 13))),
    Case(
      testDescription: "one answer of two", body: whole(change("three", id: 3)), tags: ["1", nil, "three", "4"]),
    Case(
      testDescription: "a success instead of a set is one answer",
      body: read("1") + change("two").replacing("--c", with: "--b") + read("4") + "--b--",
      tags: ["1", "two", nil, "4"]),
    Case(
      testDescription: "no closing delimiter", body: read("1") + set(change("two"), change("three")) + read("4")),
    Case(
      testDescription: "no closing delimiter of the set",
      body: read("1") + set(change("two"), change("three")).replacing("--c--\r\n", with: "") + read("4") + "--b--"),
    Case(
      testDescription: "cut off in a set", body: read("1") + set(change("two")).replacing("--c--\r\n", with: ""),
      tags: ["1", "two", nil, nil]),
    Case(
      testDescription: "an empty line before each status line",
      body: whole(change("two"), change("three")).replacing("HTTP/1.1", with: "\r\nHTTP/1.1")),
    Case(
      testDescription: "lengths that are too short",
      body: whole(change("two"), change("three")).replacing(
        "HTTP/1.1 200 OK", with: "HTTP/1.1 200 OK\r\nContent-Length: 3")
    ),
    Case(
      testDescription: "lengths that are too long",
      body: whole(change("two"), change("three"))
        .replacing("HTTP/1.1 200 OK", with: "HTTP/1.1 200 OK\r\nContent-Length: 999")),
    Case(
      testDescription: "a part without a status line",
      body: whole(change("two"), change("three")).replacing("HTTP/1.1 200 OK", with: "nothing"),
      tags: [nil, "two", "three", nil]),
  ]

  @Test("Each part is used once, by its identifier or in its order", arguments: cases)
  func eachPartIsUsedOnceByItsIdentifierOrInItsOrder(row: Case) async throws {
    #expect(try await tags(row.body) == row.tags)
  }

  @Test func partThatCannotBeReadSaysSo() async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in
      .data(Data("--b\r\n\r\nno response\r\n--b--".utf8), type: "multipart/mixed;boundary=b")
    }
    var batch = ODataBatch()
    let part = batch.read(Order.self, in: "Orders")

    let result = try await provider.send(batch)

    let error = #expect(throws: ODataError.self) { try result.value(of: part) }
    #expect(error?.kind == .invalidResponse)
    #expect(error?.message.contains("status line") == true)
  }
}
