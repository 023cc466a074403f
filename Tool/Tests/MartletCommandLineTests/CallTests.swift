@testable import MartletCommandLine
import Glibc
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

@Suite("Calls from the command line", .timeLimit(.minutes(5)))
struct CallTests {
  private let run: TestRun

  init() throws { run = try TestRun() }

  private func url(_ server: LoopbackServer, _ path: String = "/") -> String { ":\(server.port)\(path)" }

  private func echo() throws -> LoopbackServer { try LoopbackServer { _ in .json(#"{"b":1,"a":2.0}"#) } }

  @Test func aPipeGetsTheBodyAsItIs() async throws {
    let server = try echo()
    let result = try await run("get", url(server))
    #expect(result.code == .success)
    #expect(result.text == #"{"b":1,"a":2.0}"#)
    #expect(result.errors.text.isEmpty)
  }

  @Test func aTerminalGetsHeadAndFormattedBodyInColors() async throws {
    let server = try echo()
    let result = try await run("get", url(server), isTerminal: true)
    #expect(
      result.text == """
        \u{1B}[2mHTTP/1.1 \u{1B}[0m\u{1B}[1;32m200 OK\u{1B}[0m
        \u{1B}[34mContent-Type\u{1B}[0m: application/json
        \u{1B}[34mContent-Length\u{1B}[0m: 15

        {
          \u{1B}[34m"b"\u{1B}[0m: \u{1B}[36m1\u{1B}[0m,
          \u{1B}[34m"a"\u{1B}[0m: \u{1B}[36m2.0\u{1B}[0m
        }

        """)
  }

  @Test func colorsAreOffWithNoColorAndOnIfTheyAreAskedFor() async throws {
    let server = try echo()
    let plain = try TestRun(environment: ["NO_COLOR": "1"])
    #expect(try await !plain("get", url(server), isTerminal: true).text.contains("\u{1B}"))
    #expect(try await plain("get", url(server), "--color=always").text.contains("\u{1B}"))
    #expect(try await !run("get", url(server), "--color=never", isTerminal: true).text.contains("\u{1B}"))
    #expect(try await run("get", url(server), "--pretty=format").text == "{\n  \"b\": 1,\n  \"a\": 2.0\n}\n")
  }

  @Test func correlationAndLanguagesAreSent() async throws {
    let server = try echo()
    let result = try await run("get", url(server), "--correlation", "--language", "de-CH, en")
    #expect(result.code == .success)
    let fields = try await server.request(1).fields
    #expect(fields[.acceptLanguage] == "de-CH, en;q=0.9")
    #expect(fields["X-CorrelationID"]?.isEmpty == false)
    #expect(fields["traceparent"]?.hasSuffix("-01") == true)
  }

  @Test func aRetryIsMadeIfItIsAskedFor() async throws {
    let server = try LoopbackServer { request in
      request.connection > 1 ? .text("ok") : .text("busy", status: .serviceUnavailable).closing()
    }
    let result = try await run("get", url(server), "--retry", "1")
    #expect(result.code == .success)
    #expect(result.text == "ok")
    #expect(server.requests.count == 2)
  }

  /// 3,000 bytes at 10,000 a second: the first tenth of a second's bytes pass at once.
  @Test func aBodyIsTransferredAtTheRateThatIsAskedFor() async throws {
    let server = try LoopbackServer { _ in .data(Data(count: 3000), type: "text/plain") }
    let start = ContinuousClock.now
    let result = try await run("get", url(server), "--limit-rate", "10000", "--output", "file")
    #expect(result.code == .success)
    #expect(ContinuousClock.now - start >= .milliseconds(190))
    #expect(try Data(contentsOf: run.folder.file("file")).count == 3000)
  }

  @Test func aTransferThatIsTooSlowIsATimeout() async throws {
    let server = try LoopbackServer { _ in .data(Data(count: 3000), type: "text/plain").stalled(after: 1000) }
    let result = try await run("get", url(server), "--speed-limit", "1k", "--speed-time", "1")
    #expect(result.code == .timeout)
    #expect(result.errors.text.contains("fewer than 1024 bytes a second for 1 s"), "\(result.errors.text)")
    let alone = try await run("get", url(server), "--speed-time", "1")
    #expect(alone.errors.text.contains("--speed-time has no effect alone: add --speed-limit RATE"))
  }

  @Test(
    arguments: [
      ("1", 1), ("500k", 512_000), ("1.5M", 1_572_864), ("0.5G", 536_870_912), ("2K", 2048), ("0", nil), ("", nil),
      ("k", nil), ("-1k", nil), ("2G", nil), ("1e3", 1000), ("nan", nil), ("inf", nil), ("5kB", nil),
    ] as [(String, Int?)])
  func aRateIsANumberWithAUnit(_ text: String, rate: Int?) {
    #expect(OptionDescription.rate(text) == rate)
  }

  @Test func theLargestNumbersDoNotOverflow() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    let largest = "\(OptionDescription.Value.limit)"
    let options = [
      "--retry", "--max-redirects", "--timeout", "--deadline", "--limit-rate", "--speed-limit", "--speed-time",
    ].flatMap { [$0, largest] }
    let result = try await run.run(["get", url(server)] + options)
    #expect(result.code == .success)
    #expect(result.text == "hi")
  }

  @Test func itemsBecomeQueryFieldsAndJSONInOrder() async throws {
    let server = try echo()
    let result = try await run(
      "post", url(server, "/p"), "b=text", "a:=1.50", #"l:=[ 1 ]"#, "q==x y", "X-One:1", "X-One:2", "X-Empty;", "b=é\"")
    #expect(result.code == .success)
    let request = try await server.request(1)
    #expect(request.method == .post)
    #expect(request.target == "/p?q=x%20y")
    #expect(request.text == #"{"b":"é\"","a":1.50,"l":[ 1 ]}"#)
    #expect(request.fields[.contentType] == "application/json")
    #expect(request.fields[.accept] == "application/json, */*;q=0.5")
    #expect(request.fields[values: "X-One"] == ["1", "2"])
    #expect(request.fields["X-Empty"] == "")
  }

  @Test func withoutArgumentsTheOverviewIsAnError() async throws {
    let result = try await run()
    #expect(result.code == .failure && result.text.isEmpty)
    #expect(result.errors.text == HelpText.overview)
  }

  @Test func withoutAMethodABodyDecides() async throws {
    let server = try echo()
    _ = try await run(url(server), "a=1")
    _ = try await run(url(server), "a==1")
    #expect(try await server.request(1).method == .post)
    #expect(try await server.request(2).method == .get)
  }

  @Test func formsAndFilesAreSent() async throws {
    let server = try echo()
    try run.folder.write(Data("file text".utf8), to: "note.txt")
    _ = try await run("post", url(server), "--form", "a=1 2", "b:=3")
    _ = try await run("post", url(server), "--form", "a=1", "f@note.txt;type=text/x-note")
    _ = try await run("put", url(server), "@note.txt")
    _ = try await run("post", url(server), "t=@note.txt")
    #expect(try await server.request(1).text == "a=1+2&b=3")
    let multipart = try await server.request(2)
    #expect(multipart.fields[.contentType]?.hasPrefix("multipart/form-data; boundary=") == true)
    #expect(multipart.text.contains("filename=\"note.txt\"") && multipart.text.contains("text/x-note"))
    let file = try await server.request(3)
    #expect(file.text == "file text" && file.fields[.contentType] == "text/plain")
    #expect(try await server.request(4).text == #"{"t":"file text"}"#)
  }

  @Test func standardInputIsTheBodyOfWhatHasOne() async throws {
    let server = try echo()
    _ = try await run("post", url(server), input: "[1]")
    _ = try await run("get", url(server), input: "[1]")
    _ = try await run("post", url(server), "-I", input: "[1]")
    _ = try await run("delete", url(server), "@-", input: "[2]")
    #expect(try await server.request(1).text == "[1]")
    #expect(try await server.request(2).text.isEmpty)
    #expect(try await server.request(3).text.isEmpty)
    #expect(try await server.request(4).text == "[2]")
  }

  @Test(arguments: [
    (["post", ":1", "a:={"], "the value of 'a' is not JSON (line 1, column 2): 'a=…' sends it as text"),
    (["post", ":1", "f@x"], "a file is sent in a form: add --form, or use name=@file for its text"),
    (["post", ":1", "@none"], "there is no file 'none'"),
    (["post", ":1", "--json", "--form"], "--json and --form cannot be combined: leave one out"),
    (["get", ":1", "X:a\nb"], "the value of X has a control character, such as a line break, and cannot be sent"),
    (["get", ":1", "--only-cached"], "--only-cached answers from a cache: add --cache FOLDER"),
    (
      ["get", ":1", "--offline", "--cache", "kept"],
      "--offline shows the request and sends nothing: --only-cached answers from --cache"
    ),
    (
      ["get", ":1", "--offline", "--har", "a.har"],
      "--offline sends nothing, and --har is for a call: leave one out"
    ),
    (["get", ":1", "--sorted", "--unsorted"], "--sorted and --unsorted cannot be combined: leave one out"),
    (["get", ":1", "-F", "--no-redirects"], "--no-redirects and --follow cannot be combined: leave one out"),
    (["get", ":1", "-c"], "--continue needs --download, which always continues an earlier try"),
    (["get", ":1", "-O", "-o", "a"], "--remote-name and --output cannot be combined: leave one out"),
    (["put", ":1", "-T", "a", "b=1"], "the body is either --upload-file or items: leave one of them out"),
    (["post", ":1", "b=@ada"], #"there is no file 'ada': with a backslash, 'name=\@ada', it is the text '@ada'"#),
    (
      ["get", ":1", "--session", "a", "--session-read-only", "b"],
      "--session and --session-read-only cannot be combined: leave one out"
    ),
    (
      ["get", ":1", "--resolve", "h:1:x"],
      "--resolve 'h:1:x' is not HOST:PORT:ADDRESS: write one such as api.example.com:443:127.0.0.1"
    ),
    (
      ["get", ":1", "--unix-socket", "a", "--interface", "lo"],
      "--unix-socket and --interface cannot be combined: leave one out"
    ),
    (["get", ":1", "-w", "%{http_cod}"], "--write-out has no variable 'http_cod': did you mean %{http_code}?"),
    (
      ["get", ":1", "--aws-sigv4", "aws:amz:r:s"],
      "--aws-sigv4 needs keys: --auth KEY_ID:KEY, or $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY"
    ),
    (
      ["get", ":1", "--aws-sigv4", "aws:amz", "-a", "k:s"],
      "--aws-sigv4 'aws:amz': the host 'localhost' does not name the region and the service: write aws:amz:REGION:SERVICE"
    ),
    (
      ["get", "http+unix://a/b"],
      "the scheme of 'http+unix://a/b' is 'http+unix': write http://localhost/… and --unix-socket PATH"
    ),
    (["get"], "there is no URL: martlet get example.com/orders"),
    (["get", ":1", "Host:"], "Host cannot be left out: HTTP needs it, and 'Host:value' or --chunked changes it"),
    (["get", ":1", "--session", "a b"], "'a b' is not a session name: use letters, digits, '-', '_' and '.'"),
    (["get", ":1", "--pin", "abc"], "--pin 'abc' is not the base64 of a SHA-256: it has 44 characters"),
    (["get", ":1", "--proxy", "ftp://h"], "--proxy has the scheme 'ftp': use http, https or socks5"),
    (
      ["get", ":1", "--insecure", "--cert", "client.pem"],
      "--insecure and --cert cannot be combined: the server would get the certificate before it is known to be the right "
        + "one; --ca FILE trusts the server's authority"
    ),
    (["get", ":1", "--auth", "ada"], "there is no terminal to ask for the password: write --auth ada:PASSWORD"),
  ])
  func whatCannotBeCarriedOutIsAUsageError(line: [String], message: String) async throws {
    let result = try await run.run(line)
    #expect(result.code == .failure)
    #expect(result.errors.text == "martlet: \(message.replacing("\n", with: " "))\n")
  }

  @Test(arguments: [(200, 0), (304, 3), (302, 3), (404, 4), (503, 5)])
  func statusesAreExitCodesOnRequest(status: Int, code: Int32) async throws {
    let server = try LoopbackServer { _ in .status(HTTPStatus(status)) }
    #expect(try await run("get", url(server), "--check-status").code.rawValue == code)
    #expect(try await run("get", url(server)).code == .success)
  }

  @Test func aLocationInLatin1IsFollowedWithItsBytes() async throws {
    let redirect = Data("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /caf".utf8 + [0xE9, 13, 10, 13, 10])
    let server = try LoopbackServer { $0.path == "/" ? .raw(redirect) : .text("found") }
    #expect(try await run("get", url(server)).text == "found")
    #expect(try await server.request(2).target == "/caf%E9")
  }

  @Test func failuresHaveExitCodesAndRemedies() async throws {
    let silent = try LoopbackServer { _ in .never }
    let broken = try LoopbackServer { _ in .raw("NOT HTTP\r\n\r\n") }
    let timeout = try await run("get", url(silent), "--timeout", "0.05")
    #expect(timeout.code == .timeout)
    #expect(timeout.errors.text.contains("--timeout SECONDS"))
    #expect(try await run("get", url(broken)).code == .badResponse)
    let port = silent.port
    silent.stop()
    let refused = try await run("get", ":\(port)")
    #expect(refused.code == .connection)
    #expect(refused.errors.text.contains("does a server listen on port \(port) of localhost?"))
  }

  @Test func aClosedOutputEndsQuietlyAndClosesTheConnection() async throws {
    let server = try LoopbackServer { _ in .repeating(Data("line\n".utf8), length: 1 << 40) }
    let result = try await run("get", url(server), outputLimit: 100)
    #expect(result.code == .brokenPipe)
    #expect(result.errors.text.isEmpty)
    #expect(try await server.end(ofConnection: 1) == .client)
  }

  @Test func anErrorWithinABodyComesOnALineOfItsOwn() async throws {
    let server = try LoopbackServer { _ in .json(#"{"name":"a long text"}"#).truncated(after: 12) }
    let result = try await run("get", url(server), "--body", isTerminal: true)
    #expect(result.code == .connection)
    #expect(result.text == "{\u{1B}[34m\"name\"\u{1B}[0m:\u{1B}[32m\"a l\u{1B}[0m\n")
    #expect(result.errors.text.hasPrefix("martlet: "))
    #expect(try await run("get", url(server), "--body").text == #"{"name":"a l"#)
  }

  @Test func binaryBodiesAreNotShownOnATerminal() async throws {
    let server = try LoopbackServer { _ in Reply(fields: [.contentType: "image/png"], content: Data([0, 1, 2, 27])) }
    #expect(
      try await run("get", url(server), "--body", "--color=never", isTerminal: true).text
        == "(4 B of image/png, not text: --output FILE writes it to a file)\n")
    #expect(try await run("get", url(server)).output.data == Data([0, 1, 2, 27]))
  }

  @Test func otherCharsetsAreConvertedForATerminal() async throws {
    let server = try LoopbackServer { _ in
      Reply(fields: [.contentType: "text/plain; charset=latin1"], content: Data([0x68, 0xE9]))
    }
    #expect(try await run("get", url(server), "-b", isTerminal: true).text == "hé\n")
    let wide = try LoopbackServer { _ in
      Reply(fields: [.contentType: "text/plain; charset=utf-16"], content: Data([0x68, 0, 0xE9, 0]))
    }
    #expect(try await run("get", url(wide), "-b", isTerminal: true).text == "hé\n")
  }

  @Test func requestPartsArePrintedAsSent() async throws {
    let server = try echo()
    let result = try await run("post", url(server, "/p"), "a=1", "--auth", "u:p", "--print", "HB")
    #expect(result.text.hasPrefix("POST /p HTTP/1.1\nHost: localhost:\(server.port)\n"))
    #expect(result.text.contains("Content-Length: 9\n"))
    #expect(result.text.contains("Authorization: Basic dTpw\n"))
    #expect(result.text.hasSuffix("\n\n{\"a\":\"1\"}\n"))
  }

  @Test(arguments: [("B", "a\n"), ("b", "x"), ("Bb", "a\n\nx")])
  func anEmptyLineIsOnlyBetweenParts(parts: String, expected: String) async throws {
    let server = try LoopbackServer { _ in .text("x") }
    #expect(try await run("post", url(server), "--raw", "a", "--print", parts).text == expected)
    let head = try await run("post", url(server), "--raw", "a", "--print", "H").text
    #expect(head.hasSuffix("\n") && !head.hasSuffix("\n\n"))
  }

  @Test func aFileAppearsOnlyIfItMay() async throws {
    let server = try echo()
    #expect(try await run("get", url(server), "-o", "a.json").code == .success)
    #expect(try run.text(of: "a.json") == #"{"b":1,"a":2.0}"#)
    let second = try await run("get", url(server), "-o", "a.json")
    #expect(second.code == .failure)
    #expect(second.errors.text == "martlet: 'a.json' exists: --overwrite replaces it\n")
    #expect(try await run("get", url(server), "-o", "a.json", "--overwrite").code == .success)
    #expect(try await run("get", url(server), "-o", "/dev/null").code == .success)
  }

  @Test func theCurlCommandHasNoSecretsAndSendsNothing() async throws {
    let server = try echo()
    let result = try await run("get", url(server), "Authorization:Bearer t0ken", "--curl")
    #expect(result.text.hasPrefix("curl 'http://localhost:\(server.port)/'"))
    #expect(!result.text.contains("t0ken"))
    #expect(
      try await run("get", url(server), "Authorization:Bearer t0ken", "--curl", "--show-secrets").text.contains("t0ken")
    )
    #expect(server.connectionCount == 0)
  }

  @Test func theCurlCommandHasWhatTheCallWouldSend() async throws {
    let cookies = "# Netscape HTTP Cookie File\nlocalhost\tFALSE\t/\tFALSE\t0\tsid\t1\n"
    try run.folder.write(Data(cookies.utf8), to: "jar.txt")
    let options = ["--auth", "ada:pw", "--cookies", "jar.txt", "--curl"]
    let shown = try await run.run(["get", ":1/", "--show-secrets"] + options).text
    #expect(shown.contains("User-Agent: martlet/") && shown.contains("Cookie: sid=1") && shown.contains("YWRhOnB3"))
    let hidden = try await run.run(["get", ":1/"] + options).text
    #expect(!hidden.contains("sid=1") && !hidden.contains("YWRhOnB3"))
  }

  @Test func theCurlCommandHasTheLimitsOfTheCall() async throws {
    let manual = try await run("get", ":1/", "--curl", "--no-redirects", "--deadline", "2.5").text
    #expect(!manual.contains("-L") && manual.contains("--max-time 2.5"))
    #expect(try await run("get", ":1/", "--curl", "--max-redirects", "3").text.contains("-L --max-redirs 3"))
    let rates = try await run("get", ":1/", "--curl", "--limit-rate", "2k", "--speed-limit", "10").text
    for option in ["--limit-rate 2048", "--speed-limit 10", "--speed-time 30"] { #expect(rates.contains(option)) }
  }

  @Test(arguments: [
    ([], ""), (["--auth", "u:p", "--auth-type", "basic"], ""),
    (["--auth", "u:p", "--auth-type", "digest", "--proxy", "h:1"], "# not in the command: --proxy, --auth-type\n"),
    (["--resolve", "h.example:127.0.0.1", "--timeout", "3"], "# not in the command: --timeout, --resolve\n"),
    (["--aws-sigv4", "aws:amz:r:s", "--auth", "k:s"], "# not in the command: --aws-sigv4\n"),
  ])
  func aRemarkNamesTheOptionsThatTheCurlCommandLacks(options: [String], remark: String) async throws {
    let text = try await run.run(["get", "https://h.example/", "--curl", "--insecure"] + options).text
    #expect(text.hasPrefix("\(remark)curl 'https://h.example/'"))
    #expect(text.hasSuffix(" \\\n  --insecure\n"))
  }

  @Test func aFileForAFieldHasALimit() async throws {
    let file = try run.folder.write(Data(), to: "large")
    #expect(truncate(file.path, off_t(InputFiles.textLimit) + 1) == 0)
    let result = try await run("get", ":1/", "X:@large")
    #expect(result.code == .failure)
    #expect(result.errors.text.hasPrefix("martlet: 'large' has more than 64 MiB: "))
  }

  @Test func aDefaultFieldCanBeLeftOut() async throws {
    let server = try LoopbackServer { .text($0.fields[.userAgent] ?? "none") }
    #expect(try await run("get", ":\(server.port)/").text == "martlet/\(Catalogue.version)")
    #expect(try await run("get", ":\(server.port)/", "User-Agent:").text == "none")
    #expect(try await run("get", ":\(server.port)/", "User-Agent:mine").text == "mine")
  }

  @Test func aPasswordOfANetrcFileIsSentAtOnceAndNotToAnotherOrigin() async throws {
    let other = try LoopbackServer { .text($0.fields[.authorization] ?? "none") }
    let server = try LoopbackServer { request in
      request.path == "/go" ? .redirect(to: other.url.absoluteString) : .text(request.fields[.authorization] ?? "none")
    }
    let file = try run.folder.write(Data("default login ada password pw\n".utf8), to: ".netrc")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    #expect(try await run("get", ":\(server.port)/", "--netrc").text == "Basic YWRhOnB3")
    #expect(try await run("get", ":\(server.port)/go", "--netrc").text == "none")
  }
}
