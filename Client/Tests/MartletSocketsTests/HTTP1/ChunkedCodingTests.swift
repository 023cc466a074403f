import MartletEngine
import MartletSemantics
import Testing

@testable import MartletSockets

/// The chunked transfer coding (RFC 9112 §7.1).
@Suite(.timeLimit(.minutes(5)))
struct ChunkedCodingTests {
  private func read(_ chunks: String) -> ReadResponse {
    ReadResponse.read(("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks).utf8)
  }

  @Test(
    arguments: [
      ("0\r\n\r\n", ""), ("5\r\nhello\r\n0\r\n\r\n", "hello"), ("1\r\na\r\n2\r\nbc\r\n000\r\n\r\n", "abc"),
      ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"), ("0000000000000001\r\na\r\n0\r\n\r\n", "a"),
      ("1;a\r\nb\r\n0;z=1\r\n\r\n", "b"), ("1 \t; a = \"b;c\"\r\nb\r\n0\r\n\r\n", "b"), ("1  \r\nb\r\n0 \r\n\r\n", "b"),
      ("1\nb\n0\n\n", "b"), ("1\r\nb\n0\r\n\n", "b"), ("1;\u{e9}\tx\r\nb\r\n0\r\n\r\n", "b"),
    ])
  func validChunksAreABody(_ chunks: String, body: String) {
    let read = read(chunks)
    #expect(read.failure == nil)
    #expect(read.isComplete)
    #expect(String(decoding: read.body, as: UTF8.self) == body)
    #expect(read.keepsConnection)
  }

  @Test(
    arguments: [
      ("\r\n", .chunkSize), ("x\r\n", .chunkSize), (" 1\r\n", .chunkSize), ("-1\r\n", .chunkSize),
      ("+1\r\n", .chunkSize), ("0x1\r\n", .chunkSize), ("1g\r\n", .chunkSize), ("1 2\r\n", .chunkSize),
      (";a\r\n", .chunkSize), ("1\rb\n", .chunkSize), ("1\r\r\n", .chunkSize), ("1\u{0}\r\n", .chunkSize),
      ("1,\r\n", .chunkSize), ("8000000000000000\r\n", .chunkSize), ("FFFFFFFFFFFFFFFF\r\n", .chunkSize),
      ("00000000000000001\r\n", .chunkSize), ("10000000000000000\r\n", .chunkSize), ("1\u{b}\r\n", .chunkSize),
      ("1;a\rb\r\n", .chunkExtension), ("1;\u{0}\r\n", .chunkExtension), ("1;\u{7f}\r\n", .chunkExtension),
      ("1\r\nab", .chunkEnd), ("1\r\na\r\r", .chunkEnd), ("1\r\na\rb", .chunkEnd), ("1\r\na0\r\n", .chunkEnd),
    ] as [(String, MessageFault)])
  func otherChunksAreRefused(_ chunks: String, expected: MessageFault) {
    #expect(read(chunks).failure == HTTP1Failure(expected, phase: .receiving))
  }

  @Test func theLargestSizeIsOneBelowTheOverflow() {
    let read = read("7FFFFFFFFFFFFFFF\r\nhello")
    #expect(read.failure == nil)
    #expect(read.body == Array("hello".utf8))
  }

  /// Otherwise a peer could send endlessly, without any count.
  @Test func extensionsAreBoundedPerLineAndBesideTheData() {
    let long = "1;" + String(repeating: "a", count: 4092)  // 4096 with its line break
    #expect(read(long + "\r\na\r\n0\r\n\r\n").isComplete)
    #expect(read("1;" + String(repeating: "a", count: 4093) + "\r\n").failure?.message.contains("§7.1.1") == true)
    #expect(read("1;" + String(repeating: "a", count: 4095)).failure?.message.contains("§7.1.1") == true)
    let small = "1;" + String(repeating: "a", count: 1000) + "\r\na\r\n"
    #expect(read(String(repeating: small, count: 16)).failure == nil)
    #expect(read(String(repeating: small, count: 17)).failure == HTTP1Failure(.chunkExtension, phase: .receiving))
    let signed = "400;signature=" + String(repeating: "a", count: 500) + "\r\n" + String(repeating: "b", count: 1024)
    #expect(read(String(repeating: signed + "\r\n", count: 1000)).failure == nil)
  }

  @Test func whatTheWriterWritesIsRead() {
    var buffer = SendBuffer()
    for count in [1, 15, 16, 255, 0, 70_000] {
      [UInt8](repeating: UInt8(ascii: "a"), count: count).withUnsafeBytes { ChunkedWriter.append($0, to: &buffer) }
    }
    let body = buffer.withUnsafeBytes { Array($0) }
    #expect(body.starts(with: "1\r\na\r\nf\r\naaa".utf8))
    let head = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
    let plain = ReadResponse.read(head + body + ChunkedWriter.end(trailers: [:]))
    #expect(plain.isComplete)
    #expect(plain.body.count == 1 + 15 + 16 + 255 + 70_000)
    let trailers = ChunkedWriter.end(trailers: ["X-Digest": "a=b", "X-Empty": ""])
    #expect(ReadResponse.read(head + body + trailers).trailers == Array("X-Digest: a=b\r\nX-Empty:\r\n".utf8))
  }
}
