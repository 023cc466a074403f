#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

extension ConformanceCase {
  /// Bodies that are streamed, and calls that are cancelled.
  static let streams = [
    ConformanceCase(10...10, "testEchoString") { client throws in
      let body = RequestBody.stream {
        AsyncStream { chunks in
          for text in ["Hello ", "World"] { chunks.yield(Data(text.utf8)) }
          chunks.finish()
        }
      }
      #expect(try await client.call("/echo", .post, body: body).1 == Data("Hello World".utf8))
    },
    ConformanceCase(20...20, "testStressTest") { client in
      try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
        for _ in 0..<100 {
          group.addTask {
            let session = HTTPSession(transport: SocketTransport())
            return try await session.data(for: guarded(.get, client.server.url("/request"))).1.status
          }
        }
        for try await status in group { #expect(status == .ok) }
      }
    },
    ConformanceCase(23...23, "testCancelPreHeaders") { client in
      let task = Task { try await client.call("/stall") }
      _ = try await client.server.request(1)
      task.cancel()
      await #expect(throws: (any Error).self) { try await task.value }
    },
    ConformanceCase(24...24, "testCancelPreBody") { client in
      let begun = Gate()
      let task = Task {
        let response = try await client.transport.send(guarded(.get, client.server.url("/stall_body")), in: Call())
        var count = 0
        for try await chunk in response.body {
          count += chunk.count
          begun.open()
        }
        return count
      }
      try await begun.wait()
      task.cancel()
      await #expect(throws: (any Error).self) { try await task.value }
    },
    ConformanceCase(25...25, "testEcho1MBBody") { client throws in
      #expect(try await client.call("/echo", .post, body: .data(pattern(1_000_000))).1 == pattern(1_000_000))
    },
    ConformanceCase(26...26, "testUnderRead") { client in
      let response = try await client.transport.send(guarded(.get, client.server.url("/1mb_body")), in: Call())
      let source = response.body.source
      #expect(try await source.next()?.isEmpty == false)
      response.body.cancel()
      #expect(try await client.call("/200").0.status == .ok)
    },
    ConformanceCase(27...27, "testDripRead") { client in
      let response = try await client.transport.send(guarded(.get, client.server.url("/1mb_body")), in: Call())
      var body = Data()
      for try await chunk in response.body { body += chunk }
      #expect(body == pattern(1_000_000))
    },
    ConformanceCase(33...33, "testEchoInterleave") { try await $0.interleave("echo", isFirst: true) },
    ConformanceCase(34...34, "testSpeakInterleave") { try await $0.interleave("speak", isFirst: false) },
    ConformanceCase(35...35, "testEmptyChunkedBody") {
      let body = RequestBody.stream(length: 0) { AsyncStream<Data> { chunks in chunks.finish() } }
      let seen = try await $0.seen("/request", .post, body: body)
      #expect(seen.method == "POST" && seen.body.isEmpty)
    },
    ConformanceCase(38...38, "testTrailerRead") { client in
      let url = try DuplexServer.shared.get().url.appending(path: "plain")
      let response = try await client.transport.send(guarded(.get, url), in: Call())
      _ = try await response.body.collect(upTo: 1000)
      #expect(response.trailers.map { "\($0.name.rawName): \($0.value)" } == ["X-One: 1", "X-Two: 2", "X-Three: 3"])
    },
    ConformanceCase(39...39, "testTrailerWrite") {
      let url = try DuplexServer.shared.get().url.appending(path: "trailers")
      let trailers: HTTPFields = ["X-One": "1", "X-Two": "2", "X-Three": "3"]
      let body = RequestBody.stream(trailers: { trailers }) {
        AsyncStream<Data> { chunks in
          chunks.yield(Data("body".utf8)); chunks.finish()
        }
      }
      let response = try await $0.transport.send(guarded(.post, url, body: body), in: Call())
      let text = String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self)
      #expect(text == "X-One: 1\r\nX-Two: 2\r\nX-Three: 3\r\n")
    },
  ]
}

extension ConformanceClient {
  /// Sends 1,000 bytes and receives them, each byte after the previous one has returned.
  fileprivate func interleave(_ path: String, isFirst: Bool) async throws {
    let (bytes, input) = AsyncStream<Data>.makeStream()
    let url = try DuplexServer.shared.get().url.appending(path: path)
    let request = guarded(.post, url, body: .singleUse(bytes))
    if isFirst { input.yield(Data("A".utf8)) }
    let response = try await transport.send(request, in: Call())
    var count = 0
    for try await chunk in response.body {
      #expect(chunk == Data("A".utf8))
      count += 1
      if count < 1000 || !isFirst && count == 1000 { input.yield(Data("A".utf8)) }
      if count == 1000 { input.finish() }
    }
    #expect(count == 1000)
  }
}
#endif
