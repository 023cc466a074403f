import MartletSemantics
import Testing

@testable import SAPOData

@Suite("Reading multipart bodies")
struct MultipartReaderTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let body: String
    /// The contents of the parts; nil if the body is refused.
    let contents: [String]?
  }

  /// RFC 2046 §5.1.1.
  static let cases: [Case] = [
    Case(
      testDescription: "two parts", body: "--b\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\n", contents: ["one", "two"]),
    Case(
      testDescription: "a preamble and an epilogue are ignored",
      body: "to old\r\n--b\r\n\r\none\r\n--b--\r\n--b\r\n\r\nafter", contents: ["one"]),
    Case(
      testDescription: "the line break before a delimiter belongs to it", body: "--b\r\n\r\none\r\n\r\n--b--",
      contents: ["one\r\n"]),
    Case(testDescription: "spaces after a boundary", body: "--b \t\r\n\r\none\r\n--b-- ", contents: ["one"]),
    Case(testDescription: "lines without CR", body: "--b\n\none\n--b--", contents: ["one"]),
    Case(
      testDescription: "a longer line is no delimiter", body: "--b\r\n\r\n--bc\r\n--b-\r\n--b--",
      contents: ["--bc\r\n--b-"]),
    Case(testDescription: "a part without content", body: "--b\r\nA: 1\r\n\r\n--b--", contents: [""]),
    Case(testDescription: "no parts", body: "--b--", contents: []),
    Case(testDescription: "no closing delimiter", body: "--b\r\n\r\none\r\n--b\r\n\r\ntw", contents: ["one", "tw"]),
    Case(testDescription: "no delimiter", body: "--c\r\n\r\none\r\n--c--", contents: nil),
    Case(testDescription: "nothing", body: "", contents: nil),
  ]

  @Test("A body is split at its delimiters", arguments: cases)
  func bodyIsSplitAtItsDelimiters(row: Case) {
    let parts = MultipartReader.parts(of: Array(row.body.utf8)[...], boundary: "b")

    #expect(parts?.map { String(decoding: $0.content, as: UTF8.self) } == row.contents)
  }

  @Test func partHasItsFields() {
    let body = "--b\r\nContent-ID: 7 \r\nno field\r\nX:y\r\n\r\nz\r\n--b--"

    let part = MultipartReader.parts(of: Array(body.utf8)[...], boundary: "b")?.first

    #expect(part?.fields == ["Content-ID": "7", "X": "y"])
  }

  @Test(
    "A response in a part is read",
    arguments: [
      ("HTTP/1.1 200 OK\r\nA: 1\r\n\r\nbody", 200, "body"), ("HTTP/1.1 204\r\n\r\n", 204, ""),
      ("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno\r\n", 404, "no"),
      ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort", 200, "short"),
      ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", 200, "x"),
      ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nlong\r\n", 200, "long"),
      ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nx\r\n\r\n", 200, "x\r\n"),
      ("\r\n\nHTTP/1.1 204\r\n\r\n\r\n", 204, ""),
    ])
  func responseInAPartIsRead(text: String, status: Int, body: String) {
    let response = MultipartReader.response(in: Array(text.utf8)[...])

    #expect(response?.head.status.code == status)
    #expect(response.map { String(decoding: $0.body, as: UTF8.self) } == body)
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n", "OK"), ("HTTP/1.1 404 Nothing Here\r\n\r\n", "Nothing Here"), ("HTTP/1.1 404\r\n\r\n", ""),
    ("HTTP/1.1 404 \n\n", ""),
  ])
  func theReasonPhraseOfAPartIsRead(text: String, reason: String) {
    #expect(MultipartReader.response(in: Array(text.utf8)[...])?.head.reason == reason)
  }

  @Test("What has no status line is no response", arguments: ["", "x", "HTTP/1.1", "HTTP/1.1 99 X", "HTTP/1.1 6000 X"])
  func whatHasNoStatusLineIsNoResponse(text: String) {
    let response = MultipartReader.response(in: Array(text.utf8)[...])

    #expect(response?.head == nil)
  }
}
