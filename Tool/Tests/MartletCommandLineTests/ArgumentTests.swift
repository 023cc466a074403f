@testable import MartletCommandLine
import MartletSemantics
import Testing

@Suite("Command lines")
struct ArgumentTests {
  @Test(
    arguments: [
      (["get", "h.example"], "GET", ["h.example"]), (["h.example/a", "b=1"], nil, ["h.example/a", "b=1"]),
      (["-v", "post", ":80"], "POST", [":80"]), (["--auth", "u:p", "PUT", ":80"], "PUT", [":80"]),
      (["PROPFIND", ":80/dav"], "PROPFIND", [":80/dav"]), (["localhost"], nil, ["localhost"]),
      (["get", ":80", "--", "--verbose"], "GET", [":80", "--verbose"]),
    ] as [([String], String?, [String])])
  func theMethodIsTheFirstWordOrIsLeftOut(line: [String], method: String?, words: [String]) throws {
    let parsed = try ArgumentParser.parse(line)
    #expect(parsed.method == method)
    #expect(parsed.words == words)
  }

  @Test func optionsHaveValuesInThreeForms() throws {
    let parsed = try ArgumentParser.parse([
      "get", ":80", "--timeout=2.5", "--auth", "u:p", "-oname", "-vq", "--pin", "a", "--pin=b",
    ])
    #expect(parsed.seconds(.timeout) == .seconds(2.5))
    #expect(parsed.value(.auth) == "u:p")
    #expect(parsed.value(.output) == "name")
    #expect(parsed.has(.verbose) && parsed.has(.quiet))
    #expect(parsed.all(.pin) == ["a", "b"])
  }

  @Test(arguments: [
    (["gte", ":80"], "'gte' is neither a command nor a URL: did you mean 'get'? 'martlet --help' lists the commands"),
    (["get", "--tiemout", "3"], "there is no option --tiemout: did you mean --timeout?"),
    (["get", "-k"], "there is no option -k: --insecure accepts any certificate, and --ca FILE trusts an authority"),
    (["-X", "PUT", ":80"], "there is no option -X: write the method first, as in martlet put example.com/orders"),
    (["get", "-Z"], "there is no option -Z: 'martlet get --help' lists them"),
    (["get", ":80", "--timeout"], "--timeout needs a value: --timeout SECONDS"),
    (
      ["get", ":80", "--timeout", "soon"],
      "--timeout SECONDS: 'soon' is not a number of seconds above 0, up to 1000000000"
    ),
    (
      ["get", ":80", "--deadline", "1e300"],
      "--deadline SECONDS: '1e300' is not a number of seconds above 0, up to 1000000000"
    ),
    (
      ["get", ":80", "--limit-rate", "fast"],
      "--limit-rate RATE: 'fast' is not a number of bytes a second from 1 to 1000000000, such as 500k or 1.5M"
    ),
    (["get", ":80", "--retry=-1"], "--retry NUMBER: '-1' is not a whole number from 0 to 1000000000"),
    (
      ["get", ":80", "--retry", "9223372036854775807"],
      "--retry NUMBER: '9223372036854775807' is not a whole number from 0 to 1000000000"
    ),
    (
      ["get", ":80", "--max-redirects", "9223372036854775807"],
      "--max-redirects NUMBER: '9223372036854775807' is not a whole number from 0 to 1000000000"
    ),
    (
      ["ws", ":80", "--count", "1000000001"],
      "--count NUMBER: '1000000001' is not a whole number from 0 to 1000000000"
    ),
    (
      ["get", ":80", "--color=allways"],
      "--color auto|always|never: 'allways' is none of auto, always, never: did you mean 'always'?"
    ),
    (["get", ":80", "--verbose=yes"], "--verbose takes no value, and got 'yes': leave '=yes' out"),
    (["-v", "serve", "."], "write 'serve' first, before its options: martlet serve …"),
  ])
  func mistakesAreNamedWithTheirRemedy(line: [String], message: String) {
    #expect(throws: UsageError(message)) { try ArgumentParser.parse(line) }
  }

  @Test(
    arguments: [
      ("no", true, nil), ("False", true, nil), ("yes", false, nil), ("TRUE", false, nil), ("a.pem", false, "a.pem"),
    ] as [(String, Bool, String?)])
  func verifyIsInsecureOrAnAuthority(value: String, isInsecure: Bool, authority: String?) throws {
    let parsed = try ArgumentParser.parse(["get", ":80", "--verify", value])
    #expect(parsed.has(.insecure) == isInsecure)
    #expect(parsed.value(.ca) == authority)
  }

  @Test func everyOptionCanBeUndone() throws {
    for command in Catalogue.all {
      for option in command.options {
        let value = option.sample.map { ["=\($0)"] } ?? [""]
        let name = option.name.rawValue
        let line = [command.name.rawValue, ":80", "--\(name)\(value[0])", "--no-\(name)"]
        let parsed = try ArgumentParser.parse(line)
        #expect(!parsed.has(option.name), "\(line)")
        let again = try ArgumentParser.parse(line + ["--\(name)\(value[0])"])
        #expect(again.has(option.name), "\(line)")
      }
    }
    #expect(try ArgumentParser.parse(["get", ":80", "--follow", "--no-follow"]).has(.noRedirects))
    #expect(try !ArgumentParser.parse(["get", ":80", "--verify=no", "--no-verify"]).has(.insecure))
    #expect(throws: UsageError("--no-auth takes no value, and got 'a': leave '=a' out")) {
      try ArgumentParser.parse(["get", ":80", "--no-auth=a"])
    }
  }

  @Test func noOptionIsTakenForThatOfAnotherTool() {
    for option in Catalogue.all.flatMap(\.options) {
      #expect(OtherTools.remedy(for: "--\(option.name.rawValue)") == nil, "\(option.name)")
    }
    for letter in Catalogue.description(of: .get).options.compactMap(\.short) {
      #expect(OtherTools.remedy(for: "-\(letter)") == nil, "\(letter)")
    }
  }

  @Test(arguments: [
    ("get", "get", 0), ("gte", "get", 1), ("timeuot", "timeout", 1), ("", "ab", 2), ("colour", "color", 1),
  ])
  func theDistanceCountsSwappedNeighborsOnce(left: String, right: String, distance: Int) {
    #expect(Spelling.distance(left, right) == distance)
  }
}

extension OptionDescription {
  /// A value that it accepts; nil for a switch.
  fileprivate var sample: String? {
    switch value {
    case .none: nil
    case .text, .file, .folder: "x"
    case .rate: "500k"
    case .oneOf(let words): words[0]
    case .seconds, .count: "1"
    }
  }
}

@Suite("Items")
struct RequestItemTests {
  @Test(
    arguments: [
      ("a=b", .text("a", .text("b"))), ("a==b", .query("a", .text("b"))), ("a:b", .field("a", .text("b"))),
      ("a: b ", .field("a", .text("b"))), ("a:=[1]", .json("a", .text("[1]"))), ("a:", .removedField("a")),
      ("a;", .emptyField("a")), ("a@b.txt", .file("a", path: "b.txt", type: nil)),
      ("a@b;type=image/png", .file("a", path: "b", type: "image/png")), ("a=@b", .text("a", .file("b"))),
      ("a:=@b", .json("a", .file("b"))), ("a:@b", .field("a", .file("b"))), ("@b", .body(path: "b")),
      ("@-", .body(path: "-")), ("a=b:c", .text("a", .text("b:c"))), ("a=", .text("a", .text(""))),
      (#"a\:b=c"#, .text("a:b", .text("c"))), ("X:http://h/?a=b", .field("X", .text("http://h/?a=b"))),
      ("me@x.example=1", .file("me", path: "x.example=1", type: nil)), (#"me\@x=1"#, .text("me@x", .text("1"))),
      // in HTTPie's reading
      (#"handle=\@ada"#, .text("handle", .text("@ada"))), (#"a=\=b"#, .text("a", .text("=b"))),
      (#"a:\=1"#, .field("a", .text("=1"))), (#"a=b\:c\;d"#, .text("a", .text("b:c;d"))),
      (#"a=C:\dir"#, .text("a", .text(#"C:\dir"#))), (#"a=\\=b"#, .text("a", .text(#"\\=b"#))),
      (#"q==\@ada"#, .query("q", .text("@ada"))), ("q==@f", .query("q", .file("f"))),
      (#"@a\=b"#, .body(path: "a=b")), (#"a:="x\n""#, .json("a", .text(#""x\n""#))),
    ] as [(String, RequestItem)])
  func theFirstSeparatorDecides(text: String, item: RequestItem) throws {
    #expect(try RequestItem.parse(text) == item)
  }

  @Test(arguments: [
    (
      "plain",
      "'plain' is not an item: write name=value for the body, Name:value for a field, name==value for the query"
    ),
    ("=b", "'=b' has no name before '='"),
    (":=[1]", "':=[1]' has no name before ':=': '[]:=…' is an element of an array, --raw a whole body"),
    ("a@", "'a@' names no file after '@'"),
    ("a@b;type=png", "'png' in 'a@b;type=png' is not a media type like image/png"),
  ])
  func whatIsNoItemIsRefused(text: String, message: String) {
    #expect(throws: UsageError(message)) { try RequestItem.parse(text) }
  }
}

@Suite("URLs on the command line")
struct TargetURLTests {
  @Test(arguments: [
    ("example.com", "https://example.com"), ("example.com:8443/a", "https://example.com:8443/a"),
    ("http://example.com", "http://example.com"), (":8080/a", "http://localhost:8080/a"),
    (":/a", "http://localhost/a"), ("/a", "http://localhost/a"), ("localhost/a", "http://localhost/a"),
    ("api.localhost", "http://api.localhost"), ("127.0.0.1:1", "http://127.0.0.1:1"), ("[::1]:1", "http://[::1]:1"),
    ("u:p@localhost", "http://u:p@localhost"), ("localhost.example.com", "https://localhost.example.com"),
    ("127.example.com", "https://127.example.com"), ("example.com/a b", "https://example.com/a%20b"),
    ("example.com/login?next=https://foo.org/", "https://example.com/login?next=https://foo.org/"),
    (":8080/p?u=http://x", "http://localhost:8080/p?u=http://x"),
  ])
  func shortFormsAreCompleted(text: String, url: String) throws {
    #expect(try TargetURL.parse(text).absoluteString == url)
  }

  @Test(arguments: [
    (":8080/p?u=ws://x", "http://localhost:8080/p?u=ws://x"), ("ws://h/?u=http://x", "http://h/?u=http://x"),
    ("example.com/?u=wss://x", "https://example.com/?u=wss://x"),
  ])
  func shortFormsOfWebSocketsAreCompleted(text: String, url: String) throws {
    #expect(try TargetURL.parse(text, opensWebSocket: true).absoluteString == url)
  }

  @Test(arguments: [
    ("ftp://h/", "the scheme of 'ftp://h/' is 'ftp': use http or https"),
    ("http://", "'http://' is not a URL: write one such as example.com/orders or :8080/orders"),
    ("://example.com", "'://example.com' is not a URL: write one such as example.com/orders or :8080/orders"),
    ("[127.0.0.1]/", "'[127.0.0.1]/' has no usable host: '[127.0.0.1]' has brackets, which are for IPv6 addresses"),
    ("example.com:65536", "'example.com:65536' has the port '65536': use 1 to 65535"),
  ])
  func whatIsNoURLIsRefused(text: String, message: String) {
    #expect(throws: UsageError(message)) { try TargetURL.parse(text) }
  }
}
