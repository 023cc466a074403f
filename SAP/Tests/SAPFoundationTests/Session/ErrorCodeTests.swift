import Foundation
@_spi(Toolkit) import MartletEngine
import MartletSemantics
import TestSupport
import Testing

@testable import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The codes of a session's `URLError`s.
@Suite("Error codes")
struct ErrorCodeTests {
  /// As on Apple's platforms.
  @Test func theMissingNetworkAndAnotherSchemeHaveCodesOfTheirOwn() {
    for kind in [HTTPError.Kind.cannotConnect, .cannotResolveHost, .proxyFailed] {
      #expect(URLError(HTTPError(kind, "", underlying: NetworkIsDown())).code == .notConnectedToInternet)
    }
    for text in ["foo://example.com/", "ws://example.com/", "/path"] {
      let error = URL(string: text).map { URLError(HTTPRequest(.get, $0).noOriginError) }
      #expect(error?.code == .unsupportedURL, "\(text)")
    }
  }

  @Test func everyKindOfTheEngineHasACode() throws {
    let kinds = try PublicAPI(of: "MartletEngine").constants(of: "HTTPError.Kind")
    #expect(Set(URLError.codes.keys.map(\.name)) == kinds)
  }

  @Test func onlyKindsThatNoCodeDescribesAreUnknown() {
    let unknown = URLError.codes.filter { $0.value == .unknown }
    #expect(Set(unknown.keys) == [.bodyAlreadyRead, .other])
  }

  @Test(arguments: [
    (HTTPError.Kind.digestMismatch, URLError.Code.badServerResponse), (.shutDown, .cancelled),
    (.connectTimeout, .timedOut),
  ])
  func aFailureHasTheCodeOfItsKind(_ kind: HTTPError.Kind, code: URLError.Code) {
    #expect(URLError(HTTPError(kind, "")).code == code)
  }
}
