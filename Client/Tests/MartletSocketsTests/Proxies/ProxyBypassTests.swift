#if os(Linux)
import Testing

@testable import MartletSockets

/// The hosts that `no_proxy` excludes.
struct ProxyBypassTests {
  /// Behaviour shared with curl 7.88.1: `curl --noproxy LIST --proxy http://127.0.0.1:9 http://HOST:81/`.
  static let asInCurl: [(list: String, host: String, isDirect: Bool)] = [
    ("example.com", "example.com", true), ("example.com", "www.example.com", true),
    ("example.com", "nonexample.com", false), ("example.com", "example.com.evil", false),
    (".example.com", "example.com", true), (".example.com", "www.example.com", true),
    (".example.com", "nonexample.com", false), ("EXAMPLE.com", "www.example.com", true),
    ("example.com.", "example.com", true), ("example.com", "example.com.", true),
    (".example.com.", "a.example.com.", true), ("com", "example.com", true), ("localhost", "localhost", true),
    // a star
    ("*", "anything.example", true), ("*", "192.0.2.1", true), ("*", "::1", true), ("*,a", "b.example", false),
    ("a,*", "b.example", false),
    // separators
    ("a.example,b.example", "b.example", true), ("a.example b.example", "b.example", true),
    ("a.example, b.example", "b.example", true), ("a.example ,b.example", "b.example", true),
    (",,b.example", "b.example", true), (" b.example ", "b.example", true), ("a.example;b.example", "b.example", false),
    ("", "a.example", false), (",", "a.example", false), (".", "example.com", false),
    ("..example.com", "example.com", false),
    // addresses
    ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1/32", "127.0.0.1", true), ("127.0.0.0/8", "127.9.9.9", true),
    ("192.168.0.0/16", "192.168.7.1", true), ("192.168.0.0/16", "192.169.7.1", false),
    ("192.168.0.0/33", "192.168.0.0", false), ("10.0.0.0/8", "10.example", false), ("0.1", "127.0.0.1", false),
    ("127", "127.0.0.1", false), ("192.168.0.0/16", "a.192.168.0.0", false), ("localhost", "127.0.0.1", false),
    ("::1", "localhost", false), ("::1", "::1", true), ("a,::1", "::1", true), ("fe80::1", "fe80::1%1", true),
    ("127.0.0.1", "::ffff:127.0.0.1", false), ("::ffff:127.0.0.1", "127.0.0.1", false), ("::1/129", "::1", false),
    ("2001:db8::/33", "2001:db8:8000::7", false),
  ]

  /// Differences from curl 7.88.1: curl sends all of these to the proxy.
  static let ours: [(list: String, host: String, isDirect: Bool)] = [
    ("*.example.com", "www.example.com", true), ("*.example.com", "a.b.example.com", true),
    ("*.example.com:81", "www.example.com", true), ("a,*.CORP", "mail.corp", true),
    ("example.com:81", "example.com", true), (".example.com:81", "www.example.com", true),
    ("127.0.0.1:81", "127.0.0.1", true), ("[::1]:81", "::1", true), ("[::1]", "::1", true),
    ("0:0:0:0:0:0:0:1", "::1", true), ("2001:db8::/32", "2001:db8::7", true), ("[2001:db8::]/32", "2001:db8::7", true),
    ("2001:db8::/33", "2001:db8:7fff::7", true), ("0.0.0.0/0", "1.2.3.4", true), ("::/0", "::1", true),
    ("bücher.example", "xn--bcher-kva.example", true), ("bu\u{308}cher.example", "xn--bcher-kva.example", true),
    ("Ａ.example:81", "a.example", true), ("127.1", "127.0.0.1", true), ("0x7f000001", "127.0.0.1", true),
    ("xn--a.example", "xn--a.example", false),
    ("127.0.0.0/8:81", "127.9.9.9", true),
    ("*.example.com", "example.com", false), ("*.example.com", "nonexample.com", false),
    ("*.example.com:80", "www.example.com", false), ("*.0.0.1", "127.0.0.1", false),
    // without meaning
    ("*example.com", "www.example.com", false), ("*.", "www.example.com", false),
    ("w*.example.com", "www.example.com", false),
    ("example.com:80", "example.com", false), ("127.0.0.1:80", "127.0.0.1", false),
    ("example.com:", "example.com", false),
    ("example.com:0", "example.com", false), ("example.com:81a", "example.com", false), ("[::1", "::2", false),
    ("[example.com]", "example.com", false), ("example.com/8", "example.com", false), (":81", "example.com", false),
    ("fe80::1%1", "fe80::1%1", false), ("192.168.0.0/", "192.168.0.0", false),
  ]

  @Test func aListExcludesHostsAsInCurl() {
    for (list, host, isDirect) in Self.asInCurl {
      #expect(ProxyBypass(list).contains(host, port: 81) == isDirect, "'\(list)' \(host)")
    }
  }

  @Test func portsAndIPv6AddressesAreUnderstoodToo() {
    for (list, host, isDirect) in Self.ours {
      #expect(ProxyBypass(list).contains(host, port: 81) == isDirect, "'\(list)' \(host)")
    }
  }
}
#endif
