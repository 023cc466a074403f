import MartletSemantics
import TestSupport
import Testing

@testable import MartletSignatures

/// The values of components (RFC 9421 §2), with the examples of the RFC.
@Suite(.timeLimit(.minutes(5)))
struct SignatureBaseTests {
  private static func request(
    _ method: HTTPMethod = .get, _ url: String = "https://www.example.com/path?param=value", _ fields: HTTPFields = [:]
  ) -> SignatureContext {
    SignatureContext(RequestHead(method: method, url: TestSupport.url(url), fields: fields))
  }

  /// The line of a component, without the line of the parameters; nil if there is an error.
  private static func line(_ component: SignatureComponent, of context: SignatureContext) -> String? {
    let base = try? MessageSignature.base(SignatureInput([component]), of: context)
    return base?.split(separator: "\n", omittingEmptySubsequences: false).dropLast().joined(separator: "\n")
  }

  private static let absent: FieldName = "x-absent"

  // §2.2.1 to §2.2.7
  @Test(
    arguments: [
      (.post, "https://www.example.com/path?param=value", .method, "POST"),
      ("get", "https://www.example.com/", .method, "get"),  // the case counts
      (.post, "https://www.example.com/path?param=value", .targetURI, "https://www.example.com/path?param=value"),
      (.get, "https://user:secret@www.example.com/a#b", .targetURI, "https://www.example.com/a"),
      (.get, "https://www.example.com", .targetURI, "https://www.example.com/"),
      (.get, "HTTPS://www.EXAMPLE.com:443/a", .targetURI, "https://www.example.com/a"),
      (.get, "https://www.example.com/a%2Fb%20c", .targetURI, "https://www.example.com/a%2Fb%20c"),
      (.get, "https://WWW.example.com:443/", .authority, "www.example.com"),
      (.get, "http://www.example.com:80/", .authority, "www.example.com"),
      (.get, "http://www.example.com:443/", .authority, "www.example.com:443"),  // vlang 27113: the other's default
      (.get, "https://www.example.com:80/", .authority, "www.example.com:80"),
      (.get, "http://[::1]:8080/", .authority, "[::1]:8080"), (.get, "http://[::1]/", .authority, "[::1]"),
      (.post, "http://www.example.com/path", .scheme, "http"), (.post, "HTTPS://www.example.com/", .scheme, "https"),
      (.post, "https://www.example.com/path?param=value", .requestTarget, "/path?param=value"),
      (.get, "https://www.example.com/", .requestTarget, "/"), (.get, "https://www.example.com", .requestTarget, "/"),
      ("CONNECT", "http://www.example.com:80", .requestTarget, "www.example.com:80"),
      (.options, "http://www.example.com", .requestTarget, "*"),
      (.options, "http://www.example.com/", .requestTarget, "/"),
      (.get, "https://www.example.com/path?param=value", .path, "/path"), (.get, "https://www.example.com", .path, "/"),
      (.get, "https://www.example.com?a", .path, "/"),
      (.get, "https://www.example.com/a%2Fb%20c/", .path, "/a%2Fb%20c/"),
      (.get, "https://www.example.com/p?a=b&baz=bat%2Dman", .query, "?a=b&baz=bat%2Dman"),
      (.get, "https://www.example.com/p?queryString", .query, "?queryString"),
      (.get, "https://www.example.com/p", .query, "?"), (.get, "https://www.example.com/p?", .query, "?"),
      (.get, "https://www.example.com/p", .status, nil),
    ] as [(HTTPMethod, String, SignatureComponent, String?)])
  func derivedComponentsHaveTheirCanonicalForm(
    method: HTTPMethod, url: String, component: SignatureComponent, expected: String?
  ) {
    #expect(Self.line(component, of: Self.request(method, url)) == expected.map { "\"\(component.name)\": \($0)" })
  }

  @Test func theTargetOfARequestToAProxyCanBeSet() {
    var context = Self.request()
    context.requestTarget = "https://www.example.com/path?param=value"
    let line = #""@request-target": https://www.example.com/path?param=value"#
    #expect(Self.line(.requestTarget, of: context) == line)
  }

  @Test func aHostOfTheCallersIsTheAuthority() {
    let context = Self.request(.get, "http://127.0.0.1:8080/a", ["Host": "API.example.com:80"])
    #expect(Self.line(.authority, of: context) == "\"@authority\": api.example.com")
    #expect(Self.line(.targetURI, of: context) == "\"@target-uri\": http://api.example.com/a")
    #expect(Self.line(.authority, of: Self.request(.get, "http://a/", ["Host": "a b"])) == nil)
  }

  // §2.2.8
  @Test(
    arguments: [
      ("baz", #""@query-param";name="baz": batman"#), ("qux", #""@query-param";name="qux": "#),
      ("param", #""@query-param";name="param": value"#),
      ("var", #""@query-param";name="var": this%20is%20a%20big%0Amultiline%20value"#),
      ("bar", #""@query-param";name="bar": with%20plus%20whitespace"#),
      ("façade\": ", #""@query-param";name="fa%C3%A7ade%22%3A%20": something"#),
      ("~", #""@query-param";name="%7E": %7E"#),
      ("absent", nil), ("twice", nil), ("Baz", nil),
    ] as [(String, String?)])
  func parametersOfTheQueryAreEncodedAgain(name: String, expected: String?) {
    let query =
      "param=value&foo=bar&baz=batman&qux=&var=this%20is%20a%20big%0Amultiline%20value"
      + "&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something&twice=1&twice=1&~=~"
    let context = Self.request(.get, "https://www.example.com/path?\(query)")
    #expect(Self.line(.queryParameter(name), of: context) == expected)
  }

  private static let fields: HTTPFields = [
    "Host": "www.example.com", "Date": "Tue, 20 Apr 2021 02:07:56 GMT",
    "X-OWS-Header": "  Leading and trailing whitespace.\t", "Cache-Control": "max-age=60",
    "Cache-Control": "   must-revalidate", "Example-Dict": " a=1,    b=2;x=1;y=2,   c=(a   b   c), d",
    "X-Empty-Header": "", "Example-Header": "value, with, lots", "Example-Header": "of, commas",
    "Priority": "u=1 ,   i", "Cache-Status": "a;hit,  b", "Cache-Status": "c", "X-Latin": "é", "X-Bad": "a=,",
  ]

  // §2.1
  @Test(
    arguments: [
      (.field("host"), #""host": www.example.com"#), (.field(.date), #""date": Tue, 20 Apr 2021 02:07:56 GMT"#),
      (.field("X-OWS-Header"), #""x-ows-header": Leading and trailing whitespace."#),
      (.field(.cacheControl), #""cache-control": max-age=60, must-revalidate"#),
      (.field("Example-Dict"), #""example-dict": a=1,    b=2;x=1;y=2,   c=(a   b   c), d"#),
      (.field("X-Empty-Header"), #""x-empty-header": "#),
      // §2.1.1
      (.field("example-dict").structured, #""example-dict";sf: a=1, b=2;x=1;y=2, c=(a b c), d"#),
      (.field("priority").structured, #""priority";sf: u=1, i"#),
      (.field("cache-status").structured, #""cache-status";sf: a;hit, b, c"#),
      // §2.1.2
      (.field("example-dict").member("a"), #""example-dict";key="a": 1"#),
      (.field("example-dict").member("d"), #""example-dict";key="d": ?1"#),
      (.field("example-dict").member("b"), #""example-dict";key="b": 2;x=1;y=2"#),
      (.field("example-dict").member("c"), #""example-dict";key="c": (a b c)"#),
      // §2.1.3
      (.field("example-header").bytes, #""example-header";bs: :dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:"#),
      (.field("example-header"), #""example-header": value, with, lots, of, commas"#),
      (.field("x-latin").bytes, #""x-latin";bs: :w6k=:"#),
      // §2.5: no value
      (.field("x-absent"), nil), (.field("example-dict").member("z"), nil), (.field("x-latin"), nil),
      (.field("x-bad").member("a"), nil), (.field("cache-control").structured, nil),
      (.field("date").member("a"), nil),
      // incompatible, unknown or misplaced parameters
      (.field("example-dict").bytes.structured, nil), (.field("example-dict").bytes.member("a"), nil),
      (.field("date").ofRequest, nil), (.field("date").ofTrailers, nil),
      (SignatureComponent("date", parameters: ["x": .boolean(true)]), nil),
      (SignatureComponent("date", parameters: ["sf": .boolean(false)]), nil),
      (SignatureComponent("date", parameters: ["name": .string("a")]), nil),
      (SignatureComponent("example-dict", parameters: ["key": .integer(1)]), nil),
      (SignatureComponent("@method", parameters: ["sf": .boolean(true)]), nil),
      (SignatureComponent("@method", parameters: ["name": .string("a")]), nil),
      (SignatureComponent("@query-param"), nil), (SignatureComponent.method.ofTrailers, nil),
      // unknown names; §2.1: in lower case
      (SignatureComponent("@signature-params"), nil), (SignatureComponent("@unknown"), nil),
      (SignatureComponent("Date"), nil), (SignatureComponent(""), nil), (SignatureComponent("a b"), nil),
      (SignatureComponent("é"), nil),
    ] as [(SignatureComponent, String?)])
  func fieldsHaveTheirCanonicalForm(component: SignatureComponent, expected: String?) {
    var context = Self.request(.get, "https://www.example.com/path", Self.fields)
    context.structuredFields["example-dict"] = .dictionary
    #expect(Self.line(component, of: context) == expected)
  }

  // §2.1.4, §2.2.9, §2.4
  @Test func aResponseHasComponentsOfItsTrailersAndOfItsRequest() throws {
    let request = RequestHead(method: .post, url: url("https://example.com/foo?a=b"), fields: ["X-A": "1"])
    let response = ResponseHead(status: .ok, fields: ["Trailer": "Expires", "Expires": "0", "X-A": "2"])
    var context = SignatureContext(response, to: request)
    context.trailers = ["Expires": "Wed, 9 Nov 2022 07:28:00 GMT"]
    context.requestTrailers = ["X-End": "3"]
    let input = SignatureInput([
      .status, .field("trailer"), .field("expires").ofTrailers, .field("expires"), .method.ofRequest,
      .queryParameter("a").ofRequest, .field("x-a"), .field("x-a").ofRequest, .field("x-end").ofTrailers.ofRequest,
    ])
    #expect(
      try MessageSignature.base(input, of: context) == """
        "@status": 200
        "trailer": Expires
        "expires";tr: Wed, 9 Nov 2022 07:28:00 GMT
        "expires": 0
        "@method";req: POST
        "@query-param";name="a";req: b
        "x-a": 2
        "x-a";req: 1
        "x-end";tr;req: 3
        "@signature-params": ("@status" "trailer" "expires";tr "expires" "@method";req "@query-param";name="a";req \
        "x-a" "x-a";req "x-end";tr;req)
        """)
    for component in [SignatureComponent.method, .status.ofRequest, .path, .queryParameter("a")] {
      #expect(Self.line(component, of: context) == nil)
    }
    #expect(Self.line(.method.ofRequest, of: SignatureContext(response, to: nil)) == nil)
  }

  // §2: the order of parameters does not distinguish identifiers
  @Test func aComponentIsCoveredOnlyOnce() {
    let context = Self.request(.get, "https://a/", ["X-A": "a=1"])
    let twice: [[SignatureComponent]] = [
      [.method, .method], [.field("x-a"), .field("X-A")],
      [.field("x-a").member("a").structured, .field("x-a").structured.member("a")],
    ]
    for components in twice {
      let error = #expect(throws: SignatureError.self) {
        try MessageSignature.base(SignatureInput(components), of: context)
      }
      #expect(error?.reason == .unknownComponent && error?.description.contains("twice") == true)
    }
    #expect(throws: Never.self) {
      try MessageSignature.base(
        SignatureInput([.field("x-a"), .field("x-a").bytes, .field("x-a").member("a")]), of: context)
    }
  }

  @Test func anErrorNamesTheComponentAndNoValue() {
    let context = Self.request(.get, "https://a/", ["X-A": "sécret"])
    let error = #expect(throws: SignatureError.self) {
      try MessageSignature.base(SignatureInput([.field("x-a")]), of: context)
    }
    #expect(error?.description.contains("\"x-a\"") == true && error?.description.contains("cret") == false)
  }
}
