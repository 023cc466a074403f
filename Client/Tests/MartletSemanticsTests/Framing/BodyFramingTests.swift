@_spi(Toolkit) import MartletSemantics
import Testing

/// The length of a response body (RFC 9112 §6.3).
@Suite(.timeLimit(.minutes(5)))
struct BodyFramingTests {
  private func framing(
    _ status: Int = 200, head: Bool = false, lengths: [String] = [],
    codings: [String] = []
  ) -> Result<BodyFraming, MessageFault> {
    Result { () throws(MessageFault) in
      try BodyFraming(
        status: status, answering: head ? .head : .get, lengths: lengths, codings: codings)
    }
  }

  // Rules 1 and 2, and RFC 9110 §6.4.1.
  @Test(
    arguments: [
      (.get, 200, true), (.get, 206, true), (.get, 404, true), (.get, 500, true), (.post, 201, true),
      // 1xx, 204 and 304, whatever the method
      (.get, 100, false), (.get, 101, false), (.get, 199, false), (.get, 204, false), (.get, 304, false),
      (.post, 204, false), (.head, 304, false), (.connect, 304, false),
      // a 205 has no content either, but its length must be read
      (.get, 205, true),
      // HEAD, whatever the status
      (.head, 200, false), (.head, 206, false), (.head, 404, false), (.head, 500, false),
      // a 2xx to CONNECT is followed by a tunnel, and any other status by a body
      (.connect, 200, false), (.connect, 299, false), (.connect, 300, true), (.connect, 407, true),
      (.connect, 502, true),
    ] as [(HTTPMethod, Int, Bool)])
  func statusAndMethodDecideWhetherThereIsABody(_ method: HTTPMethod, _ status: Int, hasBody: Bool) {
    #expect(BodyFraming.hasBody(status: status, answering: method) == hasBody)
    let framing = try? BodyFraming(status: status, answering: method, fields: FramingFields())
    #expect(framing == (hasBody ? .untilClose : BodyFraming.none))
  }

  // Rule 1: regardless of the fields.
  @Test(arguments: [100, 103, 199, 101, 204, 304])
  func someStatusesHaveNoBodyRegardlessOfFields(_ status: Int) {
    for lengths in [[], ["5"], ["x"], ["5", "6"]] {
      #expect(framing(status, lengths: lengths, codings: ["gzip"]) == .success(.none))
    }
  }

  @Test func anAnswerToHeadHasNoBody() {
    #expect(framing(head: true, lengths: ["1000"]) == .success(.none))
    #expect(framing(404, head: true, codings: ["chunked"]) == .success(.none))
  }

  // Rules 5 and 6.
  @Test(
    arguments: [
      (["0"], 0), (["5"], 5), ([" 5\t"], 5), (["005"], 5), (["5", "5"], 5), (["5, 5"], 5), (["5,5", "5"], 5),
      (["9223372036854775807"], .max),
    ] as [([String], Int64)])
  func aLengthIsADecimalNumber(_ values: [String], expected: Int64) {
    #expect(framing(lengths: values) == .success(.length(expected)))
  }

  @Test(
    arguments: [
      ([""], .contentLength), (["+5"], .contentLength), (["-5"], .contentLength), (["0x5"], .contentLength),
      (["5 5"], .contentLength), (["5;"], .contentLength), (["5.0"], .contentLength), (["five"], .contentLength),
      (["\u{665}"], .contentLength), (["9223372036854775808"], .contentLength),
      (["99999999999999999999999"], .contentLength), (["5,"], .contentLength), ([",5"], .contentLength),
      (["5,,5"], .contentLength), (["5", ""], .contentLength), (["5, 6"], .contentLengths),
      (["5", "6"], .contentLengths),
      (["10, 4"], .contentLengths), (["\"5\""], .contentLength), (["1e3"], .contentLength),
    ] as [([String], MessageFault)])
  func otherLengthsAreRefused(_ values: [String], expected: MessageFault) {
    #expect(framing(lengths: values) == .failure(expected))
  }

  // §6.1 and rule 4.
  @Test(arguments: [["chunked"], ["Chunked"], ["CHUNKED "], [", chunked"], ["", "chunked"]])
  func chunkedIsTheOnlyTransferCoding(_ codings: [String]) {
    #expect(framing(codings: codings) == .success(.chunked))
  }

  @Test(arguments: [
    ["gzip"], ["gzip, chunked"], ["chunked, gzip"], ["chunked, chunked"], ["chunked", "chunked"], ["identity"], [""],
    ["xchunked"], ["chunked;a=b"], ["\"chunked\""], ["chunked\u{b}"], ["\u{b}chunked"], ["chunked identity"],
  ])
  func anyOtherTransferCodingIsRefused(_ codings: [String]) {
    #expect(framing(codings: codings) == .failure(.transferEncoding))
  }

  // Rule 3.
  @Test func chunkedTakesPrecedenceOverContentLength() {
    #expect(framing(lengths: ["5"], codings: ["chunked"]) == .success(.chunked))
    #expect(framing(lengths: ["x"], codings: ["chunked"]) == .failure(.contentLength))
  }

  // Rule 8.
  @Test func withoutEitherTheConnectionEndsTheBody() {
    #expect(framing() == .success(.untilClose))
    #expect(framing(205) == .success(.untilClose))
  }
}
