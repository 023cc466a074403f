#if os(Linux)
import MartletEngine
import MartletSemantics
import Testing

extension ConformanceCase {
  /// Responses as bytes, after which the server closes the connection.
  static let raw = [
    ConformanceCase(1...1, "testNotHTTP") { await $0.expectError("/not_http") },
    ConformanceCase(2...2, "testBadHTTPCase") { await $0.expectError("/http_case") },
    ConformanceCase(3...3, "testNoReason") { client throws in
      #expect(try await client.call("/no_reason").0.status == .ok)
    },
    ConformanceCase(4...4, "test204WithContentLength") {
      let (response, body) = try await $0.call("/204_with_cl")
      #expect(response.status == .noContent && body.isEmpty)
    },
    ConformanceCase(5...5, "test304WithContentLength") {
      let (response, body) = try await $0.call("/304_with_cl")
      #expect(response.status == .notModified && body.isEmpty)
    },
    ConformanceCase(6...6, "testIncompleteBody") { await $0.expectError("/incomplete_body") },
    ConformanceCase(7...7, "testConflictingContentLength") { await $0.expectError("/conflicting_cl") },
    ConformanceCase(8...8, "testNoLengthHint") { client throws in
      #expect(try await client.call("/no_length_hint").1 == Data("1234".utf8))
    },
  ]

  static let messages = [
    ConformanceCase(9...9, "testOk") {
      for method in [HTTPMethod.head, .get, .put, .post, .delete] {
        let (response, body) = try await $0.call("/200", method)
        #expect(response.status == .ok && body.isEmpty && response.trailers.isEmpty)
      }
    },
    ConformanceCase(11...13, "testGzip, testDeflate, testBrotli") {
      for (target, coding) in ["/gzip": "gzip", "/deflate": "deflate", "/brotli": "br"] {
        let (response, body) = try await $0.call(target)
        #expect(body == Data("TEST\n".utf8))
        // the session removes the field, because it does not describe the body any more
        #expect(response.networkHead?.fields[.contentEncoding] == coding)
      }
    },
    ConformanceCase(14...14, "testIdentity") {
      let (response, body) = try await $0.call("/identity")
      #expect(
        [nil, "identity"].contains(response.networkHead?.fields[.contentEncoding]) && body == Data("TEST\n".utf8))
    },
    ConformanceCase(15...15, "testCustomHeader") { client throws in
      #expect(try await client.seen("/request", .get, ["X-Foo": "BARbaz"]).values(of: "x-foo") == ["BARbaz"])
    },
    ConformanceCase(16...16, "testBasicRedirect") {
      for target in ["/301", "/308"] {
        let seen = try await $0.seen(target)
        #expect(seen.method == "GET" && seen.body.isEmpty && seen.target == "/request")
      }
    },
    ConformanceCase(17...17, "testInfiniteRedirect") { await $0.expectError("/redirect_ping") },
    ConformanceCase(18...18, "testNotFound") {
      let (response, body) = try await $0.call("/404")
      #expect(response.status == .notFound && body.isEmpty)
    },
    ConformanceCase(19...19, "testStatusOutOfRangeButValid") { client throws in
      #expect(try await client.call("/999").0.status.code == 999)
    },
    ConformanceCase(21...21, "testGetConvenience") { client throws in
      #expect(try await client.seen("/request").method == "GET")
    },
    ConformanceCase(22...22, "testPostConvenience") {
      let seen = try await $0.seen("/request", .post, body: .data(Data("Hello".utf8)))
      #expect(seen.method == "POST" && seen.body == "Hello")
    },
    ConformanceCase(28...28, "testClientSendsEmptyHeaderValue") { client throws in
      #expect(try await client.seen("/request", .get, ["X-Test": ""]).values(of: "x-test") == [""])
    },
    ConformanceCase(29...29, "testHeadWithContentLength") {
      let (response, body) = try await $0.call("/head_with_cl", .head)
      #expect(response.status == .ok && response.fields[.contentLength] == "1000" && body.isEmpty)
    },
    ConformanceCase(30...30, "testServerSendsMultiValueHeader") { client throws in
      #expect(try await client.call("/header_multivalue").0.fields[values: "X-Test"] == ["one", "two"])
    },
    ConformanceCase(31...31, "testClientSendsMultiValueHeader") { client throws in
      var fields: HTTPFields = ["X-Test": "one"]
      fields.append("two", for: "X-Test")
      #expect(try await client.seen("/request", .get, fields).values(of: "x-test") == ["one", "two"])
    },
    ConformanceCase(32...32, "testBasicCookieSetAndUse") { client throws in
      _ = try await client.call("/cookie")
      #expect(try await client.seen("/request").values(of: "cookie") == ["foo=5c0e"])
    },
    ConformanceCase(36...36, "testURLParams") { client throws in
      let target = "/request?foo=bar&bar=baz&baz=qux&qux=&foo=phew"
      #expect(try await client.seen(target).target == target)
    },
    ConformanceCase(37...37, "testETag") {
      for number in 1...3 {
        for isCached in ["false", "true"] {
          let (response, body) = try await $0.call("/etag?\(number)")
          #expect(response.status == .ok && response.fields["Cached"] == isCached)
          #expect(String(decoding: body, as: UTF8.self) == "content of \"\(number)\"")
        }
      }
    },
  ]
}
#endif
