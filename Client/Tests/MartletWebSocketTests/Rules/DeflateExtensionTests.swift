import Testing

@testable import MartletWebSocket

/// RFC 6455 §9.1 and RFC 7692 §7: the negotiation of permessage-deflate.
struct DeflateExtensionTests {
  private func offer(
    clientResets: Bool = false, serverResets: Bool = false, server: Int? = nil, allowsClientWindow: Bool = true
  ) -> DeflateOffer {
    var offer = DeflateOffer()
    (offer.clientResets, offer.serverResets) = (clientResets, serverResets)
    (offer.serverWindowBits, offer.allowsClientWindow) = (server, allowsClientWindow)
    return offer
  }

  @Test func anOfferHasTheParametersThatAreSet() {
    #expect(offer().fieldValue == "permessage-deflate; client_max_window_bits")
    #expect(offer(allowsClientWindow: false).fieldValue == "permessage-deflate")
    #expect(
      offer(clientResets: true, serverResets: true, server: 10).fieldValue
        == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=10; "
        + "client_max_window_bits")
  }

  @Test(arguments: [
    "permessage-deflate", " permessage-deflate ; client_no_context_takeover", "Permessage-Deflate",
    "permessage-deflate; server_no_context_takeover; server_max_window_bits=8; client_max_window_bits=15",
    "permessage-deflate; client_max_window_bits=\"9\"",
  ])
  func anAnswerMayLimitBothSides(_ value: String) throws {
    #expect(try DeflateAgreement.reading([value], answering: offer()) != nil)
  }

  @Test func anAgreementHasTheParametersOfTheAnswer() throws {
    var expected = DeflateAgreement()
    (expected.clientResets, expected.serverResets) = (true, true)
    (expected.clientWindowBits, expected.serverWindowBits) = (9, 10)
    let value = "permessage-deflate; client_no_context_takeover; server_no_context_takeover; "
    let windows = "client_max_window_bits=9; server_max_window_bits=10"
    #expect(try DeflateAgreement.reading([value + windows], answering: offer(server: 12)) == expected)
    #expect(try DeflateAgreement.reading(["permessage-deflate"], answering: offer()) == DeflateAgreement())
  }

  @Test(arguments: ["", "; client_no_context_takeover", "; server_no_context_takeover"])
  func aClientDoesWhatItHasOfferedWhetherTheServerRepeatsItOrNot(_ parameters: String) throws {
    let answer = ["permessage-deflate\(parameters)"]
    #expect(try DeflateAgreement.reading(answer, answering: offer(clientResets: true))?.clientResets == true)
  }

  @Test func aServerMayTakeNoNoticeOfALimitForItself() throws {
    #expect(try DeflateAgreement.reading(["permessage-deflate"], answering: offer(server: 10)) == DeflateAgreement())
  }

  @Test func withoutAnAnswerNothingIsCompressed() throws {
    #expect(try DeflateAgreement.reading([], answering: offer()) == nil)
    #expect(try DeflateAgreement.reading([""], answering: nil) == nil)
  }

  @Test(arguments: [
    ("an extension that was not offered", "x-webkit-deflate-frame"), ("two extensions", "permessage-deflate, foo"),
    ("the same one twice", "permessage-deflate, permessage-deflate"),
    ("an unknown parameter", "permessage-deflate; level=9"),
    ("a parameter twice", "permessage-deflate; client_max_window_bits=10; client_max_window_bits=10"),
    ("a value where none belongs", "permessage-deflate; server_no_context_takeover=1"),
    ("a window without a value", "permessage-deflate; client_max_window_bits"),
    ("a window without a value", "permessage-deflate; server_max_window_bits"),
    ("a window that is too small", "permessage-deflate; client_max_window_bits=7"),
    ("a window that is too large", "permessage-deflate; server_max_window_bits=16"),
    ("a leading zero", "permessage-deflate; server_max_window_bits=08"),
    ("a sign", "permessage-deflate; server_max_window_bits=+9"),
    ("no number", "permessage-deflate; client_max_window_bits=a"),
    ("an invalid parameter", "permessage-deflate; (x)"),
  ])
  func anAnswerThatDoesNotFitIsAFault(_ what: String, value: String) {
    #expect(throws: HandshakeFault.self, "\(what)") { try DeflateAgreement.reading([value], answering: self.offer()) }
  }

  @Test func nothingMayBeAcceptedThatWasNotOffered() {
    #expect(throws: HandshakeFault.self) { try DeflateAgreement.reading(["permessage-deflate"], answering: nil) }
    #expect(throws: HandshakeFault.self) {
      try DeflateAgreement.reading(
        ["permessage-deflate; client_max_window_bits=10"], answering: self.offer(allowsClientWindow: false))
    }
    #expect(throws: HandshakeFault.self) {
      try DeflateAgreement.reading(
        ["permessage-deflate; server_max_window_bits=11"], answering: self.offer(server: 10))
    }
  }
}
