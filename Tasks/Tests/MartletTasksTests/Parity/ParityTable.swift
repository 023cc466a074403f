import MartletEngine
import MartletSemantics
import MartletTesting

extension ParityScenario {
  /// The clock of a session that is too slow: the time is over when the server has the request.
  private static let clock = ManualClock()

  static let table: [ParityScenario] = [
    .init(
      name: "a success", outcome: .answer(.ok, #""Shoes""#), traffic: ["GET /item"],
      respond: { _, _ in .json(#""Shoes""#) }),
    .init(
      name: "query and path are encoded", segments: ["caf\u{e9}", "a/b"],
      query: [("q", "a b&c=d+e"), ("tag", "\u{fc}")],
      outcome: .answer(.ok, #""Shoes""#), traffic: ["GET /caf%C3%A9/a%2Fb?q=a%20b%26c%3Dd%2Be&tag=%C3%BC"],
      respond: { _, _ in .json(#""Shoes""#) }),
    .init(
      name: "a body is sent as JSON", method: .post, body: ["title": "Shoes"], outcome: .answer(201, #""Shoes""#),
      traffic: [#"POST /item {"title":"Shoes"}"#],
      respond: { request, _ in
        .json(request.fields[.contentType] == "application/json" ? #""Shoes""# : #""no JSON""#, status: 201)
      }),
    .init(
      name: "no content", method: .delete, outcome: .answer(204, ""), traffic: ["DELETE /item"],
      respond: { _, _ in .status(204) }),
    .init(
      name: "404 with a body", outcome: .answer(404, #"{"message": "gone"}"#), traffic: ["GET /item"],
      respond: { _, _ in .json(#"{"message": "gone"}"#, status: 404) }),
    .init(
      name: "a body that is no such value", outcome: .answer(.ok, #"{"broken"#), decoded: .undecodable,
      traffic: ["GET /item"], respond: { _, _ in .json(#"{"broken"#) }),
    .init(
      name: "a redirect makes a POST a GET", method: .post, body: ["title": "Shoes"],
      outcome: .answer(.ok, #""Shoes""#), traffic: [#"POST /item {"title":"Shoes"}"#, "GET /there"],
      respond: { request, _ in request.path == "/there" ? .json(#""Shoes""#) : .redirect(to: "/there") }),
    .init(
      name: "a redirect that keeps the method keeps the body", method: .put, body: ["title": "Shoes"],
      outcome: .answer(.ok, #""Shoes""#),
      traffic: [#"PUT /item {"title":"Shoes"}"#, #"PUT /there {"title":"Shoes"}"#],
      respond: { request, _ in
        request.path == "/there" ? .json(#""Shoes""#) : .redirect(to: "/there", status: .temporaryRedirect)
      }),
    .init(
      name: "redirects without an end", configure: { $0.options.redirectPolicy.limit = 2 },
      outcome: .failure("tooManyRedirects"), traffic: ["GET /item", "GET /item", "GET /item"],
      respond: { _, _ in .redirect(to: "/item") }),
    .init(
      name: "a cookie comes back", runs: 2, configure: { $0.cache = nil }, outcome: .answer(.ok, #""id=1""#),
      traffic: ["GET /item", "GET /item"],
      respond: { request, _ in
        .json("\"\(request.fields[.cookie] ?? "none")\"").with(.setCookie, "id=1; Path=/")
      }),
    .init(
      name: "an answer of the cache", runs: 3, outcome: .answer(.ok, #""Shoes""#), traffic: ["GET /item"],
      respond: { _, _ in .json(#""Shoes""#).with(.cacheControl, "max-age=60") }),
    .init(
      name: "an answer of the cache that the server confirms", runs: 2, outcome: .answer(.ok, #""Shoes""#),
      traffic: ["GET /item", "GET /item"],
      respond: { request, _ in
        request.fields[.ifNoneMatch] == "\"1\""
          ? .status(.notModified).with(.eTag, "\"1\"")
          : .json(#""Shoes""#).with(.eTag, "\"1\"").with(.cacheControl, "no-cache")
      }),
    .init(
      name: "a token that is refused is renewed", hasToken: true, outcome: .answer(.ok, #""Shoes""#),
      traffic: ["GET /item", "POST /token", "GET /item"],
      respond: { request, _ in
        if request.path == "/token" { return .json(#""new""#) }
        return request.fields[.authorization] == "Bearer new" ? .json(#""Shoes""#) : .status(.unauthorized)
      }),
    .init(
      name: "a token that is refused twice", hasToken: true, outcome: .answer(.unauthorized, "no"),
      traffic: ["GET /item", "POST /token", "GET /item"],
      respond: { request, _ in request.path == "/token" ? .json(#""new""#) : .text("no", status: .unauthorized) }),
    .init(
      name: "a retry", configure: { $0.options.retryPolicy = .standard }, outcome: .answer(.ok, #""Shoes""#),
      traffic: ["GET /item", "GET /item"],
      respond: { _, earlier in
        earlier == 0 ? .status(.serviceUnavailable).with(.retryAfter, "0") : .json(#""Shoes""#)
      }),
    .init(
      name: "cancelled", isCancelled: true, outcome: .failure("cancelled"), traffic: ["GET /item"],
      respond: { _, _ in .never }),
    .init(
      name: "cancelled in the middle of the body", isCancelled: true, outcome: .failure("cancelled"),
      traffic: ["GET /item"], respond: { _, _ in .repeating(Data("Shoes".utf8), length: 10 << 20).stalled(after: 3) }),
    .init(
      name: "too slow", deadline: .seconds(8), configure: { $0.clock = clock }, outcome: .failure("deadlineExceeded"),
      traffic: ["GET /item"],
      respond: { _, _ in
        clock.advance(by: .seconds(8))
        return .never
      }),
    .init(
      name: "a connection that breaks", method: .post, body: [:], outcome: .failure("connectionLost"),
      traffic: ["POST /item {}"], respond: { _, _ in .json(#""Shoes""#).truncated(after: 3) }),
  ]
}
