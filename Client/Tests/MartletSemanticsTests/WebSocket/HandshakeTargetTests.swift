import FoundationEssentials
import TestSupport
import Testing

@_spi(Toolkit) @_spi(Transports) @testable import MartletSemantics

/// RFC 6455 §3: the URLs of opening handshakes.
struct HandshakeTargetTests {
  @Test(arguments: [
    ("ws://a/b?c", "http://a/b?c"), ("wss://a:8443/", "https://a:8443/"), ("WSS://A/", "https://A/"),
    ("ws://[::1]:80", "http://[::1]:80"), ("http://a/", nil), ("https://a/", nil), ("wsx://a/", nil), ("/ws", nil),
  ])
  func theHandshakeGoesToTheURLOfHTTP(_ text: String, expected: String?) {
    #expect(url(text).ofWebSocketHandshake?.absoluteString == expected)
  }

  @Test func anOriginIsThatOfTheHandshake() {
    #expect(Origin(url("wss://A.example/x")) == Origin(url("https://a.example")))
    #expect(Origin(url("ws://a.example:80/")) == Origin(url("http://a.example")))
    #expect(Origin(url("ws://a:99999/")) == nil)
    #expect(URLReading(url("ws://a/")).origin == nil)
  }

  @Test(arguments: [("ws://b/c", "http://b/c"), ("wss://b/", "https://b/"), ("/d", "http://a/d"), ("ftp://b/", nil)])
  func aRedirectOfAHandshakeMayNameAWebSocket(_ location: String, expected: String?) {
    let response = ResponseHead(status: .found, fields: [.location: location])
    let request = RequestHead(method: .get, url: url("http://a/"), fields: [.upgrade: "websocket"])
    var target: String?
    if case .follow(let head, _) = RedirectRule().decide(after: response, to: request) {
      target = head.url.absoluteString
    }
    #expect(target == expected)
  }

  @Test func noOtherRequestIsRedirectedToAWebSocket() {
    let response = ResponseHead(status: .found, fields: [.location: "ws://b/c"])
    guard case .refuse = RedirectRule().decide(after: response, to: RequestHead(method: .get, url: url("http://a/")))
    else {
      Issue.record("it was followed")
      return
    }
  }
}
