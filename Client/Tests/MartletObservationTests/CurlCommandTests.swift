import MartletEngine
@testable import MartletObservation
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("A request as a curl command")
struct CurlCommandTests {
  private func command(
    _ method: HTTPMethod = .get, _ target: String = "http://h/", fields: HTTPFields = [.userAgent: "m"],
    body: RequestBody = .empty, redaction: Redaction = .standard, _ change: (inout RequestOptions) -> Void = { _ in }
  ) -> String {
    var request = HTTPRequest(method, url(target), fields: fields, body: body)
    change(&request.options)
    return request.curlCommand(redaction: redaction).replacing(" \\\n  ", with: " ")
  }

  private static let usual = " -H 'User-Agent: m' --compressed -L --max-redirs 20"

  @Test(arguments: [
    (HTTPMethod.get, "curl 'http://h/'"), (.head, "curl --head 'http://h/'"), (.delete, "curl -X 'DELETE' 'http://h/'"),
    ("X'Y", "curl -X 'X'\\''Y' 'http://h/'"),
  ])
  func theMethodIsNamedIfCurlWouldChooseAnother(method: HTTPMethod, expected: String) {
    #expect(command(method) == expected + Self.usual)
  }

  @Test func aBodyImpliesPost() {
    let usual = " -H 'User-Agent: m' -H 'Content-Type:' --compressed"
    let body = RequestBody.data(Data("it's\n\"$x`!".utf8))
    let data = #" --data-raw 'it'\''s"# + "\n" + #""$x`!' -L --max-redirs 20"#

    #expect(command(.post, body: body) == "curl 'http://h/'" + usual + data)
    #expect(command(.put, body: body) == "curl -X 'PUT' 'http://h/'" + usual + data)
    #expect(command(.get, body: body) == "curl -X 'GET' 'http://h/'" + usual + data)
    #expect(command(.post).contains("curl 'http://h/' -H 'User-Agent: m' -H 'Content-Type:'"))
    #expect(command(.post).contains("--data-raw ''"))
  }

  /// A shell reads bytes: the accent does not hide the quotation mark before it.
  @Test func aQuotationMarkWithAnAccentCannotEndAWord() {
    let text = command(.post, body: .data(Data("'\u{301}; reboot".utf8)))

    #expect(Array(text.utf8).firstRange(of: Array("--data-raw ''\\''\u{301}; reboot'".utf8)) != nil)
  }

  @Test func aBodyThatIsNotTextIsPrinted() {
    let text = command(.post, body: .data(Data([0, 37, 39, 92, 65, 255, 10])))

    #expect(text.hasPrefix(#"printf '\000%%\047\134A\377\012' | curl 'http://h/'"#))
    #expect(text.contains("--data-binary @-"))
  }

  /// `printf` would treat text that begins with a hyphen as an option.
  @Test func printedTextDoesNotBeginLikeAnOption() {
    let text = command(.post, body: .data(Data([45, 45, 98, 255])))

    #expect(text.hasPrefix(#"printf '\055-b\377' | curl 'http://h/'"#))
  }

  @Test func filesStreamsAndLongBodiesAreNamed() {
    let file = command(.put, body: .file(URL(filePath: "/tmp/it's.txt")))
    let stream = command(.put, body: .stream { AsyncStream<Data> { $0.finish() } })
    let long = command(.post, body: .data(Data(count: (1 << 20) + 1)))

    #expect(file.contains(#"--data-binary '@/tmp/it'\''s.txt'"#) && file.contains("-H 'Expect:'"))
    #expect(stream.hasPrefix("# the body is a stream") && stream.contains("-X 'PUT'") && stream.contains("-T -"))
    #expect(long.hasPrefix("# the body of 1048577 bytes is not shown") && long.contains("--data-binary @-"))
  }

  @Test func optionsAreTranslated() {
    #expect(!command { $0.redirectPolicy = .manual }.contains("-L"))
    #expect(command { $0.redirectPolicy = .sameOrigin }.hasPrefix("# redirects are followed within the origin only"))
    #expect(command(.get, "https://h/").hasSuffix("-L --max-redirs 20 --proto-redir =https"))
    #expect(command { $0.deadline = .milliseconds(1500) }.hasSuffix("--max-time 1.5"))
    #expect(command(fields: [.range: "bytes=0-1"]).contains("-H 'Accept-Encoding: identity'"))
    #expect(command(fields: [.acceptEncoding: "identity;q=0.5, br"]).contains("--compressed"))
    #expect(!command(fields: [.acceptEncoding: "identity"]).contains("--compressed"))
    #expect(command { $0.omittedFields = [.accept] }.contains("-H 'Accept:'"))
    #expect(!command { $0.omittedFields = [.acceptEncoding] }.contains("--compressed"))
    #expect(command(fields: ["X-Empty": ""]).contains("-H 'X-Empty;'"))
    #expect(!command(fields: [.contentLength: "7"]).contains("Content-Length"))
    #expect(command(.get, "http://h/a%5B1%5D?x=%7B#f").contains("'http://h/a%5B1%5D?x=%7B'"))
    #expect(command(.get, "http://h/a/../b").contains("'http://h/b'"))
    #expect(command(.get, "http://h/a/../b") { $0.keepsDotSegments = true }.contains("--path-as-is 'http://h/a/../b'"))
    #expect(command(.get, "http://[::1]/").contains("--globoff 'http://[::1]/'"))
  }

  @Test func secretsAreLeftOutByDefault() {
    let target = "http://u:hidden@h/?token=hidden&q=1"
    let fields: HTTPFields = [.contentType: "application/x-www-form-urlencoded", "X-Api-Key": "hidden"]
    let body = RequestBody.data(Data("a=1&password=hidden".utf8))

    let redacted = command(.post, target, fields: fields, body: body)
    let complete = command(.post, target, fields: fields, body: body, redaction: .off)

    #expect(!redacted.contains("hidden"))
    #expect(
      redacted.contains("'http://h/?token=***&q=1' --anyauth -u '***:***'") && redacted.contains("'a=1&password=***'"))
    #expect(complete.contains("'http://h/?token=hidden&q=1' --anyauth -u 'u:hidden'"))
    #expect(complete.contains("'X-Api-Key: hidden'") && complete.contains("'a=1&password=hidden'"))
  }
}
