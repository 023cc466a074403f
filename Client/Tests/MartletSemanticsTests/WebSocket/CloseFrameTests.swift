import Testing

@_spi(Toolkit) @_spi(Transports) @testable import MartletSemantics

/// RFC 6455 §5.5.1 and §7.4: Close frames.
struct CloseFrameTests {
  private func close(_ payload: [UInt8]) -> Result<CloseFrame, any Error> {
    Result { try payload.withUnsafeBytes { try CloseFrame(payload: $0) } }
  }

  @Test func aCloseFrameMayBeEmptyOrHaveACodeAndAReason() throws {
    #expect(try close([]).get() == CloseFrame(code: nil))
    #expect(try close([0x03, 0xE8]).get() == CloseFrame(code: 1000))
    #expect(try close([0x0B, 0xB8] + Array("späť".utf8)).get() == CloseFrame(code: 3000, reason: "späť"))
  }

  @Test(
    arguments: [
      (0, false), (999, false), (1000, true), (1003, true), (1004, false), (1005, false), (1006, false), (1007, true),
      (1011, true), (1014, true), (1015, false), (1016, false), (2999, false), (3000, true), (4999, true),
      (5000, false), (65_535, false),
    ] as [(UInt16, Bool)])
  func onlySomeCodesMayBeSent(_ code: UInt16, isAllowed: Bool) {
    let read = close([UInt8(code >> 8), UInt8(code & 0xFF)])
    #expect(((try? read.get()) != nil) == isAllowed)
    #expect(CloseFrame.maySend(code) == isAllowed)
  }

  @Test func aCloseFrameOfOneByteIsAViolation() {
    let fault = #expect(throws: WebSocketFault.self) { try self.close([3]).get() }
    #expect(fault?.code == 1002)
  }

  @Test func aReasonIsUTF8() {
    let fault = #expect(throws: WebSocketFault.self) { try self.close([0x03, 0xE8, 0xFF]).get() }
    #expect(fault?.code == 1007)
  }

  @Test func aLongReasonIsCutAfterACharacter() throws {
    let payload = CloseFrame(code: 1000, reason: String(repeating: "€", count: 60)).payload
    #expect(payload.count == 2 + 41 * 3)
    #expect(try close([UInt8](payload)).get().reason == String(repeating: "€", count: 41))
    #expect(CloseFrame(code: nil, reason: "a").payload.isEmpty)
  }
}
