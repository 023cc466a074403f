import Foundation
import Martlet
import Testing

/// Long bodies in both directions, with fast, slow, and vanishing readers.
@Suite("Servers: bodies", .timeLimit(.minutes(5)))
struct BodyContractTests {
  @Test(arguments: ContractRow.rows(with: .lengthlessUpload), ["fast", "slow"])
  func aLongUploadOfUnknownLengthArrivesWhole(row: ContractRow, pace: String) async throws {
    let pattern = try row.pattern
    let body = RequestBody.stream { pattern.pieces }
    let (text, response) = try await row.session().text(
      for: HTTPRequest(.post, row.url("/sink?pace=\(pace)"), body: body))

    #expect(text == pattern.receipt() && response.status == .ok)
  }

  @Test(arguments: ContractRow.rows())
  func aLongFileArrivesWhole(row: ContractRow) async throws {
    let pattern = try row.pattern
    let request = HTTPRequest(.put, try row.url("/sink"), body: .file(pattern.file))

    #expect(try await row.session().text(for: request).0 == pattern.receipt())
  }

  @Test(arguments: ContractRow.rows(), ["fast", "slow"])
  func aLongDownloadIsReadWhole(row: ContractRow, pace: String) async throws {
    let (body, response) = try await row.session().bytes(for: HTTPRequest(.get, row.url("/bytes?pace=\(pace)")))
    var received = try row.pattern.comparison
    for try await piece in body { received.add(piece) }

    #expect(received.isWhole && response.status == .ok)
  }

  @Test(arguments: ContractRow.rows())
  func aSlowReaderGetsADownloadWhole(row: ContractRow) async throws {
    let (body, _) = try await row.session().bytes(for: HTTPRequest(.get, row.url("/bytes")))
    var received = try row.pattern.comparison
    var paused = 0
    for try await piece in body {
      received.add(piece)
      if received.count >> 20 > paused {
        paused = received.count >> 20
        try await Task.sleep(for: .milliseconds(20))  // the reader's pace: a MiB in 20 ms
      }
    }

    #expect(received.isWhole)
  }

  @Test(arguments: ContractRow.rows())
  func afterACancelledDownloadTheNextRequestSucceeds(row: ContractRow) async throws {
    let session = try row.session()
    let request = HTTPRequest(.get, try row.url("/bytes?pace=slow"))
    let (started, start) = AsyncStream<Void>.makeStream()
    let reader = Task {
      var count = 0
      for try await piece in try await session.bytes(for: request).0 {
        count += piece.count
        if count > 1 << 20 { start.finish() }
      }
      start.finish()
    }
    for await _ in started {}
    reader.cancel()

    let error = await #expect(throws: HTTPError.self) { try await reader.value }
    #expect(error?.isCancelled == true)
    #expect(try await session.text(row.url("/hello")) == "hello")
  }

  @Test(arguments: ContractRow.rows())
  func aCancelledDownloadSpoilsNoOther(row: ContractRow) async throws {
    let session = try row.session()
    let request = HTTPRequest(.get, try row.url("/bytes"))
    let (first, _) = try await session.bytes(for: request)
    var others = [try await session.bytes(for: request).0, try await session.bytes(for: request).0]
    for try await _ in first { break }
    first.cancel()

    while let body = others.popLast() {
      var received = try row.pattern.comparison
      for try await piece in body { received.add(piece) }
      #expect(received.isWhole)
    }
  }
}
