import Foundation
import Martlet
import Testing

/// The two ways in which Go's `net/http` reads bodies and forms: all at once, and as they arrive.
@Suite("Servers: readers of Go", .timeLimit(.minutes(5)))
struct GoContractTests {
  static let rows = ContractRow.rows().filter { $0.server.name == "Go" }

  @Test(arguments: rows)
  func aBodyIsReadAllAtOnce(row: ContractRow) async throws {
    let pattern = try row.pattern
    let body = RequestBody.stream { pattern.pieces }
    let request = HTTPRequest(.post, try row.url("/sink?reader=buffered"), body: body)

    #expect(try await row.session().text(for: request).0 == pattern.receipt())
  }

  @Test(arguments: rows, ["buffered", "streaming"])
  func aFormWithALongFileIsRead(row: ContractRow, reader: String) async throws {
    let pattern = try row.pattern
    var form = MultipartForm()
    form.append("ü\r\nline", for: "text")
    form.append(.file(pattern.file), for: "file")
    form.append(.stream { pattern.pieces }, for: "stream", fileName: "s.bin")
    let request = HTTPRequest(.post, try row.url("/form?reader=\(reader)"), body: .multipart(form))
    let lines = try await row.session().text(for: request).0.split(separator: "\n").sorted()

    #expect(lines.count == 3)
    #expect(lines.first == "file pattern.bin \(pattern.receipt())".dropLast())
    #expect(lines.dropFirst().first == "stream s.bin \(pattern.receipt())".dropLast())
    #expect(lines.last?.hasPrefix("text  8 ") == true)
  }
}
